"""Search in what was asked before; the chosen prompt goes into the composer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, OptionList

from tui.domain.printable import one_line
from tui.ui.fuzzy import best
from tui.ui.screens.sheet import Keys, Sheet
from tui.ui.widgets.field import Field
from tui.ui.widgets.row_list import STEPS, Row, RowList

MOST = 200


class HistorySearch(Sheet[str]):
    """Gives the chosen prompt."""

    TITLE_WORDS = "Earlier prompts"
    SHAPE: ClassVar[str] = "-middle has-field"
    KEYS: ClassVar[Keys] = (("up down", "move"), ("enter", "take it"))

    def __init__(self, prompts: Sequence[str]) -> None:
        super().__init__()
        self._prompts = list(dict.fromkeys(reversed(prompts)))

    def inside(self) -> Sequence[Widget]:
        """Filter over list."""
        self._field = Field("search what you asked", handed_on=STEPS)
        self._list = RowList(can_focus=False)
        return (self._field, self._list)

    def on_mount(self) -> None:
        """The newest first."""
        self._field.focus()
        self.call_after_refresh(self._fill)

    def _fill(self) -> None:
        places = best(self._field.value, range(len(self._prompts)), lambda place: self._prompts[place][:2_000])
        width = max(10, self._list.size.width - 3)
        rows = [Row(str(place), Content(one_line(self._prompts[place], width))) for place in places[:MOST]]
        self._list.show_rows(rows, at=rows[0].key if rows else None)
        self.note(f"{len(places)} of {len(self._prompts)}")

    def _take(self, key: str | None) -> None:
        self.dismiss(self._prompts[int(key)] if key else None)

    @on(Input.Changed)
    def _typed(self) -> None:
        self._fill()

    @on(Field.Pressed)
    def _pressed(self, event: Field.Pressed) -> None:
        self._list.step(event.key)

    @on(Input.Submitted)
    def _entered(self) -> None:
        self._take(self._list.chosen)

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        self._take(self._list.key_at(event.option_index))
