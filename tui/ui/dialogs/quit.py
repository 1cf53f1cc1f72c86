"""Asks whether to quit while something runs, and says what runs where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from tui.domain.format_numbers import count
from tui.domain.listing import OpenSessionInfo
from tui.domain.printable import one_line
from tui.ui.dialogs.sheet import Keys, Sheet

MOST_ROWS = 8


class Quit(Sheet[str]):
    """Gives "quit", or nothing if the user stays."""

    SHAPE: ClassVar[str] = "-small"
    ESCAPE: ClassVar[str] = "stay"
    KEYS: ClassVar[Keys] = (("enter", "stop and quit"),)
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "quit_now", "quit", show=False)]

    def __init__(self, working: Sequence[OpenSessionInfo]) -> None:
        super().__init__(classes="-quit")
        self._working = working

    def inside(self) -> Sequence[Widget]:
        """One row for each session."""
        rows = [_row(row) for row in self._working[:MOST_ROWS]]
        if len(self._working) > MOST_ROWS:
            rows.append(Content.styled(f"  and {count(len(self._working) - MOST_ROWS, 'more session')}", "$quiet"))
        is_one = len(self._working) == 1
        private = sum(row.private for row in self._working)
        promise = "What has arrived is kept, except of private ones." if private else "What has arrived is kept."
        if private == len(self._working):
            promise = "Nothing of a private conversation is kept."
        end = Content.styled(f"Quitting stops {'it' if is_one else 'them'}. {promise}", "$quiet")
        return (Static(Content("\n").join([*rows, Content(""), end]), markup=False, classes="prompt"),)

    def on_mount(self) -> None:
        """Say how many."""
        self.retitle(f"{count(len(self._working), 'session')} still {'runs' if len(self._working) == 1 else 'run'}")

    def action_quit_now(self) -> None:
        """Quit."""
        self.dismiss("quit")


def _row(row: OpenSessionInfo) -> Content:
    words = [row.activity.value]
    if row.queued:
        words.append(f"{row.queued:,} queued")
    if row.private:
        words.append("not kept")
    if row.on_screen:
        words.append("on the screen")
    return Content.styled(f"  {one_line(row.title, 40)}", "bold $foreground") + Content.styled(
        f"  {' · '.join(words)}", "$quiet"
    )
