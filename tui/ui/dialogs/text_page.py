"""A sheet with a page of markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.widget import Widget

from tui.ui.dialogs.sheet import Keys, Sheet
from tui.ui.panels.page import Page, markdown_lines


class TextPage(Sheet[None]):
    """Shows the long output of a command."""

    SHAPE: ClassVar[str] = "-page"
    KEYS: ClassVar[Keys] = (("up down", "scroll"), ("space", "page"))

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title = title
        self._text = text

    def inside(self) -> Sequence[Widget]:
        self._page = Page(self.ponder.theming.sheet_styles(self.ponder))
        return (self._page,)

    def on_mount(self) -> None:
        self.retitle(self._title)
        self._page.show(markdown_lines(self._text))
        self._page.focus()
