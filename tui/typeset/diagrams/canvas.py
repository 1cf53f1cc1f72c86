"""Cells on which lines meet: a cell knows its arms, and the character follows from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from tui.typeset.drawing import Drawing, Measure, Span

Point = tuple[int, int]
Arms = tuple[int, int, int, int]
"""The weights of the lines up, right, down and left: none, light or heavy."""

LINES = " ╴╸╷┐┑╻┒┓╶─╾┌┬┭┎┰┱╺╼━┍┮┯┏┲┳╵┘┙│┤┥╽┧┪└┴┵├┼┽┟╁╅┕┶┷┝┾┿┢╆╈╹┚┛╿┦┩┃┨┫┖┸┹┞╀╃┠╂╉┗┺┻┡╄╇┣╊╋"
"""The characters in the order of their arms, read as a number in base three."""
NO_ARMS: Arms = (0, 0, 0, 0)
FRAME_ARMS: dict[str, Arms] = {"┄": (0, 1, 0, 1), "┊": (1, 0, 1, 0)}
DOTS = {"─": "╌", "│": "╎"}


def line_character(arms: Arms) -> str:
    up, right, down, left = arms
    return LINES[27 * up + 9 * right + 3 * down + left]


def strokes(points: Sequence[Point], weight: int = 1) -> dict[Point, Arms]:
    """The cells of a line through points, each on a row or column with the one before it."""
    cells: dict[Point, Arms] = {}
    for (x1, y1), (x2, y2) in pairwise(points):
        dx, dy = (x2 > x1) - (x2 < x1), (y2 > y1) - (y2 < y1)
        x, y = x1, y1
        while (x, y) != (x2, y2):
            _add(cells, (x, y), dx, dy, weight)
            x, y = x + dx, y + dy
            _add(cells, (x, y), -dx, -dy, weight)
    return cells


def _add(cells: dict[Point, Arms], point: Point, dx: int, dy: int, weight: int) -> None:
    arms = list(cells.get(point, NO_ARMS))
    side = 0 if dy < 0 else 1 if dx > 0 else 2 if dy > 0 else 3
    arms[side] = weight
    cells[point] = (arms[0], arms[1], arms[2], arms[3])


def joined(first: Arms, second: Arms) -> Arms:
    up, right, down, left = map(max, first, second)
    return up, right, down, left


def _count(arms: Arms) -> int:
    return 4 - arms.count(0)


class Canvas:
    """Texts over lines over frames."""

    def __init__(self, measure: Measure) -> None:
        self.measure = measure
        self._arms: dict[Point, Arms] = {}
        self._roles: dict[Point, str] = {}
        self._dotted: set[Point] = set()
        self._doubled: set[Point] = set()
        self._under: dict[Point, tuple[str, str]] = {}
        self._texts: dict[int, list[tuple[int, str, str]]] = {}

    def text(self, x: int, y: int, text: str, role: str = "") -> None:
        if text:
            self._texts.setdefault(y, []).append((x, text, role))

    def under(self, x: int, y: int, text: str, role: str) -> None:
        """Characters of one column each, over which lines are drawn."""
        for number, character in enumerate(text):
            self._under[x + number, y] = (character, role)

    def border(self, cells: dict[Point, Arms], role: str = "border", *, doubled: bool = False) -> None:
        """The outline of a box; edges that end on it are joined to it."""
        if doubled:
            self._doubled |= set(cells)
        for point, arms in cells.items():
            self._arms[point] = joined(self._arms.get(point, NO_ARMS), arms)
            self._roles[point] = role

    def edge(self, cells: dict[Point, Arms], role: str = "edge", *, dotted: bool = False) -> None:
        """A line that is joined to what is at its ends, and crosses others: there the horizontal one is interrupted."""
        for point, arms in cells.items():
            before = self._arms.get(point, NO_ARMS)
            if self._roles.get(point) == "border" or 1 in (_count(before), _count(arms)):
                self._arms[point] = joined(before, arms)
            elif before == NO_ARMS or (arms[0] and arms[2]):
                self._arms[point] = arms
                self._dotted.discard(point)
            else:
                continue
            self._roles.setdefault(point, role)
            if dotted and self._roles[point] == role:
                self._dotted.add(point)

    def drawing(self, width: int = 0) -> Drawing:
        """What was drawn, in rows of equal width."""
        texts = [(x, y, text, role) for y, row in self._texts.items() for x, text, role in row]
        points = [*self._arms, *self._under]
        rights = [x + self.measure(text) for x, _, text, _ in texts] + [x + 1 for x, _ in points]
        right = max(rights, default=0)
        height = max([y for _, y, _, _ in texts] + [y for _, y in points], default=-1) + 1
        rows: list[list[tuple[int, str, str]]] = [[] for _ in range(height)]
        covered = {(x + n, y) for x, y, text, _ in texts for n in range(self.measure(text))}
        for x, y, text, role in texts:
            rows[y].append((x, text, role))
        for (x, y), arms in self._arms.items():
            if (x, y) not in covered:
                if _count(arms) == 1 and (x, y) in self._under:
                    arms = joined(arms, FRAME_ARMS.get(self._under[x, y][0], NO_ARMS))
                character = line_character(arms)
                if (x, y) in self._dotted:
                    character = DOTS.get(character, character)
                elif (x, y) in self._doubled and character == "─":
                    character = "═"
                rows[y].append((x, character, self._roles[x, y]))
        for (x, y), (character, role) in self._under.items():
            if (x, y) not in covered and (x, y) not in self._arms:
                rows[y].append((x, character, role))
        right = max(right, width)
        return Drawing(tuple(self._row(sorted(row), right) for row in rows), right)

    def _row(self, parts: Iterable[tuple[int, str, str]], width: int) -> tuple[Span, ...]:
        spans: list[Span] = []
        at = 0
        for x, text, role in parts:
            if x > at:
                _append(spans, " " * (x - at), "")
            _append(spans, text, role)
            at = x + self.measure(text)
        if at < width:
            _append(spans, " " * (width - at), "")
        return tuple(spans)


def _append(spans: list[Span], text: str, role: str) -> None:
    if spans and spans[-1].role == role:
        spans[-1] = Span(spans[-1].text + text, role)
    else:
        spans.append(Span(text, role))
