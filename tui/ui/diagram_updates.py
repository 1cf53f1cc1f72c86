"""Shows diagrams and the colours of code in the transcripts when their threads are done."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from tui.ui.markdown.diagrams import drawings
from tui.ui.markdown.lexers import lexers
from tui.ui.transcript.transcript import Transcript

if TYPE_CHECKING:
    from tui.ui.app import PonderApp


class DiagramUpdates:
    """Is called on the threads of drawings and lexers; several at once cost one layout."""

    def __init__(self, app: PonderApp) -> None:
        self._app = app
        self._is_due = False

    def begin(self) -> None:
        """Listen while the screen exists."""
        drawings().listen(self._heard)
        lexers().listen(self._heard)

    def end(self) -> None:
        """The screen ends."""
        drawings().forget(self._heard)
        lexers().forget(self._heard)

    def _heard(self) -> None:
        if not self._is_due:
            self._is_due = True
            with contextlib.suppress(RuntimeError):  # the screen has just ended
                self._app.call_later(self._show)

    def _show(self) -> None:
        self._is_due = False
        for screen in self._app.screen_stack:
            for transcript in screen.query(Transcript):
                transcript.column.note_outdated()
                transcript.settle()
