"""The branches of the session by numbers: the tree, the answers of one turn, a replayed turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui.domain.cost import cost_of, money, paid_in
from tui.domain.errors import UsageError
from tui.domain.format_numbers import count
from tui.domain.listing import TurnInfo
from tui.domain.messages import Turn
from tui.domain.printable import one_line
from tui.linear.plain_markdown import plain_lines
from tui.linear.questions import Choice
from tui.linear.sentences import answers, usage_text
from tui.linear.turn_text import answerer_of, message_words, prompt_of

if TYPE_CHECKING:
    from tui.linear.app import LinearApp


def tree_rows(turns: Sequence[TurnInfo], path: Sequence[str]) -> list[Choice]:
    """All turns, each with its depth and whether it is on the current path."""
    depth: dict[str | None, int] = {None: 0}
    siblings: dict[str | None, int] = {}
    rows: list[Choice] = []
    for turn in turns:
        depth[turn.id] = depth.get(turn.parent, 0) + 1
        siblings[turn.parent] = siblings.get(turn.parent, 0) + 1
        facts = [
            f"depth {depth[turn.id]}",
            *([f"branch {siblings[turn.parent]}"] if siblings[turn.parent] > 1 else []),
            *(["on the current path"] if turn.id in path else []),
            *(["running"] if turn.open else []),
            turn.model or "no answer",
            *([f"thinking {turn.level}"] if turn.level else []),
            *([money(turn.cost)] if turn.cost is not None else []),
        ]
        rows.append(Choice(turn.id, f"{one_line(turn.prompt, 120) or 'no text'}, {', '.join(facts)}"))
    return rows


async def tree(app: LinearApp, _: str) -> None:
    """List all turns on all branches; a number opens one."""
    view = app.conversation.view()
    path = [turn.id for turn in (*view.turns, view.open_turn) if turn is not None]
    rows = tree_rows(await app.services.branches.tree(), path)
    chosen = await app.questions.choose([f"{count(len(rows), 'turn')}:"], rows, find=True)
    if chosen is not None:
        await _open(app, chosen, path)


async def _open(app: LinearApp, turn: str, path: Sequence[str]) -> None:
    if turn not in path:
        if app.conversation.is_busy:
            raise UsageError("Branches cannot be switched while a turn is running.", advice="Ctrl+c stops it.")
        await app.services.branches.open(turn)
        app.session_changed(turn)
    app.conversation.chosen_turn = turn
    app.conversation.say("This turn is chosen. /show prints it.")


def answer_lines(turn: Turn, name: str) -> list[str]:
    """What a turn answered, under a name."""
    lines = [line for message in answers(turn) for line in plain_lines(message_words(message))]
    return [f"{name}:", *(lines or ["No answer."]), usage_text(turn)]


async def branches(app: LinearApp, turn_id: str) -> None:
    """Print the answers that follow one turn; a number opens one."""
    turns = await app.services.branches.answers(turn_id)
    view = app.conversation.view()
    path = [turn.id for turn in view.turns]
    prompts = {prompt_of(turn) for turn in turns}
    rows = []
    for number, turn in enumerate(turns, 1):
        here = ", the one in use" if turn.id in path else ""
        app.out.say(answer_lines(turn, f"Answer {number} of {len(turns)} by {answerer_of(turn)}{here}"))
        prompt = f", to: {one_line(prompt_of(turn), 80)}" if len(prompts) > 1 else ""
        rows.append(Choice(turn.id, f"continue with answer {number} by {answerer_of(turn)}{prompt}"))
    chosen = await app.questions.choose(["Which one?"], rows)
    if chosen is not None:
        await _open(app, chosen, path)


async def compare_replay(app: LinearApp, argument: str) -> None:
    """Wait for the replayed turn, and compare what both took; the original can be opened again."""
    session, turn_id = argument.split()
    turns = await app.services.library.turns(session)
    place = next(place for place, turn in enumerate(turns) if turn.id == turn_id)
    app.out.say([f"The replay runs in a fork. The original is by {answerer_of(turns[place])}."])
    await app.prompt_writer.until_settled()
    now = app.conversation.view().turns
    if len(now) <= place:
        return
    for name, turn in (("Original", turns[place]), ("Replay", now[place])):
        cost = cost_of(paid_in((turn,))).words
        app.out.say([f"{name} by {answerer_of(turn)}: {usage_text(turn) or cost}"])
    rows = [Choice("stay", "stay with the replay"), Choice("original", "go back to the original")]
    if await app.questions.choose([], rows) != "stay":
        await app.services.chat.open_session(session)
        app.session_changed()
