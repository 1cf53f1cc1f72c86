"""Matrices, cases, arrays and aligned lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from tui.typeset.math.boxes import EMPTY, Box, Side, beside, blank_box, placed, stacked
from tui.typeset.math.layout import Setting, box, fenced
from tui.typeset.math.nodes import Grid, Node, Row, Space, Symbol
from tui.typeset.math.spacing import Style, classes

BETWEEN_CELLS = 2
BETWEEN_PAIRS = 3
BEFORE_TAG = 4


@box.register
def _(node: Grid, setting: Setting) -> Box:
    if node.kind == "lines":
        return _lines(node, setting)
    style = setting.style if setting.style is Style.SCRIPT else Style.TEXT
    rows = [[box(cell, setting._replace(style=style)) for cell in row] for row in node.rows]
    if not rows:
        return EMPTY
    gap = 3 if node.kind == "cases" else BETWEEN_CELLS
    body = _table(rows, node, gap, is_spaced=len(rows) == 2 and bool(node.left or node.right))
    if not (node.left or node.right):
        return body
    if node.kind == "matrix":
        body = beside([blank_box(1), body, blank_box(1)])
    elif node.left:
        body = beside([blank_box(1), body])
    return fenced(node.left, [body], (), node.right)


def _table(rows: Sequence[Sequence[Box]], node: Grid, gap: int, *, is_spaced: bool) -> Box:
    columns = max(map(len, rows))
    widths = [max((row[column].width for row in rows if column < len(row)), default=0) for column in range(columns)]
    sides, lines = _columns(node.align, columns)
    found: list[Box] = []
    for number, row in enumerate(rows):
        if number in node.rules:
            found.append(_rule(widths, lines, gap))
        elif number and (is_spaced or max(map(_height, row)) > 1 or max(map(_height, rows[number - 1])) > 1):
            found.append(_row([EMPTY] * columns, widths, sides, lines, gap))
        found.append(_row(row, widths, sides, lines, gap))
    if len(rows) in node.rules:
        found.append(_rule(widths, lines, gap))
    height = sum(map(_height, found))
    return stacked(found, (height - 1) // 2, "l") if len(rows) > 1 else stacked(found, found[0].base, "l")


def _height(part: Box) -> int:
    return part.height


def _columns(align: str, count: int) -> tuple[list[Side], frozenset[int]]:
    """The side of each column, and the columns with a line before them."""
    sides: list[Side] = []
    lines: set[int] = set()
    for mark in align:
        if mark == "|":
            lines.add(len(sides))
        else:
            sides.append(cast("Side", mark))
    return (sides + sides[-1:] * count)[:count], frozenset(lines)


def _row(row: Sequence[Box], widths: Sequence[int], sides: Sequence[Side], lines: frozenset[int], gap: int) -> Box:
    cells = [*row, *([EMPTY] * (len(widths) - len(row)))]
    above, below = max(cell.base for cell in cells), max(cell.depth for cell in cells)
    parts: list[Box] = []
    for column, cell in enumerate(cells):
        if column in lines:
            parts.append(Box((" │ "[not column :],) * (above + below + 1), 3 - (not column), above))
        elif column:
            parts.append(blank_box(gap))
        parts.append(placed(cell, widths[column], sides[column]))
    if len(widths) in lines:
        parts.append(Box((" │",) * (above + below + 1), 2, above))
    return beside(parts)


def _rule(widths: Sequence[int], lines: frozenset[int], gap: int) -> Box:
    text = ""
    for column, width in enumerate(widths):
        if column in lines:
            text += "─┼─" if column else "├─"
        elif column:
            text += "─" * gap
        text += "─" * width
    text += "─┤" if len(widths) in lines else ""
    return Box((text,), len(text))


def _lines(node: Grid, setting: Setting) -> Box:
    """Lines of a display, aligned at their columns."""
    rows = [[_cell(cell, column, node.align, setting) for column, cell in enumerate(row)] for row in node.rows]
    if not rows:
        return EMPTY
    columns = max(map(len, rows))
    widths = [max((row[column].width for row in rows if column < len(row)), default=0) for column in range(columns)]
    found: list[Box] = []
    for row in rows:
        parts: list[Box] = []
        for column, cell in enumerate(row):
            if column and _begins_pair(column, node.align):
                parts.append(blank_box(BETWEEN_PAIRS))
            side = cast("Side", node.align[column % len(node.align)])
            parts.append(placed(cell, widths[column], side))
        found.append(beside(parts))
    return _with_tags(found, node, "c" if node.align == "c" else "l")


def _begins_pair(column: int, align: str) -> bool:
    return align == "rl" and column % 2 == 0


def _with_tags(found: Sequence[Box], node: Grid, side: Side) -> Box:
    width = max(row.width for row in found)
    spaced = any(row.height > 1 for row in found)
    rows: list[Box] = []
    for number, row in enumerate(found):
        if number and spaced:
            rows.append(blank_box(1))
        tag = node.tags[number] if number < len(node.tags) else ""
        whole = placed(row, width, side)
        rows.append(beside([whole, blank_box(BEFORE_TAG), Box((tag,), len(tag))]) if tag else whole)
    height = sum(map(_height, rows))
    return stacked(rows, rows[0].base if len(rows) == 1 else (height - 1) // 2, "l")


def _cell(node: Node, column: int, align: str, setting: Setting) -> Box:
    """A cell, with the blanks that its relation would have if the line were not cut there."""
    drawn = box(node, setting)
    if align == "c" or not drawn.width:
        return drawn
    items = [item for item in (node.items if isinstance(node, Row) else (node,)) if not isinstance(item, Space)]
    kinds = classes(items)
    raw = [side.left for side in kinds]
    parts = [drawn]
    starts = _sign_of(items[0])
    if items and column % len(align) and (raw[0] == "rel" or starts):
        parts.insert(0, blank_box(1))
        if starts and raw[0] != "rel" and len(items) > 1:
            parts[1] = beside([box(items[0], setting), blank_box(1), box(Row(tuple(items[1:])), setting)])
    if items and raw[-1] == "rel" and column % len(align) != len(align) - 1:
        parts.append(blank_box(1))
    return beside(parts)


def _sign_of(item: Node) -> bool:
    """Whether a cell begins with an operator, which continues the line above."""
    return isinstance(item, Symbol) and item.kind == "bin"
