"""Stored sessions in use: open, load more, fork, switch branches, close."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field

from tui.domain.blocks import Block
from tui.domain.compression import CompressionView, SummaryRun
from tui.domain.cost import Paid
from tui.domain.errors import StoreFull, StoreReadOnly
from tui.domain.fast_dataclass import dataclass
from tui.domain.lazy_regex import lazy_regex
from tui.domain.messages import Turn
from tui.domain.thinking import Asked, ModelSpec, ThinkingLevel
from tui.store import leases, sessions
from tui.store.blocks import copy_blocks
from tui.store.database import Database, StoreContext
from tui.store.sessions import NewSession, ensure, numbered
from tui.store.turns import (
    activate,
    close_turn,
    find_turn,
    finish_crashed,
    head_of,
    path_to,
    read_turns,
    session_number,
    set_head,
    sibling_places,
    siblings,
    turn_number,
)

_BUDGET = lazy_regex(r"\d{1,9}", re.ASCII)
"""A level of an answer that was a number of tokens. Longer ones come from forged files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedSession:
    """A stored session."""

    id: str
    title: str
    turns: tuple[Turn, ...]
    compression: CompressionView | None = None
    summaries: tuple[SummaryRun, ...] = ()
    elsewhere: tuple[Paid, ...] = ()
    """Costs of other branches."""
    spec: ModelSpec | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    queue: tuple[tuple[Block, ...], ...] = ()
    """Prompts that were still queued when it was last open."""
    held_by: leases.OtherProcess | None = None
    """Set if another process has it open: offer to read it, or a fork."""


class OpenSessions:
    """Opens and changes whole sessions; ``StoredJournal`` writes single messages."""

    def __init__(self, database: Database, context: StoreContext) -> None:
        self._database = database
        self._context = context

    async def create(self, beginning: NewSession) -> None:
        """Store a session before its first turn."""
        await self._database.run(lambda connection: sessions.ensure(connection, beginning, self._context.now()))

    async def is_stored(self, session: str) -> bool:
        return await self._database.read(lambda connection: sessions.find(connection, session) is not None)

    async def save_settings(self, session: str, spec: ModelSpec | None, settings: Mapping[str, object]) -> None:
        """Store the current model and settings for the next time; does nothing if the session is not stored."""
        await self._database.run(lambda connection: sessions.save_settings(connection, session, spec, settings))

    async def load(self, session: str) -> LoadedSession:
        """Load all of it and take the lease unless another process holds it."""
        return await self._open(session)

    async def load_without_lease(self, session: str) -> LoadedSession:
        """Load all of it without taking the lease or closing unfinished turns."""
        return await self._database.read(lambda connection: _loaded(connection, session, None))

    async def turns(self, session: str) -> tuple[Turn, ...]:
        """All turns of its active path, without taking the lease."""
        return (await self.load_without_lease(session)).turns

    async def release(self, session: str) -> None:
        """Release the lease."""

        def write(connection: sqlite3.Connection) -> None:
            number = sessions.find(connection, session)
            if number is not None:
                leases.release(connection, number, self._context.holder)

        await self._database.run(write)

    async def release_all(self) -> None:
        """Release all leases."""
        await self._database.run(lambda connection: leases.release_all(connection, self._context.holder))

    async def siblings(self, session: str, turn_id: str) -> tuple[str, ...]:
        """The turns with the same parent, this one included, oldest first."""
        return await self._database.read(
            lambda connection: siblings(connection, session_number(connection, session), turn_id)
        )

    async def sibling_turns(self, session: str, turn_id: str) -> tuple[Turn, ...]:
        """The turns with the same parent, this one included, oldest first, with their messages."""

        def read(connection: sqlite3.Connection) -> tuple[Turn, ...]:
            number = session_number(connection, session)
            names = siblings(connection, number, turn_id)
            return read_turns(connection, [turn_number(connection, number, name) for name in names])

        return await self._database.read(read)

    async def sibling_places(self, session: str) -> Mapping[str, tuple[int, int]]:
        """The turns with siblings: the place of each among them, counted from 1, and their number."""

        def read(connection: sqlite3.Connection) -> Mapping[str, tuple[int, int]]:
            number = sessions.find(connection, session)
            return {} if number is None else sibling_places(connection, number)

        return await self._database.read(read)

    async def activate(self, session: str, turn_id: str) -> LoadedSession:
        """Switch to the branch of this turn, down to where it was last left."""
        from tui.store import summaries

        def write(connection: sqlite3.Connection) -> None:
            number = session_number(connection, session)
            path = activate(connection, number, turn_id)
            summaries.drop_view_of_others(connection, number, path)
            sessions.touch(connection, number, self._context.now())

        await self._database.run(write)
        return await self._open(session)

    async def fork(self, session: str, until: str | None = None, *, keep: bool = True) -> str:
        """Copy everything up to and including a turn or message to a new session; returns its id.

        Without ``keep`` the copy ends with the turn before that one, ready for another prompt.
        """
        into = NewSession(id=self._context.new_id())

        def write(connection: sqlite3.Connection) -> None:
            now = self._context.now()
            number = fork(connection, session, into, ForkEnd(until, keep=keep), now)
            sessions.touch(connection, number, now)

        await self._database.run(write)
        return into.id

    async def _open(self, session: str) -> LoadedSession:
        held: leases.OtherProcess | None = None
        with suppress(StoreReadOnly, StoreFull):  # It can still be read.
            held = await self._database.run(lambda connection: self._take(connection, session))
        return await self._database.read(lambda connection: _loaded(connection, session, held))

    def _take(self, connection: sqlite3.Connection, session: str) -> leases.OtherProcess | None:
        number = session_number(connection, session)
        held = leases.acquire(connection, number, self._context.holder, self._context.now())
        if held is None:
            finish_crashed(connection, number)
        return held


def _loaded(connection: sqlite3.Connection, session: str, held: leases.OtherProcess | None) -> LoadedSession:
    from tui.store import queued_prompts, summaries

    number = session_number(connection, session)
    head = head_of(connection, number)
    path = path_to(connection, head)
    spec, settings = sessions.settings_of(connection, number)
    turns = read_turns(connection, path)
    return LoadedSession(
        id=session,
        title=sessions.info_of(connection, number).title,
        turns=turns,
        compression=summaries.view_of(connection, number),
        summaries=summaries.runs_of(connection, number, path),
        elsewhere=summaries.paid_elsewhere(connection, number, path),
        spec=spec or _asked_last(turns),
        settings=settings,
        queue=queued_prompts.queue_of(connection, number),
        held_by=held,
    )


def _asked_last(turns: tuple[Turn, ...]) -> ModelSpec | None:
    """The model and level of the last answer."""
    for turn in reversed(turns):
        for message in reversed(turn.messages):
            origin = message.origin
            if origin is None:
                continue
            asked: Asked | None = int(origin.level) if _BUDGET.fullmatch(origin.level) else None
            if origin.level == "off":
                asked = ThinkingLevel.NONE
            elif origin.level in set(ThinkingLevel):
                asked = ThinkingLevel(origin.level)
            return ModelSpec(provider=origin.provider, model=origin.model, asked=asked)
    return None


@dataclass(frozen=True, slots=True)
class ForkEnd:
    """Where a fork ends."""

    until: str | None = None
    """A turn or a message; None for the end of the active path."""
    keep: bool = True
    """Whether the turn itself is copied too."""


def fork(connection: sqlite3.Connection, source: str, into: NewSession, cut: ForkEnd, now: float) -> int:
    """Copy the path up to the cut."""
    from tui.store.summaries import copy_runs, drop_view_of_others

    session = session_number(connection, source)
    end, last_message = _end(connection, session, cut.until)
    if not cut.keep:
        (end,) = connection.execute("SELECT parent FROM turn WHERE seq = ?", (end,)).fetchone() or (None,)
        last_message = None
    new = ensure(connection, into, now)
    connection.execute(
        "UPDATE session SET (model, spec, settings, view, titled, title, forked_from, forked_turn) ="
        " (SELECT old.model, coalesce(session.spec, old.spec),"
        " CASE session.settings WHEN '{}' THEN old.settings ELSE session.settings END, old.view,"
        " session.titled OR old.titled, CASE session.title WHEN '' THEN old.title ELSE session.title END, old.id, ?"
        " FROM session AS old WHERE old.seq = ?) WHERE seq = ?",
        (cut.until, session, new),
    )
    (title,) = connection.execute("SELECT title FROM session WHERE seq = ?", (new,)).fetchone()
    if title:
        connection.execute("UPDATE session SET title = ? WHERE seq = ?", (numbered(connection, new, title), new))
    path = path_to(connection, end)
    last = None
    for turn in path:
        last = _copy_turn(connection, turn, new, last, last_message if turn == end else None)
        copy_runs(connection, turn, new, last)
    set_head(connection, new, last, len(path))
    drop_view_of_others(connection, new, path_to(connection, last))
    return new


def _end(connection: sqlite3.Connection, session: int, until: str | None) -> tuple[int | None, int | None]:
    """The last turn to copy, and the position of its last message if the turn is copied only in part."""
    if until is None:
        return head_of(connection, session), None
    turn = find_turn(connection, session, until)
    if turn is not None:
        return turn, None
    message = connection.execute(
        "SELECT message.turn, position FROM turn JOIN message ON message.turn = turn.seq"
        " WHERE turn.session = ? AND message.id = ?",
        (session, until),
    ).fetchone()
    return (turn_number(connection, session, until), None) if message is None else (message[0], message[1])


def _copy_turn(
    connection: sqlite3.Connection, turn: int, session: int, parent: int | None, last_message: int | None
) -> int:
    copied = connection.execute(
        "INSERT INTO turn (id, session, parent, open, created) SELECT id, ?, ?, 0, created FROM turn WHERE seq = ?",
        (session, parent, turn),
    ).lastrowid
    assert copied is not None
    if parent is not None:
        connection.execute("UPDATE turn SET chosen = ? WHERE seq = ?", (copied, parent))
    for (message,) in connection.execute(
        "SELECT seq FROM message WHERE turn = ? AND NOT open AND position <= coalesce(?, position)"
        " ORDER BY position, seq",
        (turn, last_message),
    ).fetchall():
        made = connection.execute(
            "INSERT INTO message (id, session, turn, position, role, meta, model, cost, created)"
            " SELECT id, ?, ?, position, role, meta, model, cost, created FROM message WHERE seq = ?",
            (session, copied, message),
        ).lastrowid
        assert made is not None
        copy_blocks(connection, message, made)
    close_turn(connection, session, copied)
    return copied
