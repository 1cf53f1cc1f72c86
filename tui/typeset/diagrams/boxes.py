"""Boxes with their outlines and texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tui.typeset.diagrams.canvas import Canvas, strokes
from tui.typeset.diagrams.graph import Node, Shape
from tui.typeset.drawing import Measure

CORNERS = {
    Shape.ROUND: "╭╮╰╯",
    Shape.STADIUM: "╭╮╰╯",
    Shape.CYLINDER: "╭╮╰╯",
    Shape.CIRCLE: "╭╮╰╯",
    Shape.DOUBLE_CIRCLE: "╭╮╰╯",
    Shape.DIAMOND: "╱╲╲╱",
    Shape.HEXAGON: "╱╲╲╱",
    Shape.LEAN_RIGHT: "╱┐└╱",
    Shape.LEAN_LEFT: "┌╲╲┘",
    Shape.TRAPEZOID: "╱╲└┘",
    Shape.TRAPEZOID_UPSIDE_DOWN: "┌┐╲╱",
    Shape.SUBROUTINE: "╓╖╙╜",
    Shape.NOTE: "┌╮└┘",
}
"""Upper left, upper right, lower left, lower right."""
SIDES = {
    Shape.STADIUM: "()",
    Shape.CIRCLE: "()",
    Shape.DOUBLE_CIRCLE: "()",
    Shape.DIAMOND: "<>",
    Shape.SUBROUTINE: "║║",
    Shape.FLAG: "> ",
}
"""Characters in place of the vertical lines; on a diamond only in the middle row."""
SMALL = {Shape.START: "●", Shape.END: "◉", Shape.CHOICE: "◇"}
LABEL_WIDTHS = (30, 20, 14)
"""Columns of labels; the first is used if the diagram fits."""


def wrapped(text: str, columns: int, measure: Measure) -> list[str]:
    """The text in rows, broken at blanks; longer words are cut."""
    rows: list[str] = []
    for line in text.split("\n"):
        row = ""
        for word in line.split():
            longer = f"{row} {word}" if row else word
            if measure(longer) <= columns:
                row = longer
                continue
            if row:
                rows.append(row)
            *whole, row = _cut(word, columns, measure)
            rows.extend(whole)
        rows.append(row)
    while len(rows) > 1 and not rows[-1]:
        rows.pop()
    return rows


def _cut(word: str, columns: int, measure: Measure) -> list[str]:
    pieces: list[str] = []
    while measure(word) > columns + columns // 3:
        end = next((end for end in range(columns, 0, -1) if measure(word[:end]) <= columns), 1)
        # Not within a cluster: there the widths of the parts do not add up.
        while end > 1 and measure(word[:end]) + measure(word[end:]) != measure(word):
            end -= 1
        pieces.append(word[:end])
        word = word[end:]
    return [*pieces, word]


@dataclass(slots=True)
class Box:
    """A node as it is drawn; a loop of edges to itself is beside or below it."""

    node: Node
    rows: list[str]
    parts: list[list[str]]
    width: int
    height: int
    vertical: bool = True
    """Whether edges run up and down; it decides where bars lie and loops are."""

    @property
    def is_small(self) -> bool:
        return self.node.shape in SMALL and self.width == 1

    def draw(self, canvas: Canvas, x: int, y: int) -> None:
        if self.is_small:
            canvas.text(x, y, SMALL[self.node.shape], "node")
        elif self.node.shape is Shape.BAR:
            for row in range(self.height):
                canvas.text(x, y + row, ("━" if self.vertical else "┃") * self.width, "border")
        elif self.node.shape is Shape.TEXT:
            self._draw_rows(canvas, x, y + 1, self.rows, "node", centred=True)
        else:
            self._draw_outline(canvas, x, y)
            self._draw_texts(canvas, x, y)

    def _draw_outline(self, canvas: Canvas, x: int, y: int) -> None:
        right, bottom = x + self.width - 1, y + self.height - 1
        shape = self.node.shape
        outline = strokes([(x, y), (right, y), (right, bottom), (x, bottom), (x, y)])
        canvas.border(outline, doubled=shape is Shape.DOUBLE_CIRCLE)
        places = ((x, y), (right, y), (x, bottom), (right, bottom))
        for (at, row), corner in zip(places, CORNERS.get(shape, ""), strict=False):
            canvas.text(at, row, corner, "border")
        if shape in SIDES:
            left_side, right_side = SIDES[shape][0], SIDES[shape][1]
            rows = [y + self.height // 2] if shape is Shape.DIAMOND else range(y + 1, bottom)
            for row in rows:
                canvas.text(x, row, left_side, "border")
                if right_side != " ":
                    canvas.text(right, row, right_side, "border")

    def _draw_texts(self, canvas: Canvas, x: int, y: int) -> None:
        lid = 1 if self.node.shape is Shape.CYLINDER else 0
        if lid:
            self._rule(canvas, x, y + 1)
        if not self.parts:
            spare = self.height - 2 - lid - len(self.rows)
            rows = [""] * (spare // 2) + self.rows
            self._draw_rows(canvas, x, y + 1 + lid, rows, "node", centred=self.node.shape is not Shape.NOTE)
            return
        at = y + 1
        self._draw_rows(canvas, x, at, self.rows, "title", centred=True)
        at += len(self.rows)
        for part in self.parts:
            self._rule(canvas, x, at)
            self._draw_rows(canvas, x, at + 1, part, "node", centred=False)
            at += 1 + len(part)

    def _rule(self, canvas: Canvas, x: int, y: int) -> None:
        canvas.border(strokes([(x, y), (x + self.width - 1, y)]))

    def _draw_rows(self, canvas: Canvas, x: int, y: int, rows: Sequence[str], role: str, *, centred: bool) -> None:
        for number, row in enumerate(rows):
            spare = self.width - canvas.measure(row)
            canvas.text(x + (spare // 2 if centred else 2), y + number, row, role)


def make_box(node: Node, columns: int, measure: Measure, *, vertical: bool, pins: int, loops: int) -> Box:
    """The box of a node, with room for a number of edges on one side."""
    if node.shape in SMALL and pins <= 1 and not node.label and not loops:
        return Box(node, [], [], 1, 1, vertical)
    if node.shape is Shape.BAR:
        length = 2 * max(pins, 3) + 3
        return Box(node, [], [], *((length, 1) if vertical else (1, length)), vertical)
    rows = wrapped(node.label or SMALL.get(node.shape, ""), columns, measure)
    parts = [list(part) for part in node.parts]
    room = 2 if node.shape is not Shape.HEXAGON else 3
    width = max((measure(row) for row in [*rows, *(row for part in parts for row in part)]), default=0) + 2 * room
    height = len(rows) + 2 + sum(1 + len(part) for part in parts) + (node.shape is Shape.CYLINDER)
    if vertical:
        # Odd widths have a middle column, so that edges between centred boxes are straight.
        width = max(width | 1, 2 * pins + 3)
    else:
        height = max(height, pins + 2)
        if node.shape is Shape.DIAMOND:
            height |= 1
    if loops:
        height, width = max(height, 2 + 3 * loops if vertical else 3), max(width, 9)
    return Box(node, rows, parts, max(width, 5), height, vertical)
