"""The completion popup: rows above the composer, over the transcript, never pushing it."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from tui.commands.parse import Completion
from tui.domain.printable import one_line

MOST = 50
ROWS = 9


class Popup(OptionList, can_focus=False):
    """What the draft could become."""

    def __init__(self) -> None:
        super().__init__(id="popup", markup=False, compact=True)
        self._rows: Sequence[Completion] = ()
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
            width = max(len(row.shown) for row in self._rows)
            self.add_options([Option(_row(row, min(width, 40))) for row in self._rows])
            self.highlighted = 0
            self.styles.height = min(ROWS, len(self._rows))

    def close(self) -> None:
        """Hide."""
        self.offer(())

    def move(self, step: int) -> None:
        """To the next or previous row, round the ends."""
        if self._rows:
            self.highlighted = ((self.highlighted or 0) + step) % len(self._rows)

    def chosen(self) -> Completion | None:
        """The row the bar is on."""
        if not self._rows or self.highlighted is None:
            return None
        return self._rows[self.highlighted]


def _row(row: Completion, width: int) -> Content:
    shown = one_line(row.shown, 60)
    line = Content.styled(shown.ljust(width + 2), "$foreground")
    return line + Content.styled(one_line(row.help, 90), "$muted-text") if row.help else line
