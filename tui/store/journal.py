"""The engine's journal, over the database: every call that returns is on the disk."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

from tui.domain.compression import CompressionView
from tui.domain.messages import Message, Turn
from tui.store.branches import add_turn, find_turn, head_of, path_to, replace_path, set_head
from tui.store.database import Database
from tui.store.leases import Holder, acquire
from tui.store.sessions import Beginning, drop_view_of_others, ensure, name_untitled, set_view, title_from, touch
from tui.store.turns import Place, settle_turn, write_message


class StoredJournal:
    """Fits ``tui.engine.ports.Journal``. Writing the same again changes nothing."""

    def __init__(self, database: Database, holder: Holder, now: Callable[[], float]) -> None:
        self._database = database
        self._holder = holder
        self._now = now

    async def turn_started(self, session: str, turn: Turn) -> None:
        """A prompt was accepted; a session that was not stored yet is from now on."""

        def write(connection: sqlite3.Connection) -> None:
            now = self._now()
            number = ensure(connection, Beginning(id=session), now)
            if find_turn(connection, number, turn.id) is None:
                head = head_of(connection, number)
                added = add_turn(connection, number, head, turn, now)
                (turns,) = connection.execute("SELECT turns FROM session WHERE seq = ?", (number,)).fetchone()
                set_head(connection, number, added, turns + 1)
            name_untitled(connection, number, title_from(turn))
            acquire(connection, number, self._holder, now)
            touch(connection, number, now)

        await self._database.run(write)

    async def checkpoint(self, session: str, turn_id: str, message: Message) -> None:
        """The open message as far as it has come."""
        await self._database.run(
            lambda connection: write_message(connection, self._place(connection, session, turn_id), message, open_=True)
        )

    async def message_added(self, session: str, turn_id: str, message: Message) -> None:
        """A message is complete."""
        await self._database.run(
            lambda connection: write_message(connection, self._place(connection, session, turn_id), message)
        )

    async def turn_finished(self, session: str, turn: Turn) -> None:
        """The turn is over, and is exactly this."""

        def write(connection: sqlite3.Connection) -> None:
            place = self._place(connection, session, turn.id)
            settle_turn(connection, place, turn)
            touch(connection, place.session, place.now)

        await self._database.run(write)

    async def history_replaced(self, session: str, turns: Sequence[Turn]) -> None:
        """These turns are the active path; others stay as siblings."""
        kept = tuple(turns)

        def write(connection: sqlite3.Connection) -> None:
            now = self._now()
            number = ensure(connection, Beginning(id=session), now)
            replace_path(connection, number, kept, now)
            drop_view_of_others(connection, number, path_to(connection, head_of(connection, number)))
            touch(connection, number, now)

        await self._database.run(write)

    async def compressed(self, session: str, view: CompressionView | None) -> None:
        """Finished turns are looked at through this view; the turns themselves stay."""

        def write(connection: sqlite3.Connection) -> None:
            now = self._now()
            number = ensure(connection, Beginning(id=session), now)
            set_view(connection, number, view)
            touch(connection, number, now)

        await self._database.run(write)

    def _place(self, connection: sqlite3.Connection, session: str, turn_id: str) -> Place:
        """Where a message goes. A turn whose beginning could not be saved is begun here."""
        now = self._now()
        number = ensure(connection, Beginning(id=session), now)
        turn = find_turn(connection, number, turn_id)
        if turn is None:
            head = head_of(connection, number)
            turn = add_turn(connection, number, head, Turn(id=turn_id, messages=(), open=True), now)
            set_head(connection, number, turn, len(path_to(connection, turn)))
        return Place(number, turn, now)
