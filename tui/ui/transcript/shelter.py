"""What stands in the place of a block that cannot be laid out: its words as they came, in the plainest lines.

One message nobody foresaw must never take the whole program down.
"""

from __future__ import annotations

from tui.domain.printable import printable
from tui.ui.markdown.runs import Line, Run
from tui.ui.transcript.blocks import Drawn

HEAD = "⚠ this could not be laid out; as it came:"


class Raw(Drawn):
    """The words of another block. Nothing in here wraps, measures or parses: whatever raised is not asked again."""

    def __init__(self, words: str, space: int = 0) -> None:
        self._rows = printable(words).split("\n")
        self.space = space
        self._lines: list[Line] = []
        self._width = 0

    def height(self, width: int) -> int:
        """Cut at the width; half of it where a character may take two columns."""
        if width != self._width:
            self._width = width
            self._lines = [[Run(HEAD[:width], "warning")]]
            for row in self._rows:
                step = max(1, width if row.isascii() else width // 2)
                self._lines.extend([Run(row[at : at + step])] for at in range(0, max(1, len(row)), step))
        return len(self._lines)

    def line(self, number: int) -> Line:
        """One of them; none where the block it replaces was taller."""
        return self._lines[number] if number < len(self._lines) else []

    def text(self) -> str:
        """As it came."""
        return "\n".join(self._rows)
