"""A list of rows with a selection bar; rows are Content, so their text is never parsed as markup."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.strip import Strip
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from tui.domain.fast_dataclass import dataclass
from tui.ui.terminal.textual_private import option_at

if TYPE_CHECKING:
    from textual.app import App

PADDING = 1
"""Columns that the selected row's ground reaches beyond its text in a sheet, as in the style sheet."""


SWATCH = "■"
"""Shows a colour, in the selected row as well."""


def restyled(part: Segment, over: Style) -> Segment:
    """The same text with a style over its own."""
    return Segment(part.text, part.style + over if part.style is not None else over, part.control)


@dataclass(frozen=True, slots=True)
class Row:
    """One or several lines of a list; ``key`` identifies it, a row without a key is a heading."""

    key: str
    content: Content


REVERSED = Style(color="default", bgcolor="default", reverse=True, dim=False)
"""The selected row in reverse video, with all of its text in one colour."""


def has_reverse_bars(app: App[object]) -> bool:
    """Whether reverse video shows what is selected: without colours, and with a terminal's own, which may be any."""
    return app.no_color or bool(app.ansi_color)


class BarList(OptionList):
    """An option list whose selected row is readable in every theme, and also without colours."""

    def render_line(self, y: int) -> Strip:
        """Draw the selected row's text in the bar's colour: muted text would be unreadable there."""
        strip = super().render_line(y)
        line = self.scroll_offset.y + y
        if self.highlighted is None or option_at(self, line) != self.highlighted:
            return strip
        bar = self.get_component_rich_style("option-list--option-highlighted")
        over = Style(color=bar.color)
        if has_reverse_bars(self.app):
            over = REVERSED if bar.bold else Style()
        drawn = (part if part.text.strip(SWATCH) == "" else restyled(part, over) for part in strip)
        return Strip(drawn, strip.cell_length)

    @property
    def room(self) -> int:
        """Columns of a row's text in a sheet, with a scrollbar that may come."""
        return max(10, self.size.width - 2 * PADDING - 1)


class RowOption(Option):
    """A row of a list. Messages about it may be handled when the list has other rows: its number says nothing then."""

    def __init__(self, row: Row) -> None:
        super().__init__(row.content, disabled=not row.key)
        self.key = row.key


def key_of_row(option: Option) -> str:
    """The key of the row that a message is about."""
    assert isinstance(option, RowOption)
    return option.key


class RowList(BarList):
    """A list addressed by row keys."""

    def __init__(self, *, id: str | None = None, can_focus: bool = True) -> None:  # noqa: A002
        super().__init__(id=id, markup=False, compact=True)
        self.can_focus = can_focus
        self._rows: list[Row] = []

    def show_rows(self, rows: Sequence[Row], *, at: str | None = None) -> None:
        """Replace the rows; selects ``at``, else the same key as before, else the first row."""
        wanted = at if at is not None else self.chosen
        if [row.key for row in rows] == [row.key for row in self._rows]:
            for number, (row, old) in enumerate(zip(rows, self._rows, strict=True)):
                # Textual compares only the text.
                if row != old or row.content.spans != old.content.spans:
                    self.replace_option_prompt_at_index(number, row.content)
            self._rows = list(rows)
        else:
            self._rows = list(rows)
            self.clear_options()
            self.add_options([RowOption(row) for row in rows])
        self.select_key(wanted)

    def select_key(self, key: str | None) -> None:
        """Select this row, or the first selectable one."""
        indexes = [number for number, row in enumerate(self._rows) if row.key and row.key == key]
        first = [number for number, row in enumerate(self._rows) if row.key]
        self.highlighted = next(iter([*indexes, *first]), None)

    @property
    def chosen(self) -> str | None:
        """The key of the selected row."""
        if self.highlighted is None or self.highlighted >= len(self._rows):
            return None
        return self._rows[self.highlighted].key or None

    def step(self, key: str) -> None:
        """Move the bar for up, down, pageup, pagedown, home or end."""
        moves = {
            "up": self.action_cursor_up,
            "down": self.action_cursor_down,
            "pageup": self.action_page_up,
            "pagedown": self.action_page_down,
            "home": self.action_first,
            "end": self.action_last,
        }
        moves[key]()


STEPS = frozenset({"up", "down", "pageup", "pagedown"})
"""Keys that a field passes to the list beside it."""
