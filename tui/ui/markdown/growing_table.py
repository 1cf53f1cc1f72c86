"""A table that is still arriving: every row is read once, however many have come before it."""

from __future__ import annotations

from collections.abc import Sequence

from tui.ui.markdown.runs import Line
from tui.ui.markdown.tables import TableLayout
from tui.ui.markdown.tokens import Table, parse


class GrowingTable:
    """The rows below one head; None instead of lines where it turns out to be something else."""

    def __init__(self, head: str, delimiter: str, width: int) -> None:
        self.head = f"{head}\n{delimiter}"
        self._rows: list[tuple[Line, ...]] = []
        self._layout: TableLayout | None = None
        self._broken = False
        nodes = parse(self.head)
        if len(nodes) == 1 and isinstance(nodes[0], Table):
            self._rows = [*nodes[0].rows]
            self._layout = TableLayout(nodes[0].align, width)

    def lines(self, whole: Sequence[str], unfinished: str, links: dict[str, object]) -> list[Line] | None:
        """The table's lines; ``whole`` are its rows so far, always the same ones and perhaps more."""
        if self._layout is None or self._broken:
            return None
        for source in whole[len(self._rows) - 1 :]:
            row = self._row(source, links)
            if row is None:
                self._broken = True
                return None
            self._rows.append(row)
        last = self._row(unfinished, links) if unfinished.strip() else None
        if unfinished.strip() and last is None:
            return None
        return list(self._layout.lines(self._rows, last))

    def _row(self, source: str, links: dict[str, object]) -> tuple[Line, ...] | None:
        nodes = parse(f"{self.head}\n{source}", dict(links))
        if len(nodes) == 1 and isinstance(nodes[0], Table) and len(nodes[0].rows) == 2:
            return nodes[0].rows[1]
        return None
