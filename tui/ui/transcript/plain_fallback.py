"""The plainest drawing of a block whose layout raised an error: its text as received.

An error in one message must never end the program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.domain.printable import printable
from tui.domain.stream import BlockFinished, StreamEvent, TextDelta, ThinkingDelta, ToolArgsDelta
from tui.ui.markdown.runs import Line, Run
from tui.ui.transcript.blocks import Renderable

if TYPE_CHECKING:
    from tui.ui.transcript.section import Section

HEAD = "⚠ this could not be laid out; as it came:"


class PlainText(Renderable):
    """The text of another block. It does not wrap, measure or parse, because one of these may have raised."""

    def __init__(self, text: str, space: int = 0) -> None:
        self._rows = printable(text).split("\n")
        self.space = space
        self._lines: list[Line] = []
        self._width = 0
        self._cut = 0
        """Rows whose lines are made; the last one may still grow and is always cut again."""
        self._kept = 0
        """Lines of those rows."""
        self._grown = True

    def append(self, text: str) -> None:
        """Add text."""
        first, *others = printable(text).split("\n")
        self._rows[-1] += first
        self._rows.extend(others)
        self._grown = True

    def height(self, width: int) -> int:
        """Cut at the width, or at half of it where a character may take two columns."""
        if width != self._width:
            self._width, self._cut = width, 0
            self._lines = [[Run(HEAD[:width], "warning")]]
            self._kept = 1
        elif not self._grown:
            return len(self._lines)
        self._grown = False
        del self._lines[self._kept :]
        for number in range(self._cut, len(self._rows)):
            row = self._rows[number]
            self._kept = len(self._lines)
            step = max(1, width if row.isascii() else width // 2)
            self._lines.extend([Run(row[at : at + step])] for at in range(0, max(1, len(row)), step))
        self._cut = len(self._rows) - 1
        return len(self._lines)

    def line(self, number: int) -> Line:
        """One line; empty where the replaced block was taller."""
        return self._lines[number] if number < len(self._lines) else []

    def text(self) -> str:
        return "\n".join(self._rows)


class PlainFallback:
    """An answer after an event that could not be drawn: only its text is shown."""

    def __init__(self, section: Section, text: str) -> None:
        self.section = section
        self._raw = PlainText(text, space=1)
        section.blocks[1:] = [self._raw]
        section.touch()

    def feed(self, event: StreamEvent) -> None:
        """Add the event's text."""
        if isinstance(event, TextDelta | ThinkingDelta | ToolArgsDelta):
            self._raw.append(event.text)
        elif isinstance(event, BlockFinished):
            self._raw.append("\n\n")

    def tick(self) -> bool:
        """No clock runs."""
        return False

    def abandon(self) -> None:
        """Nothing to change."""
