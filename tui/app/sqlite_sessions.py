"""Storage of sessions in the SQLite database."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tui.app.ids import new_id
from tui.app.session_storage import StoredSession
from tui.domain.errors import StoreError, UsageError
from tui.domain.thinking import ModelSpec
from tui.engine.budget import Ledger
from tui.engine.ports import Journal
from tui.store.database import LOCKED, Database, StoreContext
from tui.store.journal import StoredJournal
from tui.store.leases import this_process
from tui.store.open_sessions import LoadedSession, OpenSessions
from tui.store.sessions import NewSession

if TYPE_CHECKING:
    from tui.domain.cost import SpentRequest
    from tui.domain.listing import SessionInfo, TurnInfo
    from tui.domain.messages import Turn
    from tui.store.library import StoredLibrary


class SqliteSessions:
    """Implements ``Storage`` on the database, which the first call that needs it opens.

    ``soon`` opens it at once, in another thread; errors show with the first write.
    """

    def __init__(
        self, path: Path, now: Callable[[], float], conceal: Callable[[str], str], *, soon: bool = False
    ) -> None:
        holder = this_process(new_id())
        self._database = Database(path)
        self._context = StoreContext(holder=holder, now=now, new_id=new_id, conceal=conceal)
        self._open_sessions = OpenSessions(self._database, self._context)
        self._journal = StoredJournal(self._database, holder, now)
        self._on_title: Callable[[str, str], None] = lambda session, title: None
        if soon:
            self._database.submit(lambda _: None)

    @cached_property
    def _library(self) -> StoredLibrary:
        """Loaded on demand: a new session does not need it."""
        from tui.store.library import StoredLibrary

        return StoredLibrary(self._database, self._context)

    async def latest(self) -> str | None:
        row = await self._library.newest()
        return row.id if row is not None else None

    async def sessions(self, query: str = "", limit: int = 200) -> Sequence[SessionInfo]:
        return await self._library.sessions(query, limit)

    async def preview(self, session: str) -> str:
        return await self._library.preview(session)

    async def rename(self, session: str, title: str, *, by_user: bool = True) -> None:
        if not by_user:
            if given := await self._library.set_written_title(session, title):
                self._on_title(session, given)
            return
        if not title.strip():
            raise UsageError("The title is empty.")
        await self._open_sessions.create(NewSession(id=session))  # a session without a prompt has no row yet
        await self._library.rename(session, title.strip())
        self._on_title(session, title.strip())

    async def pin(self, session: str, *, pinned: bool) -> None:
        await self._open_sessions.create(NewSession(id=session))
        await self._library.pin(session, pinned=pinned)

    async def delete(self, session: str) -> None:
        """Delete a session. One without prompts was never stored."""
        if await self._open_sessions.is_stored(session):
            await self._library.delete(session)

    async def undelete(self, session: str) -> None:
        await self._library.undelete(session)

    async def export_to(self, path: Path, session: str, form: Literal["md", "json", "html"], parts: str) -> None:
        if not await self._open_sessions.is_stored(session):
            raise UsageError("There is nothing to export yet.")
        await self._library.export_to(path, session, form, parts)

    async def import_file(self, path: Path) -> str:
        return await self._library.import_file(path)

    def listen(self, on_notice: Callable[[str], None], on_title: Callable[[str, str], None]) -> None:
        self._database.tell, self._on_title = on_notice, on_title
        self._journal.on_title = on_title

    def when_locked(self, tell: Callable[[str], None]) -> None:
        self._database.when_locked = lambda: tell(LOCKED)

    @property
    def notices(self) -> tuple[str, ...]:
        return self._database.notices

    async def spent_since(self, moment: float) -> Sequence[SpentRequest]:
        from tui.store.spending import spent_since

        return await self._database.read(lambda connection: spent_since(connection, moment))

    def ledger(self) -> Ledger:
        from tui.store.spending import StoredLedger  # only if there is a spending limit

        return StoredLedger(self._database, self._context.holder, self._context.now)

    def is_private(self, session: str) -> bool:
        return False

    def begin_private(self, session: str) -> None:
        raise AssertionError("private sessions are kept in memory")

    def journal(self, session: str, model: str) -> Journal:
        return self._journal

    async def load(self, session: str) -> StoredSession:
        """Load a session, or a fork of it if another window has it open."""
        name = await self._library.resolve(session)
        loaded = await self._open_sessions.load(name)
        notice = ""
        if loaded.held_by is not None:
            where = "in another window" if loaded.held_by.here else f"on {loaded.held_by.host}"
            name = await self._open_sessions.fork(name)
            loaded = await self._open_sessions.load(name)
            notice = f"That session is open {where}, so this is a fork of it."
        return stored_from(loaded, notice)

    async def turns(self, session: str) -> tuple[Turn, ...]:
        """Return the turns without opening the session."""
        return await self._open_sessions.turns(await self._library.resolve(session))

    async def save_settings(self, session: str, spec: ModelSpec, settings: Mapping[str, object]) -> None:
        """Store model and settings; a session without prompts is stored with its first one."""
        self._journal.beginnings[session] = NewSession(id=session, spec=spec, settings=settings)
        if self._database.can_write:
            await self._open_sessions.save_settings(session, spec, settings)

    async def release(self, session: str) -> None:
        await self._open_sessions.release(session)

    async def fork(self, session: str, turn_id: str, *, keep: bool) -> str:
        return await self._open_sessions.fork(session, turn_id, keep=keep)

    async def siblings(self, session: str, turn_id: str) -> Sequence[str]:
        return await self._open_sessions.siblings(session, turn_id)

    async def sibling_turns(self, session: str, turn_id: str) -> Sequence[Turn]:
        return await self._open_sessions.sibling_turns(session, turn_id)

    async def sibling_places(self, session: str) -> Mapping[str, tuple[int, int]]:
        return await self._open_sessions.sibling_places(session)

    async def turn_tree(self, session: str) -> Sequence[TurnInfo]:
        return await self._library.turn_tree(session)

    async def activate(self, session: str, turn_id: str) -> StoredSession:
        return stored_from(await self._open_sessions.activate(session, turn_id))

    async def aclose(self) -> None:
        """Release all sessions, write everything and close the database."""
        if self._database.can_write:
            with suppress(StoreError):
                await self._open_sessions.release_all()
        self._database.close()


def stored_from(loaded: LoadedSession, notice: str = "") -> StoredSession:
    return StoredSession(
        id=loaded.id,
        title=loaded.title,
        spec=loaded.spec,
        turns=loaded.turns,
        compression=loaded.compression,
        summaries=loaded.summaries,
        elsewhere=loaded.elsewhere,
        settings=loaded.settings,
        queue=loaded.queue,
        notice=notice,
    )
