"""Heights of many things below each other: where does line N fall, where does thing K start. Both in log time."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence


class HeightIndex:
    """A Fenwick tree over heights."""

    def __init__(self, heights: Iterable[int] = ()) -> None:
        self._heights = array("q")
        self._tree = array("q", [0])
        self.reset(heights)

    def __len__(self) -> int:
        return len(self._heights)

    @property
    def total(self) -> int:
        """All heights together."""
        return self.start_of(len(self._heights))

    def reset(self, heights: Iterable[int]) -> None:
        """Begin anew with these heights, in linear time."""
        self._heights = array("q", heights)
        tree = array("q", [0])
        tree.extend(self._heights)
        for position in range(1, len(tree)):
            parent = position + (position & -position)
            if parent < len(tree):
                tree[parent] += tree[position]
        self._tree = tree

    def append(self, height: int) -> None:
        """One more, below the others."""
        self._heights.append(height)
        position = len(self._heights)
        # The node covers its lowest set bit's worth of entries: itself and the nodes just before it.
        self._tree.append(self._range(position))

    def extend(self, heights: Sequence[int]) -> None:
        """More below the others; many at once in linear time."""
        if len(heights) * 8 > len(self._heights):
            self.reset(self._heights + array("q", heights))
            return
        for height in heights:
            self.append(height)

    def _range(self, position: int) -> int:
        first = position - (position & -position)
        return self._heights[position - 1] + self.start_of(position - 1) - self.start_of(first)

    def pop(self) -> None:
        """Take the last one away."""
        self._heights.pop()
        self._tree.pop()

    def height_of(self, number: int) -> int:
        """The height of thing ``number``."""
        return self._heights[number]

    def set_height(self, number: int, height: int) -> int:
        """Change a height; the difference."""
        change = height - self._heights[number]
        if change:
            self._heights[number] = height
            position = number + 1
            while position < len(self._tree):
                self._tree[position] += change
                position += position & -position
        return change

    def start_of(self, number: int) -> int:
        """The line on which thing ``number`` starts."""
        total = 0
        while number > 0:
            total += self._tree[number]
            number -= number & -number
        return total

    def find(self, line: int) -> tuple[int, int]:
        """The thing a line falls into, and the line's place in it; past the end it is the last thing."""
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
