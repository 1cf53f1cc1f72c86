"""The completion popup: rows above the composer, over the transcript, never pushing it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from tui.commands.parse import Completion
from tui.domain.printable import one_line
from tui.ui.panels.row_list import BarList

MOST = 50
ROWS = 9
WIDEST = 100
MARGIN = 2
"""Columns left free at either side."""


class Popup(BarList, can_focus=False):
    """What the draft could become."""

    def __init__(self, taken: Callable[[], None]) -> None:
        """``taken`` is told when a row is clicked; the keys are the composer's."""
        super().__init__(id="popup", markup=False, compact=True)
        self._taken = taken
        self._rows: Sequence[Completion] = ()
        self._place = (WIDEST, 4)
        self.display = False

    @property
    def is_open(self) -> bool:
        """Whether it is seen."""
        return bool(self.display)

    def offer(self, rows: Sequence[Completion]) -> None:
        """Show these, or nothing."""
        self._rows = rows[:MOST]
        self.clear_options()
        self.display = bool(self._rows)
        if self._rows:
            self.styles.height = min(ROWS, len(self._rows))
            self._draw()
            self.highlighted = 0

    def place(self, width: int, above: int) -> None:
        """Where it stands: so wide, and so many rows above the foot of the screen."""
        wide = max(20, min(WIDEST, width - 2 * MARGIN))
        if (wide, above) == self._place:
            return
        self._place = (wide, above)
        self.styles.width = wide
        self.styles.offset = (MARGIN, -above)

    def _draw(self) -> None:
        room = self._place[0] - 2 - (1 if len(self._rows) > ROWS else 0)
        width = min(max(len(row.shown) for row in self._rows), max(12, room * 2 // 5))
        self.add_options([Option(_row(row, width, room)) for row in self._rows])

    def close(self) -> None:
        """Hide."""
        self.offer(())

    def move(self, step: int) -> None:
        """To the next or previous row, round the ends."""
        if self._rows:
            self.highlighted = ((self.highlighted or 0) + step) % len(self._rows)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A click."""
        event.stop()
        self._taken()

    def chosen(self) -> Completion | None:
        """The row the bar is on."""
        if not self._rows or self.highlighted is None:
            return None
        return self._rows[self.highlighted]


def _row(row: Completion, width: int, room: int) -> Content:
    """One line, whatever stands in it: the word, and as much of its meaning as fits."""
    if not row.help:
        return Content.styled(one_line(row.shown, room), "$foreground")
    line = Content.styled(one_line(row.shown, width).ljust(width + 2), "$foreground")
    return line + Content.styled(one_line(row.help, max(0, room - width - 2)), "$muted-text")
