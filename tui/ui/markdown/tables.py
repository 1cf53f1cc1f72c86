"""Lays out tables as wide as their content.

A table wider than the screen has its cells wrapped while its columns stay readable; otherwise, or if the user scrolls
sideways, its rows are cut, so that the columns stay aligned. Of a table that is still arriving, each row is parsed
once, so that the cost per row does not grow.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tui.ui.markdown.chunks import NO_ROW, Chunk
from tui.ui.markdown.row_breaks import cut_row
from tui.ui.markdown.runs import Line, Look, Run, line_width, wrap
from tui.ui.markdown.tokens import Table, parse

MIN_COLUMN = 3
READABLE = 16
"""Columns that the wide cells of a table need at least to be wrapped; with less, the table is cut."""
GAP: Line = [Run("  ", "rule")]


def lay_table(
    rows: Sequence[Sequence[Line]],
    align: Sequence[str],
    width: int,
    wanted: Sequence[int] = (),
    *,
    headless: bool = False,
    sideways: int | None = None,
) -> list[Line]:
    """The table's lines: bold head, a thin rule, cells wrapped inside their columns.

    Rows are cut at column ``sideways`` instead, if it is given.
    """
    return TableLayout(align, width, wanted, headless=headless, sideways=sideways).lines(rows)


def natural_widths(rows: Sequence[Sequence[Line]]) -> list[int]:
    """The widths of the columns without wrapping."""
    wanted: list[int] = []
    for row in rows:
        wanted = _wider(wanted, row)
    return wanted


class TableLayout:
    """A table that may still grow: rows are laid out again only if a later row changes the column widths.

    A later part of a long table has no head, and columns at least as wide as those of the first part.
    """

    def __init__(
        self,
        align: Sequence[str],
        width: int,
        wanted: Sequence[int] = (),
        *,
        headless: bool = False,
        sideways: int | None = None,
    ) -> None:
        self._align = align
        self._width = width
        self._sideways = sideways
        self._wanted = list(wanted)
        self._headless = headless
        self._measured = 0
        self._widths: list[int] = []
        self._laid = 0
        self._lines: list[Line] = []

    def lines(self, rows: Sequence[Sequence[Line]], last: Sequence[Line] | None = None) -> list[Line]:
        """All lines. ``rows`` only grows between calls; ``last`` is an incomplete row."""
        for row in rows[self._measured :]:
            self._wanted = _wider(self._wanted, row)
        self._measured = len(rows)
        wanted = self._wanted if last is None else _wider(self._wanted, last)
        if not wanted or not (rows or last):
            return []
        widths = wanted if self._sideways is not None else _fitting(wanted, self._width)
        if widths != self._widths:
            self._widths, self._laid, self._lines = widths, 0, []
        for row in rows[self._laid :]:
            self._lines.extend(self._row(row, head=self._laid == 0 and not self._headless))
            self._laid += 1
        return self._lines if last is None else self._lines + self._row(last, head=not rows and not self._headless)

    def _row(self, row: Sequence[Line], *, head: bool) -> list[Line]:
        lines = _row(row, self._widths, self._align, head=head)
        if head:
            lines.append([Run("  ".join("─" * column for column in self._widths), "rule")])
        if sum(self._widths) + 2 * (len(self._widths) - 1) > self._width:
            return [cut_row(line, self._sideways or 0, self._width) for line in lines]
        return lines


def _wider(wanted: Sequence[int], row: Sequence[Line]) -> list[int]:
    """The natural widths including one more row."""
    own = [max(MIN_COLUMN, line_width(cell)) for cell in row]
    shared = min(len(own), len(wanted))
    return [*map(max, wanted[:shared], own[:shared]), *wanted[shared:], *own[shared:]]


def _fitting(wanted: list[int], width: int) -> list[int]:
    """The natural widths if they fit; else the widest columns shrink first, but not below what can be read."""
    columns = len(wanted)
    room = max(columns * MIN_COLUMN, width - 2 * (columns - 1))
    if sum(wanted) <= room or sum(min(column, READABLE) for column in wanted) > room:
        return wanted
    low, high = MIN_COLUMN, max(wanted)
    while low < high:
        middle = (low + high + 1) // 2
        if sum(min(column, middle) for column in wanted) <= room:
            low = middle
        else:
            high = middle - 1
    widths = [min(column, low) for column in wanted]
    spare = room - sum(widths)
    for column, natural in enumerate(wanted):
        extra = max(0, min(spare, natural - widths[column]))
        widths[column] += extra
        spare -= extra
    return widths


def _row(row: Sequence[Line], widths: Sequence[int], align: Sequence[str], *, head: bool) -> list[Line]:
    cells = [
        _cell(row[column] if column < len(row) else [], widths[column], head=head) for column in range(len(widths))
    ]
    lines: list[Line] = []
    for height in range(max(map(len, cells))):
        line: Line = []
        for column, cell in enumerate(cells):
            if column:
                line.extend(GAP)
            content = cell[height] if height < len(cell) else []
            side = align[column] if column < len(align) else "left"
            line.extend(_padded(content, widths[column], side))
        lines.append(line)
    return lines


def _cell(runs: Line, width: int, *, head: bool) -> list[Line]:
    if head:
        runs = [run._replace(look=run.look | Look.BOLD) for run in runs]
    return wrap(runs, width)


def _padded(content: Line, width: int, side: str) -> Line:
    spare = width - line_width(content)
    if spare <= 0:
        return content
    left = spare if side == "right" else spare // 2 if side == "center" else 0
    line: Line = [Run(" " * left), *content] if left else list(content)
    if spare - left:
        line.append(Run(" " * (spare - left)))
    return line


PLAIN_ROW = re.compile(r"[^\\`*_\[\]<>&!~$]*")
"""A row without markup other than bars."""


class GrowingTable:
    """The rows of one table; gives None instead of lines if the text is no table after all."""

    def __init__(self, head: str, part: int, width: int, wanted: Sequence[int], sideways: int | None) -> None:
        self.head = head
        self.part = part
        self._rows: list[tuple[Line, ...]] = []
        self._read = 0
        self._layout: TableLayout | None = None
        self._broken = False
        self._columns = 0
        nodes = parse(head)
        if len(nodes) == 1 and isinstance(nodes[0], Table):
            self._rows = [] if part else [*nodes[0].rows]
            self._columns = len(nodes[0].align)
            self._layout = TableLayout(nodes[0].align, width, wanted, headless=part > 0, sideways=sideways)

    def lines(
        self, whole: Sequence[str], unfinished: str, links: dict[str, object], notes: Mapping[str, int]
    ) -> list[Line] | None:
        """The table's lines; ``whole`` is its rows so far, which only grow between calls."""
        if self._layout is None or self._broken:
            return None
        for source in whole[self._read :]:
            row = self._row(source, links, notes)
            if row is None:
                self._broken = True
                return None
            self._rows.append(row)
            self._read += 1
        last = self._row(unfinished, links, notes, growing=True) if unfinished.strip() else None
        if unfinished.strip() and last is None:
            return None
        return list(self._layout.lines(self._rows, last))

    def _row(
        self, source: str, links: dict[str, object], notes: Mapping[str, int], *, growing: bool = False
    ) -> tuple[Line, ...] | None:
        if NO_ROW.match(source):
            return None
        if PLAIN_ROW.fullmatch(source):
            return plain_row(source, self._columns)
        nodes = parse(f"{self.head}\n{source}", dict(links), notes=notes, growing=growing)
        if len(nodes) == 1 and isinstance(nodes[0], Table) and len(nodes[0].rows) == 2:
            return nodes[0].rows[1]
        return None


def read_table(chunk: Chunk, links: dict[str, object], notes: Mapping[str, int]) -> Table | None:
    """A table or a later part of one; None if its head is no table head."""
    rows = chunk.source.split("\n") if chunk.part else chunk.source.split("\n")[2:]
    head = parse(chunk.head)
    if len(head) != 1 or not isinstance(head[0], Table):
        return None
    if all(PLAIN_ROW.fullmatch(row) for row in rows):
        cells = [plain_row(row, len(head[0].align)) for row in rows]
        return Table((*(() if chunk.part else head[0].rows), *cells), head[0].align)
    nodes = parse("\n".join([chunk.head, *rows]), links, notes=notes)
    if len(nodes) != 1 or not isinstance(nodes[0], Table):
        return None
    return Table(nodes[0].rows[1:] if chunk.part else nodes[0].rows, nodes[0].align)


def plain_row(source: str, columns: int) -> tuple[Line, ...]:
    """The cells of a row without markup."""
    cells = source.strip().split("|")
    if cells and not cells[0]:
        cells.pop(0)
    if cells and not cells[-1]:
        cells.pop()
    texts = [cell.strip() for cell in cells[:columns]]
    return tuple([Run(word)] if word else [] for word in (texts + [""] * columns)[:columns])
