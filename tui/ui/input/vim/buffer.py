"""A text as lines of grapheme clusters, and steps through it. A cluster is one column, as a character is in vim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from tui.ui.graphemes import clusters

Position = tuple[int, int]
"""Line and column, from 0. The column after the last is the end of the line, which vim calls its NUL."""
Line = list[str]

BLANK, PUNCTUATION, WORD = 0, 1, 2
_SCRIPTS = (
    *((0x3040, 0x30A0), (0x30A0, 0x3100), (0x3400, 0x4DC0), (0x4E00, 0xA000), (0xAC00, 0xD7A4), (0xF900, 0xFB00)),
    *((0x1F000, 0x1FB00), (0x20000, 0x30000)),
)
"""Blocks in which a change of script is the end of a word."""
_MARKS = ((0x2010, 0x205F), (0x20A0, 0x2070), (0x2190, 0x2800), (0x2E00, 0x2E80), (0x3001, 0x3021), (0xFF00, 0xFF10))


def kind_of(cluster: str, *, big: bool) -> int:
    """The class of a cluster: words end where it changes. ``big`` words end at blanks only."""
    first = cluster[:1]
    if not first or first in " \t\u3000":
        return BLANK
    if big:
        return PUNCTUATION
    code = ord(first)
    if code < 0x100:
        return WORD if first.isalnum() or first == "_" or code >= 0xC0 or code == 0xB5 else PUNCTUATION
    if any(begin <= code < end for begin, end in _MARKS):
        return PUNCTUATION
    return next((begin for begin, end in _SCRIPTS if begin <= code < end), WORD)


def split_line(line: str) -> Line:
    """The clusters of a line."""
    return list(line) if line.isascii() else [cluster for cluster, _ in clusters(line)]


class Buffer:
    """A text that is never without a line."""

    def __init__(self, text: str) -> None:
        self.lines: list[Line] = [split_line(line) for line in text.split("\n")]

    @property
    def text(self) -> str:
        return "\n".join("".join(line) for line in self.lines)

    @property
    def last(self) -> int:
        """The last line."""
        return len(self.lines) - 1

    def length(self, row: int) -> int:
        return len(self.lines[row])

    def at(self, place: Position) -> str:
        """The cluster there; "" at the end of a line."""
        row, column = place
        line = self.lines[row]
        return line[column] if column < len(line) else ""

    def kind(self, place: Position, *, big: bool = False) -> int:
        return kind_of(self.at(place), big=big)

    def indent(self, row: int) -> int:
        """The column of the first cluster that is no blank; the end of the line if there is none."""
        line = self.lines[row]
        return next((column for column, cluster in enumerate(line) if cluster not in " \t"), len(line))

    def is_white(self, row: int) -> bool:
        return self.indent(row) == self.length(row)

    def clamped(self, place: Position) -> Position:
        """The nearest place on a cluster."""
        row = min(max(place[0], 0), self.last)
        return row, max(0, min(place[1], self.length(row) - 1))

    def first_column(self, row: int) -> Position:
        """The first cluster that is no blank."""
        return self.clamped((row, self.indent(row)))

    # Steps as vim makes them: they stop at the end of each line.

    def forward(self, place: Position) -> tuple[Position, int]:
        """One step, and 0 within the line, 2 onto its end, 1 into the next line, -1 at the end of the text."""
        row, column = place
        if column < self.length(row):
            return (row, column + 1), 0 if column + 1 < self.length(row) else 2
        return ((row + 1, 0), 1) if row < self.last else (place, -1)

    def backward(self, place: Position) -> tuple[Position, int]:
        """One step back, and 0 within the line, 1 into the line before, -1 at the beginning of the text."""
        row, column = place
        if column:
            return (row, column - 1), 0
        return ((row - 1, self.length(row - 1)), 1) if row else (place, -1)

    def forward_over_end(self, place: Position) -> tuple[Position, int]:
        """The same as ``forward``, without a stop at the end of a line that has text."""
        place, step = self.forward(place)
        return self.forward(place) if step >= 1 and place[1] else (place, step)

    def backward_over_end(self, place: Position) -> tuple[Position, int]:
        """The same as ``backward``, without a stop at the end of a line that has text."""
        place, step = self.backward(place)
        return self.backward(place) if step == 1 and place[1] else (place, step)

    # Parts

    def part(self, start: Position, end: Position) -> str:
        """The text from ``start`` up to ``end``, which is not included."""
        (first, begin), (final, stop) = start, end
        if first == final:
            return "".join(self.lines[first][begin:stop])
        middle = ["".join(line) for line in self.lines[first + 1 : final]]
        return "\n".join(["".join(self.lines[first][begin:]), *middle, "".join(self.lines[final][:stop])])

    def rows(self, first: int, final: int) -> str:
        """Whole lines."""
        return "\n".join("".join(line) for line in self.lines[first : final + 1])

    def replace(self, start: Position, end: Position, text: str) -> Position:
        """Put a text in place of a part; returns the end of it."""
        before, after = "".join(self.lines[start[0]][: start[1]]), "".join(self.lines[end[0]][end[1] :])
        lines = (before + text + after).split("\n")
        self.lines[start[0] : end[0] + 1] = [split_line(line) for line in lines]
        row = start[0] + len(lines) - 1
        inserted = len(split_line(lines[-1][: len(lines[-1]) - len(after)]))
        return row, min(inserted, self.length(row))

    def replace_rows(self, first: int, final: int, lines: Sequence[str]) -> None:
        """Put lines in place of others; a text without lines has an empty one."""
        self.lines[first : final + 1] = [split_line(line) for line in lines]
        if not self.lines:
            self.lines = [[]]

    # Columns as they are seen

    def columns_before(self, place: Position) -> int:
        """The cells before a place."""
        return sum(_cells(cluster) for cluster in self.lines[place[0]][: place[1]])

    def column_at(self, row: int, cells: int | Literal["end"]) -> Position:
        """The place in a line that covers a cell; the end of the line if it has none."""
        used = 0
        for column, cluster in enumerate(self.lines[row]):
            used += _cells(cluster)
            if cells != "end" and used > cells:
                return row, column
        return row, self.length(row)


def _cells(cluster: str) -> int:
    return 1 if cluster.isascii() else sum(width for _, width in clusters(cluster))
