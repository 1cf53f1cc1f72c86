"""Storage in which private sessions exist in memory only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tui.app.session_storage import InMemorySessions, Storage, StoredSession
from tui.domain.errors import UsageError
from tui.domain.thinking import ModelSpec
from tui.engine.budget import Ledger
from tui.engine.ports import Journal

if TYPE_CHECKING:
    from tui.domain.cost import SpentRequest
    from tui.domain.listing import SessionInfo, TurnInfo
    from tui.domain.messages import Turn


class StorageWithPrivate:
    """Implements ``Storage``: private sessions in memory, all others in the storage it is given.

    What requests cost is recorded for private ones, too, if there is a spending limit: model and dollars, no text.
    """

    def __init__(self, stored: Storage) -> None:
        self._stored = stored
        self._memory = InMemorySessions()
        self._private: set[str] = set()
        self._on_title: Callable[[str, str], None] = lambda session, title: None

    def _storage_of(self, session: str) -> Storage:
        return self._memory if session in self._private else self._stored

    def is_private(self, session: str) -> bool:
        return session in self._private

    def begin_private(self, session: str) -> None:
        self._private.add(session)

    def listen(self, on_notice: Callable[[str], None], on_title: Callable[[str, str], None]) -> None:
        self._on_title = on_title
        self._stored.listen(on_notice, on_title)

    def when_locked(self, tell: Callable[[str], None]) -> None:
        self._stored.when_locked(tell)

    @property
    def notices(self) -> tuple[str, ...]:
        return self._stored.notices

    def journal(self, session: str, model: str) -> Journal:
        return self._storage_of(session).journal(session, model)

    def ledger(self) -> Ledger:
        return self._stored.ledger()

    async def spent_since(self, moment: float) -> Sequence[SpentRequest]:
        stored = await self._stored.spent_since(moment)
        return (*(row for row in stored if row.session not in self._private), *await self._memory.spent_since(moment))

    async def load(self, session: str) -> StoredSession:
        return await self._storage_of(session).load(session)

    async def save_settings(self, session: str, spec: ModelSpec, settings: Mapping[str, object]) -> None:
        await self._storage_of(session).save_settings(session, spec, settings)

    async def release(self, session: str) -> None:
        await self._storage_of(session).release(session)

    async def fork(self, session: str, turn_id: str, *, keep: bool) -> str:
        """The fork of a private session is private."""
        forked = await self._storage_of(session).fork(session, turn_id, keep=keep)
        if session in self._private:
            self._private.add(forked)
        return forked

    async def siblings(self, session: str, turn_id: str) -> Sequence[str]:
        return await self._storage_of(session).siblings(session, turn_id)

    async def sibling_turns(self, session: str, turn_id: str) -> Sequence[Turn]:
        return await self._storage_of(session).sibling_turns(session, turn_id)

    async def sibling_places(self, session: str) -> Mapping[str, tuple[int, int]]:
        return await self._storage_of(session).sibling_places(session)

    async def turn_tree(self, session: str) -> Sequence[TurnInfo]:
        return await self._storage_of(session).turn_tree(session)

    async def activate(self, session: str, turn_id: str) -> StoredSession:
        return await self._storage_of(session).activate(session, turn_id)

    async def latest(self) -> str | None:
        return await self._stored.latest()

    async def sessions(self, query: str = "", limit: int = 200) -> Sequence[SessionInfo]:
        """Private sessions first."""
        private = await self._memory.sessions(query, limit) if self._private else ()
        return (*private, *await self._stored.sessions(query, limit))

    async def preview(self, session: str) -> str:
        return await self._storage_of(session).preview(session)

    async def turns(self, session: str) -> Sequence[Turn]:
        return await self._storage_of(session).turns(session)

    async def rename(self, session: str, title: str, *, by_user: bool = True) -> None:
        if session not in self._private:
            await self._stored.rename(session, title, by_user=by_user)
        elif not title.strip():
            raise UsageError("The title is empty.")
        else:
            await self._memory.rename(session, title.strip())
            self._on_title(session, title.strip())

    async def pin(self, session: str, *, pinned: bool) -> None:
        if session in self._private:
            raise UsageError("A private conversation cannot be pinned.")
        await self._stored.pin(session, pinned=pinned)

    async def delete(self, session: str) -> None:
        await self._storage_of(session).delete(session)

    async def undelete(self, session: str) -> None:
        if session in self._private:
            raise UsageError("A private conversation cannot be restored.")
        await self._stored.undelete(session)

    async def export_to(self, path: Path, session: str, form: Literal["md", "json", "html"], parts: str) -> None:
        if session in self._private:
            raise UsageError(
                "A private conversation is not written to a file.", advice="`/copy all` puts it on the clipboard."
            )
        await self._stored.export_to(path, session, form, parts)

    async def import_file(self, path: Path) -> str:
        return await self._stored.import_file(path)

    async def aclose(self) -> None:
        await self._stored.aclose()
