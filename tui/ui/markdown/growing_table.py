"""A table that is still arriving: every row is parsed once, so the cost per row does not grow."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tui.ui.markdown.chunks import NO_ROW, Chunk
from tui.ui.markdown.runs import Line, Run
from tui.ui.markdown.tables import TableLayout
from tui.ui.markdown.tokens import Table, parse

PLAIN_ROW = re.compile(r"[^\\`*_\[\]<>&!~$]*")
"""A row without markup other than bars."""


class GrowingTable:
    """The rows of one table; gives None instead of lines if the text is no table after all."""

    def __init__(self, head: str, part: int, width: int, wanted: Sequence[int]) -> None:
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
            self._layout = TableLayout(nodes[0].align, width, wanted, headless=part > 0)

    def lines(self, whole: Sequence[str], unfinished: str, links: dict[str, object]) -> list[Line] | None:
        """The table's lines; ``whole`` is its rows so far, which only grow between calls."""
        if self._layout is None or self._broken:
            return None
        for source in whole[self._read :]:
            row = self._row(source, links)
            if row is None:
                self._broken = True
                return None
            self._rows.append(row)
            self._read += 1
        last = self._row(unfinished, links, growing=True) if unfinished.strip() else None
        if unfinished.strip() and last is None:
            return None
        return list(self._layout.lines(self._rows, last))

    def _row(self, source: str, links: dict[str, object], *, growing: bool = False) -> tuple[Line, ...] | None:
        if NO_ROW.match(source):
            return None
        if PLAIN_ROW.fullmatch(source):
            return plain_row(source, self._columns)
        nodes = parse(f"{self.head}\n{source}", dict(links), growing=growing)
        if len(nodes) == 1 and isinstance(nodes[0], Table) and len(nodes[0].rows) == 2:
            return nodes[0].rows[1]
        return None


def read_table(chunk: Chunk, links: dict[str, object]) -> Table | None:
    """A table or a later part of one; None if its head is no table head."""
    rows = chunk.source.split("\n") if chunk.part else chunk.source.split("\n")[2:]
    head = parse(chunk.head)
    if len(head) != 1 or not isinstance(head[0], Table):
        return None
    if all(PLAIN_ROW.fullmatch(row) for row in rows):
        cells = [plain_row(row, len(head[0].align)) for row in rows]
        return Table((*(() if chunk.part else head[0].rows), *cells), head[0].align)
    nodes = parse("\n".join([chunk.head, *rows]), links)
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
    words = [cell.strip() for cell in cells[:columns]]
    return tuple([Run(word)] if word else [] for word in (words + [""] * columns)[:columns])
