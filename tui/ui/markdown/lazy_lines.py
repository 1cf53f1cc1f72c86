"""Parts below each other that are laid out only when visible; the others have a guessed height.

Callers request lines with ``lay_out`` first, which returns how far the visible lines moved because of wrong guesses
above them. A part that was laid out once keeps its true height even after its lines are dropped.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence

from tui.ui.markdown.runs import Line


class HeightIndex:
    """A Fenwick tree over heights: finding a line and changing a height take logarithmic time."""

    def __init__(self, heights: Iterable[int] = ()) -> None:
        self._heights = array("i")
        self._tree = array("i", [0])
        self.reset(heights)

    def __len__(self) -> int:
        return len(self._heights)

    def __iter__(self) -> Iterator[int]:
        return iter(self._heights)

    @property
    def total(self) -> int:
        return self.start_of(len(self._heights))

    def reset(self, heights: Iterable[int]) -> None:
        """Replace all heights, in linear time."""
        self._heights = array("i", heights)
        tree = array("i", [0])
        tree.extend(self._heights)
        for position in range(1, len(tree)):
            parent = position + (position & -position)
            if parent < len(tree):
                tree[parent] += tree[position]
        self._tree = tree

    def append(self, height: int) -> None:
        """Add one height at the end."""
        self._heights.append(height)
        position = len(self._heights)
        # The node covers its lowest set bit's worth of entries: itself and the nodes just before it.
        below, first = position - 1, position - (position & -position)
        while below > first:
            height += self._tree[below]
            below -= below & -below
        self._tree.append(height)

    def extend(self, heights: Sequence[int]) -> None:
        """Add heights at the end; many at once take linear time."""
        if len(heights) * 8 > len(self._heights):
            self.reset(self._heights + array("i", heights))
            return
        for height in heights:
            self.append(height)

    def pop(self) -> None:
        """Remove the last height."""
        self._heights.pop()
        self._tree.pop()

    def height_of(self, number: int) -> int:
        """The height of an entry."""
        return self._heights[number]

    def set_height(self, number: int, height: int) -> int:
        """Change a height; returns the difference."""
        change = height - self._heights[number]
        if change:
            self._heights[number] = height
            position = number + 1
            while position < len(self._tree):
                self._tree[position] += change
                position += position & -position
        return change

    def start_of(self, number: int) -> int:
        """The first line of an entry."""
        total = 0
        while number > 0:
            total += self._tree[number]
            number -= number & -number
        return total

    def find(self, line: int) -> tuple[int, int]:
        """The entry that contains a line, and the offset in it; past the end it is the last entry."""
        if not self._heights:
            return 0, 0
        position = 0
        left = line
        step = 1 << (len(self._heights).bit_length())
        while step:
            following = position + step
            if following < len(self._tree) and self._tree[following] <= left:
                position = following
                left -= self._tree[following]
            step >>= 1
        if position >= len(self._heights):
            last = len(self._heights) - 1
            return last, line - self.start_of(last)
        return position, left


KEPT = 400
"""Parts that keep their lines; the farthest are laid out again when they become visible."""
BLANK: Line = []
NOTHING: list[Line] = []

LinePosition = tuple[int, float]
"""A position that survives a change of width: a part, and the share of it above the position."""


class LazyLines:
    """Lines of parts; ``lay`` lays out one part."""

    def __init__(self, lay: Callable[[int], list[Line]]) -> None:
        self._lay = lay
        self._heights = HeightIndex()
        self._lines: dict[int, list[Line]] = {}
        self._true = bytearray()
        """For each part 1 if its height is not guessed."""
        self._near: tuple[int, int, list[Line]] = (0, 0, NOTHING)

    @property
    def total(self) -> int:
        """The number of lines, including guesses."""
        return self._heights.total

    @property
    def is_known(self) -> bool:
        """Whether no height is guessed."""
        return 0 not in self._true

    def reset(self, guesses: Iterable[int]) -> None:
        """Replace the parts, or their width."""
        self._heights.reset(guesses)
        self._lines = {}
        self._true = bytearray(len(self._heights))
        self._near = (0, 0, NOTHING)

    def extend(self, guesses: Sequence[int]) -> None:
        """Add parts at the end."""
        self._heights.extend(guesses)
        self._true.extend(bytes(len(guesses)))

    def put(self, lines: list[Line]) -> None:
        """Add a part that is already laid out."""
        self._heights.append(len(lines))
        self._true.append(1)
        self._keep(len(self._heights) - 1, lines)

    def forget(self, index: int, guess: int | None = None) -> None:
        """Lay a part out again when it is looked at: its content changed. Without a guess, it keeps its height."""
        self._lines.pop(index, None)
        self._true[index] = 0
        if guess is not None:
            self._heights.set_height(index, guess)
        self._near = (0, 0, NOTHING)

    def line(self, number: int) -> Line:
        start, end, lines = self._near
        if not start <= number < end:
            index, inside = self._heights.find(number)
            start, lines = number - inside, self.part(index)
            self._near = (start, start + len(lines), lines)
        return lines[min(number - start, len(lines) - 1)] if lines else BLANK

    def part(self, index: int) -> list[Line]:
        """The lines of one part."""
        lines = self._lines.get(index)
        if lines is None:
            lines = self._lay(index)
            self._keep(index, lines)
            if not self._true[index]:
                self._true[index] = 1
                if self._heights.set_height(index, len(lines)):
                    self._near = (0, 0, NOTHING)
        return lines

    def index_at(self, number: int) -> int:
        """The part that contains a line."""
        return self._heights.find(number)[0]

    def start_of(self, index: int) -> int:
        """The first line of a part."""
        return self._heights.start_of(index)

    def lay_out(self, first: int, last: int) -> int:
        """Lay out the parts of lines ``first`` to ``last``; returns by how many lines ``first`` moved down.

        A part across ``first`` keeps its lower end in place, because the lines below it have been seen.
        """
        moved = 0
        if not len(self._heights):
            return moved
        index, inside = self._heights.find(max(0, first))
        start = max(0, first) - inside
        while index < len(self._heights) and start < last + moved:
            before = self._heights.height_of(index)
            after = before
            if not self._true[index]:
                after = len(self.part(index))
                if start < first + moved:
                    moved = max(start - first, moved + after - before)
            start += after
            index += 1
        return moved

    def lay_out_end(self, count: int) -> None:
        """Lay out the parts of the last ``count`` lines."""
        index = len(self._heights) - 1
        while index >= 0 and count > 0:
            if not self._true[index]:
                self.part(index)
            count -= self._heights.height_of(index)
            index -= 1

    def all(self) -> list[Line]:
        return [line for index in range(len(self._heights)) for line in self.part(index)]

    def position_at(self, number: int) -> LinePosition:
        """The position of a line, independent of the width."""
        if not len(self._heights):
            return 0, 0.0
        index, inside = self._heights.find(number)
        return index, inside / max(1, self._heights.height_of(index))

    def line_at(self, position: LinePosition) -> int:
        """The line at a position."""
        index, share = position
        if index >= len(self._heights):
            return max(0, self.total - 1)
        height = len(self.part(index))
        return self._heights.start_of(index) + max(0, min(height - 1, int(share * height + 0.5)))

    def _keep(self, index: int, lines: list[Line]) -> None:
        self._lines[index] = lines
        if len(self._lines) > KEPT:
            for far in sorted(self._lines, key=lambda other: -abs(other - index))[: KEPT // 4]:
                del self._lines[far]
