"""A scrolling page of lines: markdown, or lines made by the caller. Only visible lines are painted."""

# Loaded only with the first sheet: it imports the markdown engine, which the first screen does not need.
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui.ui.markdown.document import Document
from tui.ui.markdown.runs import Line, plain
from tui.ui.theme.theme_styles import ThemeStyles, surface_from

SCROLLBAR = 1
LEAST_WIDTH = 8
Lines = Callable[[int], Sequence[Line]]
"""Returns lines for a width."""


def markdown_lines(text: str) -> Lines:
    """Lines of a markdown text, laid out for any width."""
    return Document(text, closed=True).lines


class Page(ScrollView, can_focus=True):
    """Lines on a sheet's background; arrows, page keys and the wheel scroll."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", "down", show=False),
        Binding("k", "scroll_up", "up", show=False),
        Binding("space", "page_down", "page", show=False),
    ]

    def __init__(self, theme_styles: ThemeStyles, *, gap: int = 0) -> None:
        """``gap`` is the columns between lines and scrollbar."""
        super().__init__()
        self.theme_styles = theme_styles
        self._beside = SCROLLBAR + gap
        self._make: Lines | None = None
        self._lines: Sequence[Line] = ()
        self._width = 0

    def show(self, make: Lines, *, keep_place: bool = False) -> None:
        """Show other lines."""
        self._make, self._width = make, 0
        if not keep_place:
            self.scroll_to(0, 0, animate=False, immediate=True)
        self._lay()

    def recolour(self, theme_styles: ThemeStyles) -> None:
        """Apply another theme."""
        self.theme_styles = theme_styles
        self.refresh()

    @property
    def lines_below(self) -> int | None:
        """The number of lines below the visible ones; None before layout at this width."""
        if not self.size.height or self._width != max(LEAST_WIDTH, self.size.width - self._beside):
            return None
        return max(0, len(self._lines) - round(self.scroll_y) - self.size.height)

    def text(self) -> str:
        """The lines' characters."""
        return "\n".join(plain(line) for line in self._lines)

    def on_resize(self) -> None:
        """Lay out for the new width."""
        self._lay()

    def _lay(self) -> None:
        width = max(LEAST_WIDTH, self.size.width - self._beside)
        if self._make is None or not self.size.width or width == self._width:
            return
        self._width = width
        self._lines = self._make(width)
        self.virtual_size = Size(width, len(self._lines))
        if self.styles.height is not None and self.styles.height.is_auto:
            self.refresh(layout=True)
        self.refresh()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """The number of lines, for style sheets with automatic height."""
        return len(self._make(max(LEAST_WIDTH, width - self._beside))) if self._make is not None else 1

    def render_line(self, y: int) -> Strip:
        index = y + round(self.scroll_y)
        line = self._lines[index] if index < len(self._lines) else []
        width = self._width if surface_from(line) is not None else 0
        shown = [run for run in line if run.role != "code-copy"]  # a click copies nothing here
        return self.theme_styles.strip(shown, "", width).crop_extend(
            0, self.size.width, self.theme_styles.background("")
        )
