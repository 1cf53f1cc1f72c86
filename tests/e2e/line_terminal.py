"""A terminal on which nothing may be rewritten: every cell is written once, from top to bottom."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pyte

from tests.e2e.terminal import Terminal, environment
from tests.patience import PATIENCE_S

PONDER = [sys.executable, "-m", "tui", "--linear"]
COLUMNS, ROWS = 100, 900


class AppendOnly(pyte.Screen):
    """A screen that only grows at its end."""

    is_watched = False
    """Whether it is the program that writes: pyte itself uses some of these methods to begin."""

    def draw(self, data: str) -> None:
        for character in data:
            row, column = self.cursor.y, self.cursor.x
            if column < self.columns and self.buffer[row][column].data != " ":
                raise AssertionError(f"row {row} was rewritten at column {column} by {data!r}")
            super().draw(character)

    def linefeed(self) -> None:
        super().linefeed()
        assert self.cursor.y < self.lines - 1, "the test says more than its screen has rows"


def _never(name: str) -> Any:
    inherited = getattr(pyte.Screen, name)

    def method(self: AppendOnly, *arguments: Any, **named: Any) -> Any:
        assert not self.is_watched, f"{name} was used"
        return inherited(self, *arguments, **named)

    return method


for _name in (
    *("backspace", "cursor_back", "cursor_forward", "cursor_position"),
    *("cursor_to_column", "cursor_to_line", "cursor_up", "cursor_up1", "delete_characters", "delete_lines"),
    *("erase_characters", "erase_in_display", "erase_in_line", "insert_characters", "insert_lines", "reverse_index"),
    *("restore_cursor", "save_cursor", "select_graphic_rendition", "set_margins", "set_title", "tab"),
):
    setattr(AppendOnly, _name, _never(_name))


class LineTerminal(Terminal):
    """The program line by line; what was said is looked at once, in order."""

    def __init__(self, home: Path, *options: str, term: str = "dumb", **more: str) -> None:
        self._at = 0
        around = environment(home, TERM=term, COLORTERM="", **more)
        super().__init__([*PONDER, *options], around, size=(COLUMNS, ROWS), screen=AppendOnly)
        assert isinstance(self.screen, AppendOnly)
        self.screen.is_watched = True

    @property
    def said(self) -> str:
        """All that was written, in lines."""
        return self.raw.decode("utf-8", "replace").replace("\r\n", "\n")

    def hear(self, words: str, patience: float = PATIENCE_S) -> str:
        """Read until these words come after what was heard before; what was said up to them."""
        self.until(lambda: words in self.said[self._at :], f"«{words}»", patience)
        begin, self._at = self._at, self.said.index(words, self._at) + len(words)
        return self.said[begin : self._at]

    def enter(self, line: str) -> None:
        """Type a line and press enter."""
        os.write(self.master, f"{line}\n".encode())

    def ask(self, line: str) -> str:
        """Enter a line at the prompt, and hear everything up to the next prompt."""
        self.hear("you> ")
        self.enter(line)
        begin = self._at
        self.hear("\nyou> ")
        self._at -= len("you> ")
        return self.said[begin : self._at]
