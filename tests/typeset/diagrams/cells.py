"""A drawing as cells, as a terminal shows it."""

from __future__ import annotations

import unicodedata

from tui.typeset.diagrams.canvas import LINES
from tui.typeset.drawing import Drawing
from tui.ui.graphemes import clusters
from tui.ui.markdown.runs import width_of

UP, RIGHT, DOWN, LEFT = (0, -1), (1, 0), (0, 1), (-1, 0)
SIDES = (UP, RIGHT, DOWN, LEFT)
MARKS = {mark: name for name, marks in {
    "arrow": "▲►▼◄", "triangle": "△▷▽◁", "circle": "○", "cross": "×", "full diamond": "◆",
}.items() for mark in marks}  # fmt: skip
FRAME, POINTS = frozenset("┄┊"), frozenset("●◉◇")
"""Outlines of groups, and boxes of one cell."""
OUTLINE = frozenset("╭╮╰╯╱╲╓╖╙╜║═")
"""Parts of the outlines of boxes that are no lines."""
Place = tuple[int, int]


def arms_of(character: str) -> frozenset[Place]:
    if not character:
        return frozenset()
    if character in "─╌━":
        return frozenset((LEFT, RIGHT))
    if character in "│╎┃":
        return frozenset((UP, DOWN))
    at = LINES.find(character)
    if at <= 0:
        return frozenset()
    weights = (at // 27, at // 9 % 3, at // 3 % 3, at % 3)
    return frozenset(side for side, weight in zip(SIDES, weights, strict=True) if weight)


def style_of(character: str) -> str:
    """The style of a line that shows in this cell; the bends of a dotted line are solid."""
    at = LINES.find(character)
    heavy = at > 0 and 2 in (at // 27, at // 9 % 3, at // 3 % 3, at % 3)
    return "dotted" if character in "╌╎" else "thick" if heavy else ""


class Cells:
    def __init__(self, drawing: Drawing) -> None:
        self.rows: list[list[str]] = []
        for row in drawing.rows:
            cells: list[str] = []
            for cluster, width in clusters("".join(span.text for span in row)):
                cells.extend([cluster] + [""] * (width - 1))
            self.rows.append(cells)
        self.height = len(self.rows)
        self.width = max(map(len, self.rows), default=0)

    def __getitem__(self, place: Place) -> str:
        x, y = place
        if 0 <= y < self.height and 0 <= x < len(self.rows[y]):
            return self.rows[y][x]
        return " "

    def arms(self, place: Place) -> frozenset[Place]:
        return arms_of(self[place])

    def is_text(self, place: Place) -> bool:
        """A letter or the second half of a wide one, not a line, a mark or a part of an outline."""
        cell = self[place]
        if cell == "":
            return True
        return cell != " " and not self.arms(place) and cell not in MARKS and cell not in FRAME | POINTS | OUTLINE

    def text(self, x: int, y: int, width: int) -> str:
        return "".join(self[x + n, y] for n in range(width))


def is_equally_wide(drawing: Drawing) -> bool:
    return {width_of("".join(span.text for span in row)) for row in drawing.rows} <= {drawing.width}


def words(text: str) -> str:
    """A text without the blanks and breaks that wrapping may change."""
    return "".join(unicodedata.normalize("NFC", text).split())


def moved(place: Place, by: Place) -> Place:
    return place[0] + by[0], place[1] + by[1]
