"""The interface of a section's blocks; long ones lay out only visible lines."""

from __future__ import annotations

from enum import Enum
from typing import ClassVar

from tui.domain.search_terms import SearchTerms
from tui.ui.markdown.found import Found, count_in_markdown, occurrences
from tui.ui.markdown.lazy_lines import Mark
from tui.ui.markdown.runs import Line


class Fold(Enum):
    """How much of a block is shown."""

    FOLDED = "folded"
    PEEK = "peek"
    FULL = "full"

    @property
    def next(self) -> Fold:
        """What the next press shows."""
        order = list(Fold)
        return order[(order.index(self) + 1) % len(order)]


class Renderable:
    """One block of a section."""

    ground: ClassVar[str] = ""
    is_markdown: ClassVar[bool] = False
    space: int = 0
    """Empty lines above it."""
    foldable: bool = False
    sideways: int | None = None
    """The first visible column where lines of code are cut; None where they are wrapped."""

    def height(self, width: int) -> int:
        """Lines at this width; later calls of ``line`` use the same width."""
        raise NotImplementedError

    def line(self, number: int) -> Line:
        """One line at the width last given to ``height``."""
        raise NotImplementedError

    def estimate(self, width: int) -> int:
        """A cheap guess at the height of a block that was not seen yet."""
        return self.height(width)

    def text(self) -> str:
        """Its text, for copying and searching."""
        return ""

    def fold(self) -> None:
        """Show the next amount."""

    def rest(self) -> None:
        """Drop the layout: the block is far from the window."""

    # A long block guesses most of its height.

    def reach(self, first: int, last: int) -> int:
        """Lay out lines ``first`` to ``last``; returns by how many lines ``first`` moved down."""
        return 0

    def reach_end(self, count: int) -> None:
        """Lay out the last lines."""

    def mark(self, number: int) -> Mark | None:
        """The position of a line, independent of the width; None if the share of the height is exact enough."""
        return None

    def line_at(self, mark: Mark) -> int:
        """The line at a mark."""
        return 0

    def count(self, wanted: SearchTerms) -> int:
        """How often the terms occur in the block, shown or folded."""
        return count_in_markdown(wanted, self.text()) if self.is_markdown else len(wanted.spans(self.text()))

    def find(self, wanted: SearchTerms, number: int, width: int) -> Found:
        """The occurrence with this number, or the nearest before it that can be pointed at."""
        found = occurrences(wanted, [self.line(line) for line in range(self.height(width))])
        return found[min(number, len(found) - 1)] if found else Found(0)


def estimated_lines(text: str, width: int) -> int:
    """About how many lines a text takes."""
    return text.count("\n") + len(text) // max(1, width) + 1
