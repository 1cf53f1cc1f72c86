"""The line above the composer that names a session in the background that asks something."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from tui.domain.listing import Activity, OpenSessionInfo
from tui.domain.printable import one_line
from tui.ui.graphemes import line_within

LONGEST_TITLE = 40


class AskingLine(Static):
    """Names the session and the way to it; a click goes there. Nothing while none asks."""

    class Clicked(Message):
        """The user wants to see this session."""

        def __init__(self, session: str) -> None:
            super().__init__()
            self.session = session

    def __init__(self) -> None:
        super().__init__("", id="asking", markup=False)
        self._asking: Sequence[OpenSessionInfo] = ()
        self._key = ""
        self._drawn = ""
        self.display = False

    def show(self, sessions: Sequence[OpenSessionInfo], key: str) -> None:
        """Show which of these sessions asks; ``key`` goes to it."""
        self._asking = [row for row in sessions if row.activity is Activity.ASKS and not row.on_screen]
        self._key = key
        self.display = bool(self._asking)
        self._draw()

    def on_resize(self) -> None:
        """Fit the line to the new width."""
        self._draw()

    def on_click(self) -> None:
        """Go to the session."""
        if self._asking:
            self.post_message(self.Clicked(self._asking[0].id))

    def _draw(self) -> None:
        words = line_within(
            asking_words(self._asking, self._key), max(20, self.content_size.width or self.app.size.width - 4)
        )
        if words != self._drawn:
            self._drawn = words
            self.update(Content.styled(words, "bold $warning"))


def asking_words(asking: Sequence[OpenSessionInfo], key: str) -> str:
    """``? “Fix the sums” asks for your answer · alt+s or a click goes there · 1 more asks``."""
    if not asking:
        return ""
    more = len(asking) - 1
    others = f" · {more} more {'asks' if more == 1 else 'ask'}" if more else ""
    return f"? “{one_line(asking[0].title, LONGEST_TITLE)}” asks for your answer · {key} or a click goes there{others}"
