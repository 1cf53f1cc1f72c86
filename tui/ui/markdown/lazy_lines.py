"""Parts below each other, of which only those that are looked at are laid out; the others have a guessed height.

Whoever shows lines asks for them with ``reach`` first and is told how far what it shows has moved by guesses above it
that were wrong. What was laid out once keeps its true height even when its lines are let go.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence

from tui.ui.markdown.runs import Line


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


KEPT = 400
"""Parts that keep their lines; the farthest are laid out again when they are seen again."""
BLANK: Line = []
NOTHING: list[Line] = []

Mark = tuple[int, float]
"""A place that outlives a change of width: a part, and how much of it lies above."""


class LazyLines:
    """Lines of parts; ``lay`` makes those of one of them."""

    def __init__(self, lay: Callable[[int], list[Line]]) -> None:
        self._lay = lay
        self._heights = HeightIndex()
        self._lines: dict[int, list[Line]] = {}
        self._true = bytearray()
        """For each part 1 where its height is not guessed."""
        self._near: tuple[int, int, list[Line]] = (0, 0, NOTHING)

    @property
    def total(self) -> int:
        """Lines in all, as far as is known."""
        return self._heights.total

    @property
    def is_known(self) -> bool:
        """Whether nothing is guessed."""
        return 0 not in self._true

    def reset(self, guesses: Iterable[int]) -> None:
        """Other parts, or another width."""
        self._heights.reset(guesses)
        self._lines = {}
        self._true = bytearray(len(self._heights))
        self._near = (0, 0, NOTHING)

    def extend(self, guesses: Sequence[int]) -> None:
        """More parts at the end."""
        self._heights.extend(guesses)
        self._true.extend(bytes(len(guesses)))

    def put(self, lines: list[Line]) -> None:
        """One more part, laid out already."""
        self._heights.append(len(lines))
        self._true.append(1)
        self._keep(len(self._heights) - 1, lines)

    def line(self, number: int) -> Line:
        """One line."""
        start, end, lines = self._near
        if not start <= number < end:
            place, inside = self._heights.find(number)
            start, lines = number - inside, self.part(place)
            self._near = (start, start + len(lines), lines)
        return lines[min(number - start, len(lines) - 1)] if lines else BLANK

    def part(self, place: int) -> list[Line]:
        """The lines of one part."""
        lines = self._lines.get(place)
        if lines is None:
            lines = self._lay(place)
            self._keep(place, lines)
            if not self._true[place]:
                self._true[place] = 1
                if self._heights.set_height(place, len(lines)):
                    self._near = (0, 0, NOTHING)
        return lines

    def start_of(self, place: int) -> int:
        """The line a part begins on."""
        return self._heights.start_of(place)

    def reach(self, first: int, last: int) -> int:
        """Lay out what the lines from ``first`` up to ``last`` belong to; by how many lines ``first`` stands lower now.

        What lies across ``first`` is held by its lower end, where it meets what has been seen.
        """
        moved = 0
        if not len(self._heights):
            return moved
        place, inside = self._heights.find(max(0, first))
        start = max(0, first) - inside
        while place < len(self._heights) and start < last + moved:
            before = self._heights.height_of(place)
            after = before
            if not self._true[place]:
                after = len(self.part(place))
                if start < first + moved:
                    moved = max(start - first, moved + after - before)
            start += after
            place += 1
        return moved

    def reach_end(self, count: int) -> None:
        """Lay out what the last ``count`` lines belong to."""
        place = len(self._heights) - 1
        while place >= 0 and count > 0:
            if not self._true[place]:
                self.part(place)
            count -= self._heights.height_of(place)
            place -= 1

    def all(self) -> list[Line]:
        """Every line."""
        return [line for place in range(len(self._heights)) for line in self.part(place)]

    def mark(self, number: int) -> Mark:
        """Where a line is, whatever the width."""
        if not len(self._heights):
            return 0, 0.0
        place, inside = self._heights.find(number)
        return place, inside / max(1, self._heights.height_of(place))

    def line_at(self, mark: Mark) -> int:
        """The line of a mark now."""
        place, share = mark
        if place >= len(self._heights):
            return max(0, self.total - 1)
        height = len(self.part(place))
        return self._heights.start_of(place) + max(0, min(height - 1, int(share * height + 0.5)))

    def _keep(self, place: int, lines: list[Line]) -> None:
        self._lines[place] = lines
        if len(self._lines) > KEPT:
            for far in sorted(self._lines, key=lambda other: -abs(other - place))[: KEPT // 4]:
                del self._lines[far]
