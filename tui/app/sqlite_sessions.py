"""Sessions kept in the database, as the rest of the wiring sees them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tui.app.ids import new_id
from tui.app.session_storage import Listener, Stored
from tui.domain.errors import StoreError, UsageError
from tui.domain.thinking import ModelSpec
from tui.engine.ports import Journal
from tui.store.database import Database
from tui.store.journal import StoredJournal
from tui.store.leases import this_process
from tui.store.open_sessions import Loaded, OpenSessions
from tui.store.sessions import Beginning
from tui.store.store_context import StoreContext

if TYPE_CHECKING:
    from tui.domain.listing import SessionInfo
    from tui.domain.messages import Turn
    from tui.store.library import StoredLibrary


class SqliteSessions:
    """Implements ``Storage`` on the database, which the first call that needs it opens."""

    def __init__(self, path: Path, now: Callable[[], float], conceal: Callable[[str], str]) -> None:
        holder = this_process(new_id())
        self._database = Database(path)
        self._context = StoreContext(holder=holder, now=now, new_id=new_id, conceal=conceal)
        self._open_sessions = OpenSessions(self._database, self._context)
        self._journal = StoredJournal(self._database, holder, now)
        self._listener: Listener | None = None

    @cached_property
    def _library(self) -> StoredLibrary:
        """For lists and names; a new session needs neither."""
        from tui.store.library import StoredLibrary

        return StoredLibrary(self._database, self._context)

    async def latest(self) -> str | None:
        """The session used last."""
        row = await self._library.newest()
        return row.id if row is not None else None

    async def sessions(self, query: str = "", limit: int = 200) -> Sequence[SessionInfo]:
        """Newest first, pinned ones before."""
        return await self._library.sessions(query, limit)

    async def preview(self, session: str) -> str:
        """Its first and last words."""
        return await self._library.preview(session)

    async def rename(self, session: str, title: str) -> None:
        """Another title."""
        if not title.strip():
            raise UsageError("A title needs words.")
        await self._open_sessions.create(Beginning(id=session))  # it may have no prompt yet
        await self._library.rename(session, title.strip())
        if self._listener is not None:
            self._listener.title_changed(session, title.strip())

    async def pin(self, session: str, *, pinned: bool) -> None:
        """At the top, or not."""
        await self._open_sessions.create(Beginning(id=session))
        await self._library.pin(session, pinned=pinned)

    async def delete(self, session: str) -> None:
        """Put it away; one in which nothing was said is not there anyway."""
        if await self._open_sessions.is_stored(session):
            await self._library.delete(session)

    async def undelete(self, session: str) -> None:
        """Bring it back."""
        await self._library.undelete(session)

    async def export_to(self, path: Path, session: str, form: Literal["md", "json", "html"], parts: str) -> None:
        """To a file, keys taken out."""
        if not await self._open_sessions.is_stored(session):
            raise UsageError("There is nothing to export yet.")
        await self._library.export_to(path, session, form, parts)

    async def bring_in(self, path: Path) -> str:
        """From a file; the new session's id."""
        return await self._library.bring_in(path)

    def open_soon(self) -> None:
        """Open the file beside the caller, who will write before long; what is wrong with it is told then."""
        self._database.submit(lambda _: None)

    def listen(self, listener: Listener) -> None:
        """Tell this one what happens to the database and to titles."""
        self._listener = listener
        self._database.tell = listener.show_notice

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user should hear about the database."""
        return self._database.notices

    def journal(self, session: str, model: str) -> Journal:
        """Where a session that is open writes."""
        return self._journal

    async def load(self, session: str) -> Stored:
        """A session as it was left; one that is open elsewhere comes as a fork of itself."""
        name = await self._library.resolve(session)
        loaded = await self._open_sessions.load(name)
        notice = ""
        if loaded.held is not None:
            where = "in another window" if loaded.held.here else f"on {loaded.held.host}"
            name = await self._open_sessions.fork(name)
            loaded = await self._open_sessions.load(name)
            notice = f"That session is open {where}, so this is a fork of it."
        return stored_from(loaded, notice)

    async def turns(self, session: str) -> tuple[Turn, ...]:
        """Its turns, only looked at."""
        return await self._open_sessions.turns(await self._library.resolve(session))

    async def remember(self, session: str, spec: ModelSpec, settings: Mapping[str, object]) -> None:
        """The model it is used with, and what was set in it; a session is stored with its first prompt."""
        self._journal.beginnings[session] = Beginning(id=session, spec=spec, settings=settings)
        if self._database.can_write:
            await self._open_sessions.remember(session, spec, settings)

    async def leave(self, session: str) -> None:
        """Not open here any more."""
        await self._open_sessions.leave(session)

    async def fork(self, session: str, turn_id: str, *, keep: bool) -> str:
        """A new session with the turns up to this one."""
        return await self._open_sessions.fork(session, turn_id, keep=keep)

    async def siblings(self, session: str, turn_id: str) -> Sequence[str]:
        """The turns at the same place, oldest first."""
        return await self._open_sessions.siblings(session, turn_id)

    async def activate(self, session: str, turn_id: str) -> Stored:
        """Over to the branch of this turn, to where it was left."""
        return stored_from(await self._open_sessions.activate(session, turn_id))

    async def aclose(self) -> None:
        """All is written, nothing is held any more, the log is taken in."""
        if self._database.can_write:
            with suppress(StoreError):
                await self._open_sessions.leave_all()
        self._database.close()


def stored_from(loaded: Loaded, notice: str = "") -> Stored:
    """What the store gave, as the rest of the program knows it."""
    return Stored(
        id=loaded.id,
        title=loaded.title,
        spec=loaded.spec,
        turns=loaded.turns,
        view=loaded.view,
        summaries=loaded.summaries,
        elsewhere=loaded.elsewhere,
        settings=loaded.settings,
        queue=loaded.queue,
        notice=notice,
    )
