"""Commands on sessions: list, new, rename, pin, delete, export, import."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from tui.app.export_file import new_export_file
from tui.commands.registry import Argument, Command, CommandContext, Group, View
from tui.domain.errors import UsageError
from tui.engine.state import title_of

FORMS: dict[str, Literal["md", "json", "html"]] = {"md": "md", "markdown": "md", "json": "json", "html": "html"}


def _forms(context: CommandContext, typed: str) -> Iterable[str]:
    word = typed.rpartition(" ")[2]
    return [form for form in ("md", "json", "html", "--thinking", "--all") if form.startswith(word)]


async def _list(context: CommandContext, argument: str) -> None:
    await context.screen.show(View.SESSIONS, argument)


async def _new(context: CommandContext, _: str) -> None:
    await context.services.chat.new_session()
    context.screen.session_changed()


async def _rename(context: CommandContext, argument: str) -> None:
    await context.services.library.rename(context.services.chat.session_id, argument)
    context.screen.say(f"Renamed to “{argument}”.")


async def _pin(context: CommandContext, _: str) -> None:
    row = next(
        (row for row in await context.services.library.sessions() if row.id == context.services.chat.session_id), None
    )
    pinned = row is None or not row.pinned
    await context.services.library.pin(context.services.chat.session_id, pinned=pinned)
    context.screen.say("Pinned." if pinned else "Unpinned.")


async def _private(context: CommandContext, _: str) -> None:
    was_private = context.services.sessions.private
    await context.services.chat.new_session(private=True)
    context.screen.session_changed()
    before = "The one before is as it was." if was_private else "The one before is kept as it was."
    context.screen.say("Nothing of this new conversation is stored; it is gone when ponder ends.", advice=before)


async def _delete(context: CommandContext, _: str) -> None:
    if context.services.sessions.private:
        await context.services.sessions.delete_shown()
        context.screen.session_changed()
        context.screen.say("Deleted.")
        return
    await context.services.sessions.delete_shown()
    context.screen.session_changed()
    context.screen.say("Deleted.", advice="ctrl+s, then u restores it.")


async def _next(context: CommandContext, _: str) -> None:
    following = context.services.sessions.next_session()
    if following is None:
        context.screen.say("No other session is running or waiting for you.")
        return
    await context.services.chat.open_session(following.id)
    context.screen.session_changed()


async def _export(context: CommandContext, argument: str) -> None:
    parts = argument.split()
    forms = [word for word in parts if word not in ("--all", "--thinking")] or ["md"]
    form = FORMS.get(forms[0])
    if form is None or len(forms) > 1:
        raise UsageError(
            "`/export` takes md, json or html, and `--thinking` or `--all`.",
            advice="The file is named after the session's title and stands in the working folder.",
        )
    content = "all" if "--all" in parts else "thinking" if "--thinking" in parts else "answers"
    session = context.services.chat.session_id
    path = await asyncio.to_thread(new_export_file, title_of(context.view()), session, form)
    try:
        await context.services.library.export_to(path, session, form, content)
    except OSError as error:
        raise UsageError(f"`{path.name}` cannot be written: {error.strerror}.") from None
    context.screen.say(f"Written to {path.name}.")


async def _import(context: CommandContext, argument: str) -> None:
    session = await context.services.library.import_file(Path(argument))
    await context.services.chat.open_session(session)
    context.screen.session_changed()


COMMANDS = (
    Command(
        id="session.list",
        slash="sessions",
        title="Sessions",
        help="List all sessions; type to search prompts, answers, thinking and tool results.",
        group=Group.SESSIONS,
        run=_list,
        keys=("ctrl+s",),
        argument=Argument(usage="[SEARCH]"),
        footer="sessions",
        example="/sessions in:thinking Drake",
    ),
    Command(
        id="session.resume",
        slash="resume",
        title="Resume a session",
        help="List the sessions, to continue one.",
        group=Group.SESSIONS,
        run=_list,
        palette=False,
        example="/resume",
    ),
    Command(
        id="session.new",
        slash="new",
        title="New chat",
        help="Start a new session; this one stays in the list and continues to run.",
        group=Group.SESSIONS,
        run=_new,
        keys=("ctrl+n",),
        example="/new",
    ),
    Command(
        id="session.private",
        slash="private",
        title="Private chat",
        help="Start a new session of which nothing is stored; it is gone when ponder ends.",
        group=Group.SESSIONS,
        run=_private,
        example="/private",
    ),
    Command(
        id="session.next",
        slash="next",
        title="Next session that needs you",
        help="Go to another open session: one that asks, then one that has answered, then one that is running.",
        group=Group.SESSIONS,
        run=_next,
        keys=("alt+s",),
        example="/next",
    ),
    Command(
        id="session.rename",
        slash="rename",
        title="Rename",
        help="Change the title of the session.",
        group=Group.SESSIONS,
        run=_rename,
        argument=Argument(usage="TITLE", required=True),
        example="/rename The Fermi paradox",
    ),
    Command(
        id="session.pin",
        slash="pin",
        title="Pin",
        help="Pin the session to the top of the list, or unpin it.",
        group=Group.SESSIONS,
        run=_pin,
        example="/pin",
    ),
    Command(
        id="session.delete",
        slash="delete",
        title="Delete the session",
        help="Delete this session; it can be restored from the list.",
        group=Group.SESSIONS,
        run=_delete,
        example="/delete",
    ),
    Command(
        id="session.export",
        slash="export",
        title="Export",
        help="Write the session to a file: answers only, with thinking, or everything. Keys are redacted.",
        group=Group.SESSIONS,
        run=_export,
        argument=Argument(usage="md|json|html [--thinking|--all]", complete=_forms),
        example="/export md --thinking",
    ),
    Command(
        id="session.import",
        slash="import",
        title="Import",
        help="Import a session that was exported as JSON.",
        group=Group.SESSIONS,
        run=_import,
        argument=Argument(usage="FILE", required=True),
        example="/import chat.json",
    ),
)
