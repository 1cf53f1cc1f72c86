"""The completion popup: rows above the composer; it covers the transcript and moves nothing."""

# A module of its own, because it is loaded only with the first completion.
from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.content import Content
from textual.geometry import Region
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from tui.commands.registry import Completion
from tui.domain.printable import one_line
from tui.ui.panels.row_list import BarList

MOST = 50
ROWS = 9
WIDEST = 100
MARGIN = 2
"""Columns left free on each side."""


class Popup(BarList, can_focus=False):
    """The list of completions for the draft."""

    def __init__(self, taken: Callable[[], None]) -> None:
        """``taken`` is called when a row is clicked; the composer handles the keys."""
        super().__init__(id="popup", markup=False, compact=True)
        self._taken = taken
        self._rows: Sequence[Completion] = ()
        self._fitted = (WIDEST, MARGIN, 4)
        self.display = False
        self.was_moved = False
        """The user moved to the selected row."""

    @property
    def is_open(self) -> bool:
        return bool(self.display)

    def offer(self, rows: Sequence[Completion]) -> None:
        """Show these rows; hide the popup if there are none."""
        self._rows = rows[:MOST]
        self.clear_options()
        self.display = bool(self._rows)
        self.was_moved = False
        if self._rows:
            self.styles.height = min(ROWS, len(self._rows))
            self._draw()
            self.highlighted = 0

    def fit(self, area: Region, above: int) -> None:
        """Stand above the composer's text: within these columns of the screen, so many rows above its bottom."""
        wide = max(20, min(WIDEST, area.width - 2 * MARGIN))
        fitted = (wide, area.x + MARGIN, above)
        if fitted == self._fitted:
            return
        self._fitted = fitted
        self.styles.width = wide
        self.styles.offset = (area.x + MARGIN, -above)

    def _draw(self) -> None:
        room = self._fitted[0] - 2 - (1 if len(self._rows) > ROWS else 0)
        width = min(max(len(row.shown) for row in self._rows), max(12, room * 2 // 5))
        self.add_options([Option(_row(row, width, room)) for row in self._rows])

    def close(self) -> None:
        self.offer(())

    def move(self, step: int) -> None:
        """Select the next or previous row; wraps around."""
        if self._rows:
            self.was_moved = True
            self.highlighted = ((self.highlighted or 0) + step) % len(self._rows)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Take the clicked row."""
        event.stop()
        self._taken()

    def chosen(self) -> Completion | None:
        """The selected row."""
        if not self._rows or self.highlighted is None:
            return None
        return self._rows[self.highlighted]


def _row(row: Completion, width: int, room: int) -> Content:
    """One line: the completion and as much of its description as fits."""
    if not row.help:
        return Content.styled(one_line(row.shown, room), "$foreground")
    line = Content.styled(one_line(row.shown, width).ljust(width + 2), "$foreground")
    return line + Content.styled(one_line(row.help, max(0, room - width - 2)), "$quiet")
