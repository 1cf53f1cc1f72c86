"""The branches of the open session: all its turns, and the path that is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tui.app.current_session import CurrentSession
from tui.app.session_storage import StoredSession
from tui.domain.errors import UsageError

if TYPE_CHECKING:
    from tui.domain.listing import TurnInfo
    from tui.domain.messages import Turn


class Branches:
    """Lists and opens the branches of the open session."""

    def __init__(self, current: CurrentSession) -> None:
        self._current = current

    async def tree(self) -> Sequence[TurnInfo]:
        """All turns on all branches."""
        return await self._current.storage.turn_tree(self._current.session_id)

    async def places(self) -> Mapping[str, tuple[int, int]]:
        """The turns with siblings: the place of each among them, counted from 1, and their number."""
        return await self._current.storage.sibling_places(self._current.session_id)

    async def answers(self, turn_id: str) -> Sequence[Turn]:
        """The turns that follow the same turn as this one, this one included. Raises UsageError if it is alone."""
        turns = await self._current.storage.sibling_turns(self._current.session_id, turn_id)
        if len(turns) < 2:
            raise UsageError("There is only one answer here.", advice="Editing, /retry and /ask make others.")
        return turns

    async def open(self, turn_id: str) -> None:
        """Make the path through this turn the active one, down to where it was last left."""
        current = self._current
        spec, session = current.spec, current.session_id
        view = current.session.view()
        stored = StoredSession(
            id=session,
            title=view.title,
            spec=spec,
            turns=view.turns,
            compression=view.compression,
            summaries=view.summaries,
            elsewhere=view.elsewhere,
            settings=current.session_settings(),
        )
        async with current.switching:
            await current.close_shown()
            try:
                active = await current.storage.activate(session, turn_id)
                stored = replace(active, spec=spec, settings=stored.settings)
            finally:  # if it cannot be read, the old branch is reopened
                current.start(spec, stored)
