"""Sheets with a search field above a list of results."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, TypeVar

from textual import events, on
from textual.widget import Widget
from textual.widgets import Input, OptionList

from tui.ui.dialogs.sheet import Sheet
from tui.ui.input.field import Field
from tui.ui.panels.row_list import STEPS, Row, RowList

R = TypeVar("R")

NARROW = 100
"""Columns below which nothing is shown beside the list."""


class SearchSheet(Sheet[R]):
    """Typing searches, arrows move, enter and clicks take a row. Subclasses define search and taking."""

    PLACEHOLDER: ClassVar[str] = ""
    HANDED_ON: ClassVar[frozenset[str]] = STEPS
    """Keys that move in the list instead of being typed; subclasses add more."""
    LIST_TAKES_FOCUS: ClassVar[bool] = False

    def __init__(self, query: str = "") -> None:
        super().__init__()
        self.query_text = query
        self.field = Field(self.PLACEHOLDER, value=query, handed_on=self.HANDED_ON)
        self.row_list = RowList(can_focus=self.LIST_TAKES_FOCUS)
        self._width = 0

    def inside(self) -> Sequence[Widget]:
        """Field above list."""
        return (self.field, self.row_list)

    def on_mount(self) -> None:
        """Search once the list has its width."""
        self.set_class(self.app.size.width < NARROW, "-narrow")
        self.field.focus()
        self.call_after_refresh(self.fill)

    def on_resize(self, event: events.Resize) -> None:
        """Refit the rows."""
        self.set_class(event.size.width < NARROW, "-narrow")
        self.call_after_refresh(self._refit)

    def _refit(self) -> None:
        """Rebuild the rows for the new width and keep the selection."""
        before, self._width = self._width, self.row_list.size.width
        if before not in (0, self._width):
            self.fill(self.row_list.chosen)

    @abstractmethod
    def fill(self, at: str | None = None) -> None:
        """Show the rows that match the query, with ``at`` selected."""

    @abstractmethod
    def take(self, key: str | None) -> None:
        """The user chose this row; None if nothing matches."""

    def typed(self, text: str) -> None:
        """The text in the field changed."""
        self.query_text = text
        self.fill()

    def pressed(self, key: str) -> None:
        """A handed-on key was pressed."""
        if key in STEPS:
            self.row_list.step(key)

    def entered(self, text: str) -> None:
        """Enter was pressed in the field."""
        self.take(self.row_list.chosen)

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        self.typed(event.value)

    @on(Field.Pressed)
    def _pressed(self, event: Field.Pressed) -> None:
        self.pressed(event.key)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        self.entered(event.value)

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        self.take(self.row_list.key_at(event.option_index))


class FilterSheet(SearchSheet[R]):
    """A filter over items in memory; the best match is selected."""

    SHAPE: ClassVar[str] = "-middle has-field"

    @abstractmethod
    def rows(self, query: str, width: int) -> Sequence[Row]:
        """Matching rows, best first."""

    @abstractmethod
    def total(self) -> int:
        """The number of rows without a query."""

    def fill(self, at: str | None = None) -> None:
        """Show matching rows, and the numbers of matches and of all rows."""
        rows = self.rows(self.query_text, max(10, self.row_list.size.width - 2))
        best = next((row.key for row in rows if row.key), None)
        self.row_list.show_rows(rows, at=best if at is None else at)
        self.note(f"{sum(bool(row.key) for row in rows)} of {self.total()}")
