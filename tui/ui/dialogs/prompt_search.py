"""Search in what was asked before; the chosen prompt goes into the composer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.content import Content

from tui.domain.printable import one_line
from tui.ui.dialogs.filter_sheet import FilterSheet
from tui.ui.dialogs.sheet import Keys
from tui.ui.fuzzy import best
from tui.ui.panels.row_list import Row

MOST = 200
LOOKED_AT = 2_000
"""Characters of a prompt that are searched."""


class HistorySearch(FilterSheet[str]):
    """Gives the chosen prompt."""

    TITLE_WORDS = "Earlier prompts"
    KEYS: ClassVar[Keys] = (("up down", "move"), ("enter", "take it"))
    PLACEHOLDER = "search what you asked"

    def __init__(self, prompts: Sequence[str]) -> None:
        super().__init__()
        self._prompts = list(dict.fromkeys(reversed(prompts)))

    def rows(self, query: str, width: int) -> Sequence[Row]:
        """The newest first."""
        places = best(query, range(len(self._prompts)), lambda place: self._prompts[place][:LOOKED_AT])
        return [Row(str(place), Content(one_line(self._prompts[place], width))) for place in places[:MOST]]

    def total(self) -> int:
        """Each prompt once."""
        return len(self._prompts)

    def take(self, key: str | None) -> None:
        """Into the composer."""
        self.dismiss(self._prompts[int(key)] if key else None)
