"""What a laid-out level of a graph consists of, in cells from its own corner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tui.typeset.diagrams.boxes import Box
from tui.typeset.diagrams.canvas import Canvas, Point, strokes
from tui.typeset.diagrams.graph import Direction, LineStyle, Mark

MARKS = {
    Mark.ARROW: "▲►▼◄",
    Mark.TRIANGLE: "△▷▽◁",
    Mark.CIRCLE: "○○○○",
    Mark.CROSS: "××××",
    Mark.FULL_DIAMOND: "◆◆◆◆",
    Mark.DIAMOND: "◇◇◇◇",
}
"""Pointing up, right, down, left."""
WEIGHTS = {LineStyle.THICK: 2}


@dataclass(slots=True)
class Frame:
    x: int
    y: int
    width: int
    height: int
    title: str = ""
    title_x: int = 2

    def draw(self, canvas: Canvas) -> None:
        right, bottom = self.x + self.width - 1, self.y + self.height - 1
        canvas.under(self.x, self.y, "┌" + "┄" * (self.width - 2) + "┐", "frame")
        canvas.under(self.x, bottom, "└" + "┄" * (self.width - 2) + "┘", "frame")
        for row in range(self.y + 1, bottom):
            canvas.under(self.x, row, "┊", "frame")
            canvas.under(right, row, "┊", "frame")
        if self.title:
            canvas.text(self.x + self.title_x, self.y, f" {self.title} ", "frame-title")


@dataclass(slots=True)
class Picture:
    width: int = 0
    height: int = 0
    boxes: list[tuple[int, int, Box]] = field(default_factory=list)
    lines: list[tuple[list[Point], LineStyle]] = field(default_factory=list)
    texts: list[tuple[int, int, str, str]] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    ports: dict[int, int] = field(default_factory=dict)
    """Where edges, by number, pass its frame, across their direction."""

    def include(self, other: Picture, dx: int, dy: int) -> None:
        self.boxes += [(x + dx, y + dy, box) for x, y, box in other.boxes]
        self.lines += [([(x + dx, y + dy) for x, y in points], style) for points, style in other.lines]
        self.texts += [(x + dx, y + dy, text, role) for x, y, text, role in other.texts]
        self.frames += [
            Frame(frame.x + dx, frame.y + dy, frame.width, frame.height, frame.title, frame.title_x)
            for frame in other.frames
        ]

    def draw(self, canvas: Canvas, dx: int = 0, dy: int = 0) -> None:
        for frame in self.frames:
            frame.draw(canvas)
        for x, y, box in self.boxes:
            box.draw(canvas, x + dx, y + dy)
        for points, style in self.lines:
            cells = strokes(points, WEIGHTS.get(style, 1))
            canvas.edge(cells, dotted=style is LineStyle.DOTTED)
        for x, y, text, role in self.texts:
            canvas.text(x + dx, y + dy, text, role)


@dataclass(frozen=True, slots=True)
class Axes:
    """Turns places along and across the edges into columns and rows."""

    direction: Direction
    depth: int = 0
    """All cells in the direction of the edges."""

    def point(self, main: int, cross: int) -> Point:
        if self.direction.is_backward:
            main = self.depth - 1 - main
        return (cross, main) if self.direction.is_vertical else (main, cross)

    def corner(self, main: int, cross: int, depth: int) -> Point:
        """The upper left corner of a rectangle."""
        return self.point(main + depth - 1 if self.direction.is_backward else main, cross)

    def mark(self, mark: Mark, *, up: bool) -> str:
        """The character of a mark at the upper or lower end of an edge."""
        forward = up == self.direction.is_backward
        side = (2 if forward else 0) if self.direction.is_vertical else (1 if forward else 3)
        return MARKS[mark][side]


Lines = Sequence[str]


@dataclass(slots=True)
class Label:
    """The texts on an edge, from its upper end to its lower one."""

    parts: list[list[str]]
    measure: Callable[[str], int]

    def size(self, *, vertical: bool) -> tuple[int, int]:
        """Its cells across the edge and along it."""
        widths = [max(map(self.measure, part)) for part in self.parts]
        heights = [len(part) for part in self.parts]
        if vertical:
            return max(widths), sum(heights) + len(self.parts) - 1
        return max(heights), sum(widths) + 3 * len(self.parts) - 1

    def texts(self, axes: Axes, main: int, cross: int) -> list[tuple[int, int, str, str]]:
        """Its rows with their places; ``main`` is its first cell, ``cross`` its axis."""
        parts = list(reversed(self.parts)) if axes.direction.is_backward else self.parts
        depth = self.size(vertical=axes.direction.is_vertical)[1]
        x, y = axes.corner(main, cross, depth)
        found: list[tuple[int, int, str, str]] = []
        for part in parts:
            width = max(map(self.measure, part))
            top = y if axes.direction.is_vertical else y - (len(part) - 1) // 2
            left = x - width // 2 if axes.direction.is_vertical else x
            for number, row in enumerate(part):
                inside = (width - self.measure(row)) // 2
                text = row if axes.direction.is_vertical else f" {row} "
                found.append((left + inside, top + number, text, "label"))
            if axes.direction.is_vertical:
                y += len(part) + 1
            else:
                x += width + 3
        return found

    def gaps(self, *, vertical: bool) -> list[int]:
        """Cells between its parts, from its first cell, through which the line is seen."""
        found: list[int] = []
        at = 0
        for part in self.parts[:-1]:
            at += len(part) if vertical else max(map(self.measure, part)) + 2
            found.append(at)
            at += 1
        return found
