"""Sessions kept in the database, as the rest of the wiring sees them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tui.domain.errors import UsageError
from tui.domain.thinking import ModelSpec
from tui.engine.ports import Journal
from tui.store.conversations import Conversations
from tui.store.database import Database
from tui.store.journal import StoredJournal
from tui.store.leases import this_process
from tui.store.surroundings import Surroundings
from tui.wiring.ids import new_id
from tui.wiring.storage import Stored

if TYPE_CHECKING:
    from tui.commands.rows import SessionRow
    from tui.domain.messages import Turn
    from tui.store.library import StoredLibrary


class KeptInStore:
    """Implements ``Storage``. The file is opened with the first call that needs it."""

    def __init__(self, path: Path, now: Callable[[], float], conceal: Callable[[str], str]) -> None:
        holder = this_process(new_id())
        around = Surroundings(holder=holder, now=now, new_id=new_id, conceal=conceal)
        self._database = Database(path)
        self._journal = StoredJournal(self._database, holder, now)
        self._around = around
        self._conversations = Conversations(self._database, around)

    @cached_property
    def _library(self) -> StoredLibrary:
        """For lists and names; a new session needs neither."""
        from tui.store.library import StoredLibrary

        return StoredLibrary(self._database, self._around)

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
        loaded = await self._conversations.load(name)
        notice = ""
        if loaded.held is not None:
            name = await self._conversations.fork(name)
            loaded = await self._conversations.load(name)
            notice = "That session is open in another window, so this is a fork of it."
        return Stored(
            id=name, title=loaded.title, spec=loaded.spec, turns=loaded.turns, view=loaded.view, notice=notice
        )

    async def turns(self, session: str) -> tuple[Turn, ...]:
        """Its turns, only looked at."""
        return await self._conversations.turns(await self._library.resolve(session))

    async def remember(self, session: str, spec: ModelSpec) -> None:
        """The model it is used with."""
        await self._conversations.remember(session, spec, {})

    async def leave(self, session: str) -> None:
        """Not open here any more."""
        await self._conversations.leave(session)

    async def fork(self, session: str, turn_id: str, *, keep: bool) -> str:
        """A new session with the turns up to this one."""
        return await self._conversations.fork(session, turn_id, keep=keep)

    async def latest(self) -> str | None:
        """The session used last."""
        row = await self._library.newest()
        return row.id if row is not None else None

    async def sessions(self, query: str = "", limit: int = 200) -> Sequence[SessionRow]:
        """Newest first, pinned ones before."""
        from tui.commands.rows import SessionRow

        return [
            SessionRow(
                id=row.id,
                title=row.title,
                model=row.model,
                turns=row.turns,
                cost=row.cost,
                updated=row.updated,
                pinned=row.pinned,
                deleted=row.deleted,
                snippet=row.snippet,
                hit_message=row.hit_message,
            )
            for row in await self._library.sessions(query, limit)
        ]

    async def preview(self, session: str) -> str:
        """Its first and last words."""
        return await self._library.preview(session)

    async def rename(self, session: str, title: str) -> None:
        """Another title."""
        if not title.strip():
            raise UsageError("A title needs words.")
        await self._library.rename(session, title.strip())

    async def pin(self, session: str, *, pinned: bool) -> None:
        """At the top, or not."""
        await self._library.pin(session, pinned=pinned)

    async def delete(self, session: str) -> None:
        """Put it away."""
        await self._library.delete(session)

    async def undelete(self, session: str) -> None:
        """Bring it back."""
        await self._library.undelete(session)

    async def export(self, session: str, form: Literal["md", "json", "html"], parts: str) -> str:
        """Its text, keys taken out."""
        return await self._library.export(session, form, parts)

    async def bring_in(self, path: Path) -> str:
        """From a file; the new session's id."""
        return await self._library.bring_in(path)

    async def aclose(self) -> None:
        """All is written, the log is taken in."""
        self._database.close()
