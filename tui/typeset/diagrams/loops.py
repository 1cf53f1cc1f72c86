"""Edges from a box to itself, beside it or below it."""

from __future__ import annotations

from collections.abc import Sequence

from tui.typeset.diagrams.boxes import Box
from tui.typeset.diagrams.graph import Edge, Mark
from tui.typeset.diagrams.picture import MARKS, Picture
from tui.typeset.drawing import Measure

REACH = 2
"""Cells between the box and the far side of a loop."""


def _text(edge: Edge) -> str:
    return " ".join(f"{edge.tail_label} {edge.label} {edge.head_label}".split())


def loop_room(loops: Sequence[Edge], measure: Measure, *, vertical: bool) -> tuple[int, int]:
    """The width that the box needs for its loops, and the cells beside or below it that they take."""
    widths = [measure(_text(edge)) for edge in loops]
    if vertical:
        return 0, REACH + 1 + max(width + 2 if width else 0 for width in widths)
    return 3 + sum(width + 7 for width in widths), 2


def add_loops(found: Picture, box: Box, corner: tuple[int, int], loops: Sequence[Edge], measure: Measure) -> None:
    x, y = corner
    for number, edge in enumerate(loops):
        if box.vertical:
            side, top = x + box.width - 1, y + 1 + 3 * number
            far = side + 1 + REACH
            last = side + 1 if edge.head is not Mark.NONE else side
            found.lines.append(([(side, top), (far, top), (far, top + 2), (last, top + 2)], edge.style))
            if edge.head is not Mark.NONE:
                found.texts.append((side + 1, top + 2, MARKS[edge.head][3], "arrow"))
            found.texts.append((far + 2, top + 1, _text(edge), "label"))
        else:
            bottom = y + box.height - 1
            left = x + 2
            right = left + 3
            last = bottom + 1 if edge.head is not Mark.NONE else bottom
            found.lines.append(([(left, bottom), (left, bottom + 2), (right, bottom + 2), (right, last)], edge.style))
            if edge.head is not Mark.NONE:
                found.texts.append((right, bottom + 1, MARKS[edge.head][0], "arrow"))
            found.texts.append((right + 2, bottom + 2, _text(edge), "label"))
            x += measure(_text(edge)) + 7
