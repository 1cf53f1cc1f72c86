"""The line under a conversation that was scrolled up: how much is new, and what leads there."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from tui.domain.counting import count
from tui.ui.transcript.transcript import Transcript


class FollowLine(Static):
    """Seen only while the answer is not followed; a click follows it."""

    def __init__(self, transcript: Transcript, composer: Widget) -> None:
        super().__init__("", id="below", markup=False)
        self._transcript = transcript
        self._composer = composer

    def tell(self, *, following: bool, below: int) -> None:
        """What changed."""
        self.display = not following
        if not following:
            new = f"↓ {count(below, 'new line')} · " if below > 0 else "↓ "
            self.update(Content(new) + Content.styled("end", "bold") + Content(" follows the answer"))

    def on_click(self) -> None:
        """Down to what is new."""
        self._transcript.follow()
        self._composer.focus()
