"""An answer and its replay by another model, side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from tui.ui.dialogs.answer_column import Column, LiveColumn, TurnColumn
from tui.ui.dialogs.ask import READING, Columns, prompt_text
from tui.ui.dialogs.sheet import Keys
from tui.ui.workers import start_work

if TYPE_CHECKING:
    from tui.app.chat import ChatService
    from tui.bus import Subscription
    from tui.domain.events import Stamped
    from tui.domain.messages import Turn
    from tui.engine.state import SessionView


class ReplayedTurn:
    """The turn of the session on the screen that repeats another one, for a column that follows it."""

    def __init__(self, chat: ChatService, before: int) -> None:
        """``before`` is the number of turns before it."""
        self._chat = chat
        self._before = before
        self.spec = chat.view().spec

    def attach(self) -> tuple[SessionView, Subscription[Stamped]]:
        """A snapshot of this turn alone, and a subscription to its later events."""
        view, subscription = self._chat.attach()
        return replace(view, turns=view.turns[self._before :]), subscription


class CompareReplay(Columns[Column]):
    """The answer that was there and the new one; enter returns whether to go back to the old one."""

    TITLE_WORDS = "Compare"
    KEYS: ClassVar[Keys] = (("enter", "continue"), *READING)

    def __init__(self, original: Turn, replayed: ReplayedTurn) -> None:
        super().__init__(prompt_text(original))
        self._original = original
        self._replayed = replayed

    def on_mount(self) -> None:
        """Show both, the new one as it arrives."""
        super().on_mount()
        start_work(self, self._fill)

    async def _fill(self) -> None:
        services = self.ponder.ui_services
        arriving = LiveColumn(self._replayed, services)
        self.focused_column = 1
        await self.put_columns([TurnColumn(self._original, services), arriving])
        start_work(arriving, arriving.follow)

    def action_choose(self) -> None:
        """Continue with the focused answer, in its session."""
        if self.columns:
            self.dismiss("original" if self.focused_column == 0 else "replay")
