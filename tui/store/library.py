"""All sessions of a user, for lists, pickers and ``ponder sessions``."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

from tui.domain.errors import UsageError
from tui.domain.listing import LONGEST_PROMPT, SessionInfo, TurnInfo
from tui.domain.messages import Turn
from tui.domain.printable import one_line
from tui.settings.user_files import write_atomically
from tui.store import archive, export, leases, sessions
from tui.store.blocks import OF_MESSAGE
from tui.store.database import Database, StoreContext
from tui.store.export import ExportParts
from tui.store.search import found_sessions, parse
from tui.store.summaries import paid_elsewhere, runs_of
from tui.store.turns import head_of, path_to, read_turns, session_number

MARK = "[key removed]"
_KEYS = re.compile(
    r"(?<![A-Za-z0-9])(?:"  # Not at the end of a word: a task-list is no key.
    r"sk-[A-Za-z0-9_-]{20,}"
    r"|AIza[0-9A-Za-z_-]{35}"
    r"|AKIA[0-9A-Z]{16}"
    r"|gh[pousr]_[A-Za-z0-9]{20,}"
    r"|xox[abpr]-[A-Za-z0-9-]{10,}"
    r")"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
_BEARER = re.compile(r"(Bearer )[A-Za-z0-9._~+/=-]{16,}")
_PASSWORD = re.compile(r"(://[^/\s:@\"'<>]+:)[^/\s@\"'<>]+(@)")


def redacted(text: str) -> str:
    """The text without keys, bearer tokens, private keys and passwords in URLs."""
    return _PASSWORD.sub(rf"\1{MARK}\2", _BEARER.sub(rf"\1{MARK}", _KEYS.sub(MARK, text)))


MAX_IMPORT = 256 << 20
"""Largest file to import, in bytes."""
LONGEST_NAME = 80
"""Characters of a wrong session name that are quoted."""
TURNS_AT_ONCE = 8
"""Turns that an export holds in memory at once."""


def _turn_tree(connection: sqlite3.Connection, session: int) -> tuple[TurnInfo, ...]:
    prompts: dict[int, list[str]] = {}
    for turn, text in connection.execute(
        f"SELECT message.turn, substr(text, 1, {LONGEST_PROMPT})"
        " FROM turn CROSS JOIN message ON message.turn = turn.seq"
        f" CROSS JOIN block ON {OF_MESSAGE} WHERE turn.session = ? AND role = 'user' AND kind = 'text'",
        (session,),
    ):
        prompts.setdefault(turn, []).append(text or "")
    answerers: dict[int, tuple[str, str]] = {}
    for turn, model, level in connection.execute(
        "SELECT message.turn, model, CASE WHEN json_valid(meta) THEN json_extract(meta, '$.origin.level') END"
        " FROM turn CROSS JOIN message ON message.turn = turn.seq"
        " WHERE turn.session = ? AND model IS NOT NULL ORDER BY message.turn, position",
        (session,),
    ):
        answerers[turn] = (str(model).partition("/")[2], level if isinstance(level, str) else "")
    rows = connection.execute(
        "SELECT turn.seq, turn.id, before.id, turn.cost, turn.open FROM turn LEFT JOIN turn AS before"
        " ON before.seq = turn.parent WHERE turn.session = ? ORDER BY turn.seq",
        (session,),
    )
    return tuple(
        TurnInfo(
            id=identity,
            parent=parent,
            prompt=" ".join(prompts.get(seq, ()))[:LONGEST_PROMPT],
            model=answerers.get(seq, ("", ""))[0],
            level=answerers.get(seq, ("", ""))[1],
            cost=cost,
            open=bool(running),
        )
        for seq, identity, parent, cost, running in rows
    )


class StoredLibrary:
    """Lists, renames, deletes, exports and imports sessions."""

    def __init__(self, database: Database, context: StoreContext) -> None:
        self._database = database
        self._context = context

    async def sessions(self, query: str = "", limit: int = 200) -> Sequence[SessionInfo]:
        """Pinned sessions first, then the newest; with a query, matching sessions by relevance."""
        asked = parse(query)
        if asked.is_empty:
            return await self._database.read(lambda connection: sessions.infos(connection, limit))
        return await self._database.read(lambda connection: found_sessions(connection, asked, limit))

    async def deleted(self, limit: int = 200) -> Sequence[SessionInfo]:
        """Deleted sessions that can be restored."""
        return await self._database.read(lambda connection: sessions.infos(connection, limit, deleted=True))

    async def newest(self) -> SessionInfo | None:
        """The most recently changed session, pinned or not."""
        return await self._database.read(sessions.newest)

    async def resolve(self, name: str, *, deleted: bool = False) -> str:
        """The id of a session, given the start or end of its id, or its title. Raises UsageError.

        ``deleted`` also searches deleted sessions.
        """
        meant = await self._database.read(lambda connection: sessions.named(connection, name, deleted=deleted))
        if len(meant) == 1:
            return meant[0][0]
        if meant:
            examples = ", ".join(f"`{id_}` ({title or 'Untitled'})" for id_, title in meant[:3])
            advice = f"For example {examples}: give more of the id."
            raise UsageError(f"`{name}` matches several sessions.", advice=advice)
        shown = one_line(name, LONGEST_NAME)
        raise UsageError(f"There is no session `{shown}`.", advice="`ponder sessions list` shows all with their ids.")

    async def preview(self, session: str) -> str:
        """The first and last lines of a session, as markdown."""

        def read(connection: sqlite3.Connection) -> str:
            number = session_number(connection, session)
            path = path_to(connection, head_of(connection, number))
            ends = path if len(path) <= 2 else [path[0], path[-1]]
            return export.preview(read_turns(connection, ends), left_out=len(path) - len(ends))

        return await self._database.read(read)

    async def turn_tree(self, session: str) -> tuple[TurnInfo, ...]:
        """All turns on all branches, each after the one before it."""

        def read(connection: sqlite3.Connection) -> tuple[TurnInfo, ...]:
            return _turn_tree(connection, session_number(connection, session))

        return await self._database.read(read)

    async def rename(self, session: str, title: str) -> None:
        await self._change(session, lambda connection, number: sessions.rename(connection, number, title))

    async def set_written_title(self, session: str, title: str) -> str:
        """Set a title that a model wrote, unless the user has set one. Returns it as it is stored, or ""."""
        return await self._database.run(
            lambda connection: sessions.set_written_title(connection, session_number(connection, session), title)
        )

    async def pin(self, session: str, *, pinned: bool) -> None:
        """Pin or unpin a session."""
        await self._set(session, "pinned", pinned)

    async def delete(self, session: str) -> None:
        """Move the session to the deleted ones; ``undelete`` restores it."""
        await self._set(session, "deleted", self._context.now())

    async def undelete(self, session: str) -> None:
        """Restore a deleted session."""
        await self._set(session, "deleted", None)

    async def purge(self, session: str) -> None:
        """Delete a session permanently. Raises UsageError if another process has it open and would store it again."""

        def purge(connection: sqlite3.Connection, number: int) -> None:
            held = leases.held_by_other(connection, number, self._context.holder, self._context.now())
            if held is not None:
                where = "in another window" if held.here else f"on {held.host}"
                raise UsageError(
                    f"That session is open {where}, so it was not deleted.", advice="Close it there first."
                )
            sessions.purge(connection, [number])

        await self._change(session, purge)

    async def export(self, session: str, form: Literal["md", "json", "html"], parts: str = "answers") -> str:
        """Export a session as text; ``parts`` is answers, thinking or all. Keys are redacted."""
        return "".join(await asyncio.to_thread(list, self.export_pieces(session, form, parts)))

    async def export_to(self, path: Path, session: str, form: Literal["md", "json", "html"], parts: str) -> None:
        """Export to a file, a few turns at a time. Raises OSError."""
        stopped = threading.Event()

        def pieces() -> Iterator[str]:
            for piece in self.export_pieces(session, form, parts):
                if stopped.is_set():
                    raise InterruptedError  # The partial file is then removed.
                yield piece

        try:
            await asyncio.to_thread(write_atomically, path, pieces())
        except asyncio.CancelledError:
            stopped.set()
            raise

    def _concealed(self, text: str) -> str:
        return redacted(self._context.conceal(text))

    def export_pieces(self, session: str, form: Literal["md", "json", "html"], parts: str = "answers") -> Iterator[str]:
        """Export in chunks without holding the whole text in memory. Blocks: call it in a thread."""
        extent = _extent(parts)
        if form == "json":
            yield from self._archive(session, extent)
            return

        def begin(connection: sqlite3.Connection) -> tuple[Sequence[int], export.ExportedSession]:
            number = session_number(connection, session)
            path = path_to(connection, head_of(connection, number))
            title = sessions.info_of(connection, number).title
            runs = runs_of(connection, number, path)
            return path, export.ExportedSession(
                title=title,
                turns=(),
                conceal=self._concealed,
                summaries=runs,
                elsewhere=paid_elsewhere(connection, number, path),
            )

        path, template = self._database.submit_read(begin).result()

        def turns() -> Iterator[Turn]:
            for start in range(0, len(path), TURNS_AT_ONCE):
                some = path[start : start + TURNS_AT_ONCE]
                yield from self._database.submit_read(partial(read_turns, turns=some)).result()

        shown = replace(template, turns=turns())
        yield from export.html(shown, extent) if form == "html" else export.markdown(shown, extent)

    def _archive(self, session: str, extent: ExportParts) -> Iterator[str]:
        def begin(connection: sqlite3.Connection) -> archive.Frame:
            return archive.frame_of(connection, session_number(connection, session), extent)

        frame = self._database.submit_read(begin).result()

        def turns() -> Iterator[object]:
            for number in frame.turns:
                yield self._database.submit_read(partial(archive.turn_object, turn=number, parts=extent)).result()

        yield from archive.export_json(frame, turns(), self._concealed)

    async def import_file(self, path: Path) -> str:
        """Import a file and return the id of the (last) new session. Raises UsageError."""
        content = await asyncio.to_thread(_read_file, path)
        conversations = await asyncio.to_thread(archive.parse_file, content)

        def write(connection: sqlite3.Connection) -> str:
            now = self._context.now()
            made = [archive.store(connection, one, self._context.new_id(), now) for one in conversations]
            return made[-1]

        return await self._database.run(write)

    async def _set(self, session: str, column: Literal["pinned", "deleted"], value: float | None) -> None:
        statement = f"UPDATE session SET {column} = ? WHERE seq = ?"
        await self._change(session, lambda connection, number: connection.execute(statement, (value, number)))

    async def _change(self, session: str, change: Callable[[sqlite3.Connection, int], object]) -> None:
        await self._database.run(lambda connection: change(connection, session_number(connection, session)) and None)


def _extent(parts: str) -> ExportParts:
    try:
        return ExportParts(parts)
    except ValueError:
        raise UsageError(f"`{parts}` cannot be exported.", advice="Use answers, thinking or all.") from None


def _read_file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_IMPORT + 1)
    except OSError as fault:
        raise UsageError(f"`{path}` cannot be read: {fault.strerror}.") from None
    if len(content) > MAX_IMPORT:
        raise UsageError(f"`{path}` is larger than {MAX_IMPORT >> 20} MB.")
    return content
