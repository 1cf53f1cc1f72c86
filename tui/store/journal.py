"""The engine's journal in SQLite: when a call returns, the data is on disk."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

from tui.domain.blocks import Block
from tui.domain.compression import CompressionView, SummaryRun
from tui.domain.cost import Paid
from tui.domain.messages import BlockGrowth, Message, Role, Turn
from tui.store.database import Database
from tui.store.leases import LeaseHolder, OtherProcess, acquire
from tui.store.sessions import NewSession, ensure, find, name_untitled, restore, title_from, touch
from tui.store.turns import (
    WritePosition,
    add_turn,
    close_turn,
    find_turn,
    grow_message,
    head_of,
    path_to,
    replace_path,
    set_head,
    settle_turn,
    write_message,
)

MOST_TURNS = 2**31
"""A larger number of turns in a session's row is damage."""


class StoredJournal:
    """Implements ``tui.engine.ports.Journal``. Repeating a write changes nothing."""

    def __init__(self, database: Database, holder: LeaseHolder, now: Callable[[], float]) -> None:
        self._database = database
        self._holder = holder
        self._now = now
        self._lost: set[str] = set()
        self.beginnings: dict[str, NewSession] = {}
        """Model, level and settings chosen for sessions that are not stored yet."""
        self.on_title: Callable[[str, str], None] = lambda session, title: None
        """Called with a session and its title if that is not just the beginning of its prompt."""

    async def turn_started(self, session: str, turn: Turn) -> None:
        """Store an accepted prompt, creating the session if necessary."""

        def write(connection: sqlite3.Connection) -> tuple[bool, str]:
            now = self._now()
            number = self._ensured(connection, session, now)
            if find_turn(connection, number, turn.id) is None:
                head = head_of(connection, number)
                added = add_turn(connection, number, head, turn, now)
                (before,) = connection.execute("SELECT turns FROM session WHERE seq = ?", (number,)).fetchone()
                is_known = isinstance(before, int) and 0 <= before < MOST_TURNS  # not in a damaged row
                set_head(connection, number, added, before + 1 if is_known else len(path_to(connection, added)))
            title = name_untitled(connection, number, title_from(turn))
            acquire(connection, number, self._holder, now)
            touch(connection, number, now)
            return restore(connection, number), title

        restored, title = await self._database.run(write)
        if title:
            self.on_title(session, title)
        if restored:
            self._database.tell("This session was deleted meanwhile. What you said just now brought it back.")

    async def checkpoint(self, session: str, turn_id: str, message: Message) -> None:
        """Store the open message in its current state."""
        await self._database.run(
            lambda connection: write_message(
                connection, self._position(connection, session, turn_id), message, open_=True
            )
        )

    async def grown(
        self, session: str, turn_id: str, message: Message, grown: Sequence[BlockGrowth], *, whole: bool
    ) -> bool:
        """Append to an open message; False if its earlier part is not stored."""
        return await self._database.run(
            lambda connection: grow_message(
                connection, self._position(connection, session, turn_id), message, grown, whole=whole
            )
        )

    async def message_added(self, session: str, turn_id: str, message: Message) -> None:
        """Store a complete message."""

        def write(connection: sqlite3.Connection) -> None:
            position = self._position(connection, session, turn_id)
            write_message(connection, position, message)
            if message.role is Role.ASSISTANT:
                self._record(connection, session, turn_id, message, position.now)

        await self._database.run(write)

    async def turn_finished(self, session: str, turn: Turn) -> None:
        """Store the final state of a finished turn."""

        def write(connection: sqlite3.Connection) -> None:
            position = self._position(connection, session, turn.id)
            settle_turn(connection, position, turn)
            touch(connection, position.session, position.now)

        await self._database.run(write)

    async def history_replaced(self, session: str, turns: Sequence[Turn]) -> None:
        """Make these turns the active path; other turns stay as siblings."""
        from tui.store.summaries import drop_view_of_others

        kept = tuple(turns)

        def write(connection: sqlite3.Connection) -> None:
            now = self._now()
            number = self._ensured(connection, session, now)
            replace_path(connection, number, kept, now)
            drop_view_of_others(connection, number, path_to(connection, head_of(connection, number)))
            touch(connection, number, now)

        await self._database.run(write)

    async def turn_kept(self, session: str, turn: Turn, after: str | None) -> None:
        """Store a finished turn as a branch; the active path does not change."""
        from tui.store.summaries import drop_runs

        def write(connection: sqlite3.Connection) -> None:
            now = self._now()
            number = self._ensured(connection, session, now)
            if find_turn(connection, number, turn.id) is not None:
                return
            parent = None if after is None else find_turn(connection, number, after)
            added = add_turn(connection, number, parent, turn, now)
            drop_runs(connection, number, [message.id for message in turn.messages])
            close_turn(connection, number, added)
            for message in turn.messages:
                if message.role is Role.ASSISTANT:
                    self._record(connection, session, turn.id, message, now)
            name_untitled(connection, number, title_from(turn))
            touch(connection, number, now)

        await self._database.run(write)

    async def compressed(self, session: str, view: CompressionView | None) -> None:
        """Set the compression of finished turns; the turns themselves are kept."""
        from tui.store.summaries import set_view

        def write(connection: sqlite3.Connection) -> None:
            now = self._now()
            number = self._ensured(connection, session, now)
            set_view(connection, number, view)
            touch(connection, number, now)

        await self._database.run(write)

    async def summary_run(self, session: str, run: SummaryRun) -> None:
        """Record a request for a summary."""
        from tui.store.summaries import add_run

        def write(connection: sqlite3.Connection) -> None:
            now = self._now()
            add_run(connection, self._ensured(connection, session, now), run, now)
            self._record(connection, session, run.turn, run, now)

        await self._database.run(write)

    def _record(self, connection: sqlite3.Connection, session: str, turn: str, paid: Paid, now: float) -> None:
        from tui.store.spending import record  # loaded with the first answer, when nobody waits

        record(connection, session, turn, paid, self._holder.id, now)

    async def queued(self, session: str, prompts: Sequence[Sequence[Block]]) -> None:
        """Store the prompts that wait for the running turn to end."""
        from tui.store.queued_prompts import set_queue

        await self._database.run(
            lambda connection: set_queue(connection, self._ensured(connection, session, self._now()), prompts)
        )

    async def still_open(self, session: str) -> None:
        """Renew the lease; another process may have taken it while the computer slept."""
        if not self._database.can_write:
            return  # Nothing was ever opened, so no lease can have been taken.
        held = await self._database.run(lambda connection: self._hold(connection, session))
        if held is not None and session not in self._lost:
            self._lost.add(session)
            where = "in another window" if held.here else f"on {held.host}"
            self._database.tell(
                f"This session was also opened {where}. Both windows are saved, but neither shows the"
                " turns of the other. Use /fork to continue in a separate session."
            )

    def _hold(self, connection: sqlite3.Connection, session: str) -> OtherProcess | None:
        number = find(connection, session)
        return None if number is None else acquire(connection, number, self._holder, self._now())

    def _ensured(self, connection: sqlite3.Connection, session: str, now: float) -> int:
        """The row number of the session, which is created if necessary."""
        return ensure(connection, self.beginnings.get(session) or NewSession(id=session), now)

    def _position(self, connection: sqlite3.Connection, session: str, turn_id: str) -> WritePosition:
        """The position of a message. If storing the start of the turn failed, it is stored now."""
        now = self._now()
        number = self._ensured(connection, session, now)
        turn = find_turn(connection, number, turn_id)
        if turn is None:
            head = head_of(connection, number)
            turn = add_turn(connection, number, head, Turn(id=turn_id, messages=(), open=True), now)
            set_head(connection, number, turn, len(path_to(connection, turn)))
        return WritePosition(number, turn, now)
