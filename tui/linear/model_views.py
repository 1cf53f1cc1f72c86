"""Model, thinking level and key by numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.catalog.model_spec import parse_asked, require_asked
from tui.domain.cost import money
from tui.domain.errors import PonderError
from tui.domain.events import Severity
from tui.domain.format_numbers import noun, tokens
from tui.domain.listing import KeyCheck, LevelInfo, ModelInfo
from tui.linear.questions import Choice, NotAnswered
from tui.linear.sentences import spoken

if TYPE_CHECKING:
    from tui.linear.app import LinearApp


def model_row(row: ModelInfo, *, current: bool) -> Choice:
    """A model with its facts."""
    name = f"{row.spec.provider}/{row.spec.model}"
    into, out = row.price
    price = "price unknown" if into is None or out is None else f"${into:g} in, ${out:g} out"
    facts = [
        *(["in use"] if current else []),
        *(["favourite"] if row.favourite else []),
        *([row.note] if row.note else []),
        *([f"not available: {row.reason}"] if not row.available else []),
        f"{tokens(row.window)} {noun(row.window, 'token')}" if row.window else "window unknown",
        "free" if into == out == 0 else price,
        *([row.thinking] if row.thinking else []),
    ]
    return Choice(name, f"{name}, {', '.join(facts)}")


async def choose_model(app: LinearApp) -> None:
    """List the models, those in use first, then choose its level."""
    models, view = app.services.models.models(), app.conversation.view()
    rows = [
        model_row(row, current=(row.spec.provider, row.spec.model) == (view.spec.provider, view.spec.model))
        for row in sorted(models, key=lambda row: not row.available)
    ]
    usable = sum(row.available for row in models)
    name = await app.questions.choose(
        [f"Models, {usable:,} of {len(rows):,} can be used:"], rows, find=True, first=usable
    )
    if name is None:
        return
    if name != f"{view.spec.provider}/{view.spec.model}":
        app.conversation.say(await app.services.models.set_model(name))
    await choose_level(app)


def level_row(row: LevelInfo, cost: float | None) -> Choice:
    """A level with what it sends."""
    facts = [
        *(["in use"] if row.current else []),
        spoken(row.native),
        *([f"about {money(cost)} a turn"] if cost is not None else []),
        *([spoken(row.warning)] if row.warning else []),
    ]
    return Choice(str(row.asked), f"{row.label}, {', '.join(filter(None, facts))}")


BUDGET = "budget"


async def choose_level(app: LinearApp) -> None:
    """List the levels of the model; a budget is asked for."""
    levels = app.services.models.levels()
    rows = [level_row(row, app.services.models.cost_of_turn(row)) for row in levels]
    chosen = await app.questions.choose(
        ["Thinking levels:"], [*rows, Choice(BUDGET, "another budget, a number of tokens")]
    )
    if chosen is None:
        return
    if chosen == BUDGET:
        try:
            chosen = await app.questions.line("Budget in tokens, such as 16k: ")
        except NotAnswered:
            return
        if not chosen:
            return
    current = next((row for row in levels if row.current), None)
    if current is not None and chosen == str(current.asked):
        app.conversation.say(f"Thinking is {current.label} already.")
        return
    asked = parse_asked(chosen)
    app.conversation.say(await app.services.models.set_level(require_asked(chosen) if asked is None else asked))


async def choose_key(app: LinearApp) -> None:
    """List the providers and the state of their keys, then ask for the key of one."""
    rows = [Choice(row.provider, f"{row.title}, {row.detail}") for row in app.services.keys.providers()]
    provider = await app.questions.choose(["Keys:"], rows, find=True)
    if provider is not None:
        await enter_key(app, provider)


async def enter_key(app: LinearApp, provider: str) -> None:
    """Ask for a key without showing it; a rejected key is used only if the user says so."""
    keys = app.services.keys
    app.conversation.say(keys.key_hint(provider))
    try:
        key = await app.questions.secret("Paste the key; it is not shown. Enter alone leaves: ")
    except NotAnswered:
        return
    if not key:
        return
    app.conversation.say("Checking the key.")
    checked = await _checked(app, provider, key)
    kinds = [Choice("keep", "keep it on this machine"), Choice("use", "use it until ponder ends")]
    if not checked.works:
        app.conversation.say(checked.message, Severity.ERROR)
    else:
        app.conversation.say(checked.message)
    how = await app.questions.choose([], kinds)
    if how is None:
        app.conversation.say("The key is not used.")
        return
    app.conversation.say(await keys.save_key(provider, key, keep=how == "keep"))


async def _checked(app: LinearApp, provider: str, key: str) -> KeyCheck:
    try:
        return await app.services.keys.check_key(provider, key)
    except PonderError as error:
        return KeyCheck(works=False, message=error.message)
