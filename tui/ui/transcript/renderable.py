"""What a block of a section can be asked; long ones lay out only what is looked at."""

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
    """The column that lines of code begin with where they are cut; None where they are wrapped."""

    def height(self, width: int) -> int:
        """Lines at this width; ``line`` then gives them."""
        raise NotImplementedError

    def line(self, number: int) -> Line:
        """One line at the width last asked for."""
        raise NotImplementedError

    def estimate(self, width: int) -> int:
        """A cheap guess at the height, for what is not seen yet."""
        return self.height(width)

    def text(self) -> str:
        """Its words, for copying and finding."""
        return ""

    def fold(self) -> None:
        """Show the next amount of it."""

    def rest(self) -> None:
        """It is far away: the layout may go."""

    # A long block guesses most of its height.

    def reach(self, first: int, last: int) -> int:
        """Make the lines from ``first`` to ``last`` true; by how many lines ``first`` stands lower now."""
        return 0

    def reach_end(self, count: int) -> None:
        """Make the last lines true."""

    def mark(self, number: int) -> Mark | None:
        """Where a line is, whatever the width; None where a share of the height says as much."""
        return None

    def line_at(self, mark: Mark) -> int:
        """The line of a mark now."""
        return 0

    def count(self, wanted: SearchTerms) -> int:
        """How often it occurs in the block, shown or folded away."""
        return count_in_markdown(wanted, self.text()) if self.is_markdown else len(wanted.spans(self.text()))

    def find(self, wanted: SearchTerms, number: int, width: int) -> Found:
        """The occurrence with this number, or the nearest before it that can be pointed at."""
        found = occurrences(wanted, [self.line(line) for line in range(self.height(width))])
        return found[min(number, len(found) - 1)] if found else Found(0)


def estimated_lines(text: str, width: int) -> int:
    """About how many lines a text takes."""
    return text.count("\n") + len(text) // max(1, width) + 1
