"""The summary that goes in place of folded turns; the turns themselves stay where they are, above it."""

from __future__ import annotations

from tui.ui.markdown.document import lay_markdown
from tui.ui.markdown.runs import Line, Run
from tui.ui.transcript.blocks import Drawn


class Summary(Drawn):
    """One line that opens to the words that are sent."""

    foldable = True

    def __init__(self, words: str) -> None:
        self._words = words
        self._open = False
        self._lines: list[Line] = []
        self._laid: tuple[int, bool] = (0, False)

    def height(self, width: int) -> int:
        """One, or all of it."""
        if self._laid != (width, self._open):
            self._laid = (width, self._open)
            mark, verb = ("▾", "") if self._open else ("▸", "  space opens it")
            self._lines = [[Run(f"{mark} The summary that is sent instead{verb}"[:width], "muted")]]
            if self._open:
                self._lines.extend([Run("┊ ", "muted"), *line] for line in lay_markdown(self._words, max(1, width - 2)))
        return len(self._lines)

    def line(self, number: int) -> Line:
        """One of them."""
        return self._lines[number]

    def estimate(self, width: int) -> int:
        """Closed until somebody opens it."""
        return 1

    def text(self) -> str:
        """As it is sent."""
        return self._words

    def fold(self) -> None:
        """Open or close."""
        self._open = not self._open
