"""Writes the prompt when nothing else is going on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.linear.app import LinearApp

AFTER_S = 0.05
"""Delay before the prompt: a command may have begun something."""
AGAIN_AFTER_S = 0.2
"""The same where lines came behind the prompt: others may follow them."""


class PromptWriter:
    """Decides which prompt is on the last row."""

    def __init__(self, app: LinearApp) -> None:
        self._app = app
        self.is_sending = False
        """A prompt was sent, and its turn has not begun."""
        self._settled = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None

    async def until_settled(self) -> None:
        """Wait until nothing runs and everything is printed."""
        self._settled.clear()
        self.soon()
        await self._settled.wait()

    def soon(self, after_s: float = AFTER_S) -> None:
        """Write the prompt if nothing more happens."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(after_s, self._now)

    def later(self) -> None:
        """The prompt was written over: once nothing more comes, it is written again."""
        self.soon(AGAIN_AFTER_S)

    def _now(self) -> None:
        app = self._app
        is_settled = not self.is_sending and app.conversation.is_settled
        if is_settled:
            self._settled.set()
        if app.out.is_held or app.is_ending:
            return
        if app.questions.is_open:
            app.questions.ask_again()
        elif app.approvals.is_open:
            app.approvals.ask_again()
        elif is_settled and app.work.is_idle:
            if app.typed_input.has_ended:
                app.end(0)
            else:
                app.out.prompt(app.draft.prompt)
