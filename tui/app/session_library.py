"""The sessions in the database as lists show them: found, named, pinned, put away, exported, imported."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tui.app.session_storage import Listener
from tui.domain.errors import UsageError
from tui.store.database import Database
from tui.store.open_sessions import OpenSessions
from tui.store.sessions import Beginning
from tui.store.store_context import StoreContext

if TYPE_CHECKING:
    from tui.domain.listing import SessionInfo
    from tui.store.library import StoredLibrary


class SqliteLibrary:
    """The part of ``Storage`` that is about sessions from outside."""

    def __init__(self, database: Database, around: StoreContext) -> None:
        self._database = database
        self._around = around
        self._conversations = OpenSessions(database, around)
        self._listener: Listener | None = None

    @cached_property
    def _library(self) -> StoredLibrary:
        """For lists and names; a new session needs neither."""
        from tui.store.library import StoredLibrary

        return StoredLibrary(self._database, self._around)

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
        await self._conversations.create(Beginning(id=session))  # it may have no prompt yet
        await self._library.rename(session, title.strip())
        if self._listener is not None:
            self._listener.renamed(session, title.strip())

    async def pin(self, session: str, *, pinned: bool) -> None:
        """At the top, or not."""
        await self._conversations.create(Beginning(id=session))
        await self._library.pin(session, pinned=pinned)

    async def delete(self, session: str) -> None:
        """Put it away; one in which nothing was said is not there anyway."""
        if await self._conversations.is_stored(session):
            await self._library.delete(session)

    async def undelete(self, session: str) -> None:
        """Bring it back."""
        await self._library.undelete(session)

    async def export_to(self, path: Path, session: str, form: Literal["md", "json", "html"], parts: str) -> None:
        """To a file, keys taken out."""
        if not await self._conversations.is_stored(session):
            raise UsageError("There is nothing to export yet.")
        await self._library.export_to(path, session, form, parts)

    async def bring_in(self, path: Path) -> str:
        """From a file; the new session's id."""
        return await self._library.bring_in(path)
