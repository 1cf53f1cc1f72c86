"""The stored sessions by numbers: open, rename, pin, fork, export, delete, restore."""

from __future__ import annotations

import asyncio
import re
import time
from typing import TYPE_CHECKING, Literal, cast

from tui.app.export_file import new_export_file
from tui.domain.cost import Cost
from tui.domain.errors import UsageError
from tui.domain.format_numbers import count
from tui.domain.listing import MOST_LISTED, Activity, OpenSessionInfo, SessionInfo, number_of_sessions
from tui.domain.printable import one_line
from tui.linear.questions import Choice, NotAnswered
from tui.linear.sentences import ended, spoken
from tui.linear.turn_text import prompt_of

if TYPE_CHECKING:
    from tui.linear.app import LinearApp

HIT = re.compile("[\x02\x03]")
ACTIONS = (
    Choice("open", "open it"),
    Choice("fork", "fork it"),
    Choice("rename", "rename it"),
    Choice("pin", "pin or unpin it"),
    Choice("export", "export it"),
    Choice("delete", "delete it"),
    Choice("undelete", "restore the session that was deleted last"),
)
FORMS = {"md": "Markdown", "html": "a web page", "json": "JSON, can be imported again"}
PARTS = {"answers": "prompts and answers", "thinking": "with thinking", "all": "with thinking and tools"}


def age(seconds: float) -> str:
    """Approximate time since then."""
    for limit, unit, word in ((3_600, 60, "minute"), (86_400, 3_600, "hour"), (86_400 * 60, 86_400, "day")):
        if seconds < limit:
            number = int(seconds // unit)
            return f"{count(number, word)} ago" if number else "just now"
    return f"{count(int(seconds // (86_400 * 30)), 'month')} ago"


def session_row(row: SessionInfo, now: float, *, current: bool, doing: OpenSessionInfo | None = None) -> Choice:
    """A session in one line."""
    activity = doing.activity if doing is not None else Activity.IDLE
    facts = [
        *(["open here"] if current else []),
        *([activity.value] if activity is not Activity.IDLE else []),
        *(["not kept"] if row.private else []),
        *(["pinned"] if row.pinned else []),
        *(["deleted"] if row.deleted else []),
        age(max(0.0, now - row.updated)),
        count(row.turns, "turn"),
        row.model or "no answer yet",
        Cost(dollars=row.cost, unknown=row.unpriced).words or "cost unknown",
    ]
    found = f". Found: {one_line(HIT.sub('', row.snippet), 200)}" if row.snippet else ""
    return Choice(row.id, f"{one_line(row.title or 'untitled', 80)}, {', '.join(facts)}{found}")


async def choose_session(app: LinearApp, query: str) -> None:
    """List the sessions, and do something with one."""
    found = await app.services.library.sessions(query, MOST_LISTED + 1)
    if not found:
        app.out.say(["No session matches." if query else "There are no sessions yet."])
        return
    doing = {row.id: row for row in app.services.sessions.open_sessions()}
    here, now = app.services.chat.session_id, time.time()
    rows = [session_row(row, now, current=row.id == here, doing=doing.get(row.id)) for row in found[:MOST_LISTED]]
    heading = number_of_sessions(len(found), "/sessions WORDS finds")
    chosen = await app.questions.choose([f"{heading}:"], rows, find=True)
    if chosen is None:
        return
    row = next(row for row in found if row.id == chosen)
    action = await app.questions.choose([f'"{one_line(row.title or "untitled", 80)}":'], ACTIONS)
    if action == "open":
        await _open(app, row)
    elif action is not None:
        await _act(app, row, action)


async def _open(app: LinearApp, row: SessionInfo) -> None:
    if row.id == app.services.chat.session_id:
        app.conversation.chosen_turn = row.hit_turn
        app.conversation.say("This session is open already.")
        return
    await app.services.chat.open_session(row.id, row.hit_turn or "")
    app.session_changed(row.hit_turn)
    if row.hit_turn is not None:
        turns = app.services.chat.view().turns
        number = next((number for number, turn in enumerate(turns, 1) if turn.id == row.hit_turn), None)
        if number is not None:
            prompt = one_line(prompt_of(turns[number - 1]), 200)
            app.conversation.say(f"The match is in turn {number}: {ended(prompt)} /show prints it.")


async def _act(app: LinearApp, row: SessionInfo, action: str) -> None:
    library = app.services.library
    match action:
        case "fork":
            turns = await library.turns(row.id)
            if not turns:
                raise UsageError("A session without turns cannot be forked.")
            await app.services.chat.open_session(row.id)
            await app.services.chat.open_session(await app.services.chat.fork(turns[-1].id))
            app.session_changed()
            app.conversation.say("This is the fork.")
        case "rename":
            try:
                title = await app.questions.line("New title: ")
            except NotAnswered:
                return
            if title:
                await library.rename(row.id, title)
                app.conversation.say(f'Renamed to "{title}".')
        case "pin":
            await library.pin(row.id, pinned=not row.pinned)
            app.conversation.say("Unpinned." if row.pinned else "Pinned.")
        case "export":
            await _export(app, row)
        case _:
            await _delete(app, row, action)


async def _delete(app: LinearApp, row: SessionInfo, action: str) -> None:
    library = app.services.library
    if action == "undelete":
        if not app.deleted:
            raise UsageError("Nothing was deleted here.")
        await library.undelete(app.deleted.pop())
        app.conversation.say("Restored.")
        return
    if any(working.id == row.id for working in app.services.sessions.working()):
        raise UsageError("That session is running.", advice="Open it and stop it first.")
    if row.id == app.services.chat.session_id:
        await app.services.sessions.delete_shown()
        app.session_changed()
    else:
        await library.delete(row.id)
    app.deleted.append(row.id)
    app.conversation.say("Deleted. /sessions restores it.")


async def _export(app: LinearApp, row: SessionInfo) -> None:
    rows = [
        Choice(f"{form} {part}", f"{title}, {extent}")
        for form, title in FORMS.items()
        for part, extent in PARTS.items()
    ]
    chosen = await app.questions.choose(["Export as:"], rows)
    if chosen is None:
        return
    form, _, part = chosen.partition(" ")
    path = await asyncio.to_thread(new_export_file, row.title, row.id, form)
    try:
        await app.services.library.export_to(path, row.id, cast('Literal["md", "json", "html"]', form), part)
    except OSError as error:
        raise UsageError(f"`{path.name}` cannot be written: {error.strerror}.") from None
    app.conversation.say(spoken(f"Written to {path}."))
