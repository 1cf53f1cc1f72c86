"""Terminal manners: escape one step at a time, ctrl+c that loses nothing, signals, coming back from sleep."""

from __future__ import annotations

import asyncio
import signal
import time
from typing import TYPE_CHECKING

from textual.binding import Binding

if TYPE_CHECKING:
    from tui.ui.app import PonderApp

AGAIN_S = 1.5
"""How long "again to quit" stands, and how close two escapes must be."""


class Manners:
    """Keys and signals that concern the whole program."""

    def __init__(self, app: PonderApp) -> None:
        self._app = app
        self._asked_at = float("-inf")
        self._escaped_at = float("-inf")

    def bindings(self) -> list[Binding]:
        """Keys of the application itself."""
        return [
            Binding("escape", "app.escape", "back", show=False),
            Binding("ctrl+c", "app.interrupt", "stop", show=False, priority=True),
            Binding("ctrl+d", "app.end_of_input", "quit", show=False),
        ]

    def begin(self) -> None:
        """Leave the terminal clean on every signal; repaint after sleep."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            loop.add_signal_handler(number, self._leave, number)
        self._app.app_resume_signal.subscribe(self._app, lambda _: self._app.refresh(layout=True))

    def _leave(self, number: int) -> None:
        self._app.exit(return_code=128 + number)

    async def escape(self) -> None:
        """One step: stop streaming, drop the selection, leave an edit, focus the composer; twice: edit the last."""
        app = self._app
        chat = app.chat
        if chat.is_busy():
            await app.desk.chat.cancel()
        elif chat.selections:
            chat.clear_selection()
        elif not chat.composer.has_focus:
            chat.composer.focus()
        elif app.editing.active:
            app.editing.leave()
            chat.composer.take()
        elif not chat.composer.text:
            now = time.monotonic()
            twice, self._escaped_at = now - self._escaped_at < AGAIN_S / 2, now
            if twice and chat.view() is not None and chat.view().turns:  # type: ignore[union-attr]  # looked at above
                await app.shell.run_id("chat.edit")

    async def interrupt(self) -> None:
        """Copy the selection; stop what streams; clear the draft, recallable; again: quit."""
        app = self._app
        chat = app.chat
        chosen = app.screen.get_selected_text()
        if chosen:
            app.copy_to_clipboard(chosen)
            app.screen.clear_selection()
        elif chat.is_busy():
            await app.desk.chat.cancel()
        elif chat.composer.text:
            chat.composer.take()
        elif time.monotonic() - self._asked_at < AGAIN_S:
            app.exit(return_code=0)
        else:
            self._asked_at = time.monotonic()
            app.say("ctrl+c again to quit")
