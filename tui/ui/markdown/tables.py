"""Tables as wide as their content asks for, and no wider than the screen."""

from __future__ import annotations

from collections.abc import Sequence

from tui.ui.markdown.runs import Line, Look, Run, line_width, wrap

MIN_COLUMN = 3
GAP: Line = [Run("  ", "rule")]


def lay_table(rows: Sequence[Sequence[Line]], align: Sequence[str], width: int) -> list[Line]:
    """The table's lines: bold head, a thin rule, cells wrapped inside their columns."""
    columns = max((len(row) for row in rows), default=0)
    if not columns:
        return []
    widths = _widths(rows, columns, width)
    lines: list[Line] = []
    for number, row in enumerate(rows):
        head = number == 0
        lines.extend(_row(row, widths, align, head=head))
        if head:
            lines.append([Run("  ".join("─" * column for column in widths), "rule")])
    return lines


def _widths(rows: Sequence[Sequence[Line]], columns: int, width: int) -> list[int]:
    """Natural widths if they fit; else the widest columns give way first."""
    wanted = [
        max(MIN_COLUMN, max((line_width(row[column]) for row in rows if column < len(row)), default=0))
        for column in range(columns)
    ]
    room = max(columns * MIN_COLUMN, width - 2 * (columns - 1))
    if sum(wanted) <= room:
        return wanted
    limit = max(wanted)
    low, high = MIN_COLUMN, limit
    while low < high:
        middle = (low + high + 1) // 2
        if sum(min(column, middle) for column in wanted) <= room:
            low = middle
        else:
            high = middle - 1
    widths = [min(column, low) for column in wanted]
    spare = room - sum(widths)
    for column, natural in enumerate(wanted):
        extra = min(spare, natural - widths[column])
        widths[column] += max(0, extra)
        spare -= max(0, extra)
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
