"""The bar at the top: whose program this is, and what the conversation is about."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static

from tui.ui.graphemes import line_within

BESIDE = 12
"""Columns that are not the title's."""


class TitleBar(Static):
    """Redrawn only when the title is another one."""

    def __init__(self) -> None:
        super().__init__("", id="title", markup=False)
        self._title = ""
        self._shown = ""

    def show_title(self, title: str, columns: int) -> None:
        """Cut to the width of the screen."""
        self._title = title
        title = line_within(title, max(10, columns - BESIDE))
        if title != self._shown:
            self._shown = title
            self.update(Content.styled("ponder  ", "bold $primary") + Content(title))

    def on_resize(self) -> None:
        """Cut the whole title to the new width."""
        if self._title:
            self.show_title(self._title, self.screen.size.width)
