"""A list of rows with a bar on one of them; rows are content, so nothing in them is markup."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.strip import Strip
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from tui.domain.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """A line (or several) of a list; ``key`` finds it again, a row without one is a heading."""

    key: str
    content: Content


class BarList(OptionList):
    """An option list whose bar can be read and seen in every theme, and where there are no colours."""

    def render_line(self, y: int) -> Strip:
        """Under the bar all words take the bar's own colour: muted ones could not be read there."""
        strip = super().render_line(y)
        line = self.scroll_offset.y + y
        if self.highlighted is None or line >= len(self._lines) or self._lines[line][0] != self.highlighted:
            return strip
        bar = self.get_component_rich_style("option-list--option-highlighted")
        # Without colours the bar of the list one is in is seen by swapping ground and letters.
        over = Style(reverse=bool(bar.bold)) if self.app.no_color else Style(color=bar.color)
        return Strip(Segment.apply_style(strip, post_style=over), strip.cell_length)


class RowList(BarList):
    """Rows by key."""

    def __init__(self, *, id: str | None = None, can_focus: bool = True) -> None:  # noqa: A002
        super().__init__(id=id, markup=False, compact=True)
        self.can_focus = can_focus
        self._rows: list[Row] = []

    def show_rows(self, rows: Sequence[Row], *, at: str | None = None) -> None:
        """Show these; the bar goes to ``at``, else stays on its key, else goes to the first."""
        wanted = at if at is not None else self.chosen
        if [row.key for row in rows] == [row.key for row in self._rows]:
            for number, (row, old) in enumerate(zip(rows, self._rows, strict=True)):
                if row != old:
                    self.replace_option_prompt_at_index(number, row.content)
            self._rows = list(rows)
        else:
            self._rows = list(rows)
            self.clear_options()
            self.add_options([Option(row.content, disabled=not row.key) for row in rows])
        self.put_bar(wanted)

    def put_bar(self, key: str | None) -> None:
        """On this row, or the first that can be chosen."""
        places = [number for number, row in enumerate(self._rows) if row.key and row.key == key]
        first = [number for number, row in enumerate(self._rows) if row.key]
        self.highlighted = next(iter([*places, *first]), None)

    @property
    def chosen(self) -> str | None:
        """The key of the row the bar is on."""
        if self.highlighted is None or self.highlighted >= len(self._rows):
            return None
        return self._rows[self.highlighted].key or None

    def key_at(self, number: int) -> str:
        """The key of a row by its place."""
        return self._rows[number].key

    def step(self, key: str) -> None:
        """What a key means for the bar: up, down, pageup, pagedown, home, end."""
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
"""Keys a field hands on to the list beside it."""
