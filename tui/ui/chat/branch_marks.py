"""Keeps the marks of prompts with siblings in step with the branches of the session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tui.domain.errors import PonderError
from tui.domain.events import AppEvent, HistoryChanged, SideAnswersPaid, TurnFailed, TurnFinished, TurnStarted
from tui.domain.messages import Role
from tui.ui.workers import start_work

if TYPE_CHECKING:
    from textual.dom import DOMNode

    from tui.app.branches import Branches
    from tui.engine.state import SessionView
    from tui.ui.transcript.transcript_view import TranscriptView

CHANGES_BRANCHES = (HistoryChanged, SideAnswersPaid, TurnFailed, TurnFinished, TurnStarted)
"""Events after which a turn may have more siblings."""


class BranchMarks:
    """Reads the places of the turns among their siblings, and shows them."""

    def __init__(
        self, node: DOMNode, branches: Branches, conversation: TranscriptView, view: Callable[[], SessionView | None]
    ) -> None:
        self._node = node
        self._branches = branches
        self._conversation = conversation
        self._view = view

    def follow(self, batch: Sequence[AppEvent]) -> None:
        """Read again if something has changed."""
        if any(isinstance(event, CHANGES_BRANCHES) for event in batch):
            self.read()

    def read(self) -> None:
        """Read the places, beside the screen."""
        view = self._view()
        if view is not None and (view.turns or view.open_turn is not None):  # a new session may have no file yet
            start_work(self._node, self._read, group="branches", exclusive=True)

    async def _read(self) -> None:
        try:
            places = await self._branches.places()
        except PonderError:
            return  # the database cannot be read, which is said elsewhere
        view = self._view()
        turns = (*view.turns, view.open_turn) if view is not None else ()
        prompts = {
            turn.id: next((message.id for message in turn.messages if message.role is Role.USER), "")
            for turn in turns
            if turn is not None and turn.id in places
        }
        self._conversation.show_places({prompt: places[turn] for turn, prompt in prompts.items()})
