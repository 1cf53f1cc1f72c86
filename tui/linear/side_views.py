"""Questions beside the conversation: to the session's model, or to several models at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui.domain.events import TurnFailed, TurnFinished
from tui.domain.format_numbers import count
from tui.domain.thinking import model_title
from tui.linear.branch_views import answer_lines
from tui.linear.questions import Choice
from tui.linear.sentences import error_text
from tui.linear.turn_lines import TurnLines

if TYPE_CHECKING:
    from tui.engine.side_turns import SideTurn
    from tui.linear.app import LinearApp

LETTERS = "ABCDEF"
FRAME_S = 0.05


async def aside(app: LinearApp, question: str) -> None:
    """Ask beside the conversation, and print the answer as it arrives."""
    side = await app.services.side.ask(question)
    app.out.say([f"Aside, which sees {count(len(side.before), 'finished turn')}. Ctrl+c stops it."])
    try:
        await _said(app, side)
    except asyncio.CancelledError:
        await app.services.side.drop([side.id])
        raise
    rows = [Choice("keep", "keep it as a branch"), Choice("forget", "forget it")]
    if await app.questions.choose(["End of the aside."], rows) == "keep":
        await app.services.side.keep(side.id)
        app.conversation.say("Kept as a branch. /tree shows it.")
    await app.services.side.drop([side.id])


async def _said(app: LinearApp, side: SideTurn) -> None:
    lines = TurnLines(time.monotonic, names_hint=False)
    view, subscription = side.attach()
    try:
        if view.turns:
            app.out.say(answer_lines(view.turns[0], "Answer"))
            return
        for event in view.answer.events if view.answer is not None else ():
            app.out.say(lines.stream(event))
        async for batch in subscription.batches(FRAME_S):
            for stamped in batch:
                if stamped.seq > view.seq:
                    app.out.say(lines.take(stamped.event))
                if isinstance(stamped.event, TurnFinished | TurnFailed):
                    return
    finally:
        subscription.close()


async def ask(app: LinearApp, argument: str) -> None:
    """Ask several models, print each answer when it is complete, and continue with one."""
    several = app.services.side.several(argument)
    sides = await app.services.side.ask_several(several)
    names = {
        side.id: f"Answer {letter}" + ("" if several.is_blind else f" by {_name(side)}")
        for side, letter in zip(sides, LETTERS, strict=False)
    }
    app.out.say([f"{count(len(sides), 'model')} answer. Each is printed when it is complete. Ctrl+c stops them."])
    try:
        await asyncio.gather(*(_say_when_complete(app, side, names[side.id]) for side in sides))
    except asyncio.CancelledError:
        await _leave(app, [side.id for side in sides])
        raise
    rows = [Choice(side.id, f"continue with {names[side.id]}") for side in sides]
    chosen = await app.questions.choose(["Which one? Enter alone keeps all as branches."], rows)
    if chosen is None:
        await _leave(app, [side.id for side in sides])
        return
    if several.is_blind:
        app.out.say(f"{names[side.id]} is by {_name(side)}." for side in sides)
    side = next(side for side in sides if side.id == chosen)
    app.conversation.say(await app.services.side.choose(side, [each.id for each in sides]))


async def _leave(app: LinearApp, ids: Sequence[str]) -> None:
    kept = await app.services.side.leave(ids)
    if kept:
        app.conversation.say(f"Kept {count(kept, 'answer')} as branches. /tree shows them.")


def _name(side: SideTurn) -> str:
    level = f", thinking {side.spec.asked}" if side.spec.asked is not None else ""
    name = "the demo, not a real model" if side.spec.provider == "demo" else model_title(side.spec.model)
    return f"{name}{level}"


async def _say_when_complete(app: LinearApp, side: SideTurn, name: str) -> None:
    view, subscription = side.attach()
    try:
        if view.turns:
            app.out.say(answer_lines(view.turns[0], name))
            return
        async for batch in subscription.batches(FRAME_S):
            for stamped in batch:
                match stamped.event:
                    case TurnFinished(turn):
                        app.out.say(answer_lines(turn, name))
                        return
                    case TurnFailed(turn, error):
                        app.out.say([f"{name}: {error_text(error)}"])
                        return
                    case _:
                        pass
    finally:
        subscription.close()
