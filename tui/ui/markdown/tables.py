"""Lays out tables as wide as their content, at most as wide as the screen."""

from __future__ import annotations

from collections.abc import Sequence

from tui.ui.markdown.runs import Line, Look, Run, line_width, wrap

MIN_COLUMN = 3
GAP: Line = [Run("  ", "rule")]


def lay_table(
    rows: Sequence[Sequence[Line]],
    align: Sequence[str],
    width: int,
    wanted: Sequence[int] = (),
    *,
    headless: bool = False,
) -> list[Line]:
    """The table's lines: bold head, a thin rule, cells wrapped inside their columns."""
    return TableLayout(align, width, wanted, headless=headless).lines(rows)


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

    def __init__(self, align: Sequence[str], width: int, wanted: Sequence[int] = (), *, headless: bool = False) -> None:
        self._align = align
        self._width = width
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
        widths = _fitting(wanted, self._width)
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
        return lines


def _wider(wanted: Sequence[int], row: Sequence[Line]) -> list[int]:
    """The natural widths including one more row."""
    own = [max(MIN_COLUMN, line_width(cell)) for cell in row]
    shared = min(len(own), len(wanted))
    return [*map(max, wanted[:shared], own[:shared]), *wanted[shared:], *own[shared:]]


def _fitting(wanted: list[int], width: int) -> list[int]:
    """The natural widths if they fit; else the widest columns shrink first."""
    columns = len(wanted)
    room = max(columns * MIN_COLUMN, width - 2 * (columns - 1))
    if sum(wanted) <= room:
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
