"""Questions beside the open session: to its own model, or to several models at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui.app.open_session import OpenSession
from tui.domain.blocks import TextBlock
from tui.domain.errors import UsageError

if TYPE_CHECKING:
    from tui.engine.side_turns import SideTurn


class SideQuestions:
    """Asks, stops, keeps and chooses side answers."""

    def __init__(self, current: OpenSession) -> None:
        self._current = current

    async def ask(self, question: str) -> SideTurn:
        """Ask the session's model beside the conversation."""
        if not question.strip():
            raise UsageError("There is nothing to ask.", advice="For example: `/aside What is a monad?`")
        [side] = await self._current.call(self._current.session.ask_aside((TextBlock(text=question.strip()),)))
        return side

    async def drop(self, turn_ids: Sequence[str]) -> None:
        """Stop these answers and forget them, unless they are to be kept."""
        await self._current.call(self._current.session.side_turns.drop(turn_ids))

    async def keep(self, turn_id: str) -> bool:
        """Keep an answer as a branch; False if it is kept as soon as it has arrived."""
        return await self._current.call(self._current.session.side_turns.keep(turn_id))
