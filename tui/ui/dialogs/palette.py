"""The command palette: all commands with their keys, filtered as the user types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.content import Content

from tui.commands.keymap import key_words
from tui.commands.registry import Command, by_need
from tui.domain.printable import one_line
from tui.ui.dialogs.filter_sheet import FilterSheet
from tui.ui.dialogs.sheet import Keys
from tui.ui.fuzzy import best
from tui.ui.panels.row_list import Row

TITLE, KEY = 27, 14
"""Columns of the command's name and of its key."""


class Palette(FilterSheet[str]):
    """Gives the id of the chosen command."""

    TITLE_WORDS = "Commands"
    KEYS: ClassVar[Keys] = (("up down", "move"), ("enter", "run"))
    PLACEHOLDER = "what do you want to do?"

    def _offered(self) -> list[Command]:
        offered = (command for command in self.ponder.registry if command.palette)
        return by_need(offered, busy=self.ponder.chat.is_busy())

    def rows(self, query: str, width: int) -> Sequence[Row]:
        """Match names first; chapters only if no name matches as well."""
        found = best(query, self._offered(), lambda command: f"{command.title} /{command.slash} {command.group.value}")
        return [self._row(command, width) for command in found]

    def total(self) -> int:
        return len(self._offered())

    def take(self, key: str | None) -> None:
        self.dismiss(key)

    def _row(self, command: Command, width: int) -> Row:
        keys = self.ponder.keymap.get(command.id, ())
        key = key_words(keys[0]) if keys else ""
        slash = f"/{command.slash}" if command.slash else ""
        left = one_line(command.title, TITLE).ljust(TITLE + 1)
        room = max(0, width - len(left) - KEY - 2)
        words = command.help if room >= 30 else slash if key else ""
        middle = one_line(words, room).ljust(room)
        line = Content.styled(left, "$foreground") + Content.styled(middle + "  ", "$muted-text")
        return Row(
            command.id, line + Content.styled((key or slash).rjust(KEY), "bold $foreground" if key else "$muted-text")
        )


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
        """Count each prompt once."""
        return len(self._prompts)

    def take(self, key: str | None) -> None:
        self.dismiss(self._prompts[int(key)] if key else None)
