"""What operators and other commands do to a buffer."""

from __future__ import annotations

from dataclasses import dataclass

from tui.ui.input.vim.buffer import Buffer, Position
from tui.ui.input.vim.motions import Motion

INDENT = 4
"""Blanks by which ``>`` and ``<`` shift."""


@dataclass(frozen=True, slots=True)
class Register:
    """The unnamed register."""

    text: str = ""
    is_linewise: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """What an operator works on."""

    start: Position
    end: Position
    """Not included; the last line itself if the region is made of lines."""
    is_linewise: bool = False

    @property
    def is_empty(self) -> bool:
        return not self.is_linewise and self.start == self.end


def region_of(buffer: Buffer, cursor: Position, motion: Motion, operator: str) -> Region:
    """What an operator takes for a motion, by vim's rules for ends at the beginning of a line."""
    start, end = sorted((motion.start or cursor, motion.end))
    if motion.is_linewise:
        return Region(start=start, end=end, is_linewise=True)
    inclusive = motion.inclusive
    is_in_front = start[1] <= buffer.indent(start[0])
    several = end[0] > start[0]
    if several and not inclusive and not end[1]:
        row = end[0] - 1
        if is_in_front:
            return Region(start=start, end=(row, 0), is_linewise=True)
        end = (row, max(0, buffer.length(row) - 1))
        inclusive = bool(buffer.length(row))
    if inclusive and buffer.at(end):
        end = (end[0], end[1] + 1)
    if operator == "d" and end[0] > start[0] and is_in_front:
        rest = buffer.lines[end[0]][end[1] :]
        if all(cluster in " \t" for cluster in rest):
            return Region(start=start, end=end, is_linewise=True)
    return Region(start=start, end=end)


def taken(buffer: Buffer, region: Region) -> Register:
    """What is in a region."""
    if region.is_linewise:
        return Register(buffer.rows(region.start[0], region.end[0]), is_linewise=True)
    return Register(buffer.part(region.start, region.end))


def delete(buffer: Buffer, region: Region) -> Position:
    """Remove a region; returns the cursor."""
    if region.is_linewise:
        buffer.replace_rows(region.start[0], region.end[0], [])
        return buffer.first_column(min(region.start[0], buffer.last))
    buffer.replace(region.start, region.end, "")
    return buffer.clamped(region.start)


def empty(buffer: Buffer, region: Region) -> Position:
    """Remove a region for another text; of lines an empty one is left. Returns where to insert."""
    if region.is_linewise:
        buffer.replace_rows(region.start[0], region.end[0], [""])
        return region.start[0], 0
    buffer.replace(region.start, region.end, "")
    return region.start


def shift(buffer: Buffer, first: int, final: int, times: int) -> Position:
    """Indent lines, or take indent away if ``times`` is negative; empty lines stay empty."""
    for row in range(first, final + 1):
        line = buffer.lines[row]
        if not line:
            continue
        indent = buffer.indent(row)
        width = sum(INDENT - 0 if cluster == "\t" else 1 for cluster in line[:indent])
        buffer.lines[row] = [" "] * max(0, width + INDENT * times) + line[indent:]
    return buffer.first_column(first)


def join(buffer: Buffer, row: int, count: int) -> Position:
    """Join lines with blanks between them; returns the place of the last one."""
    joined = before = "".join(buffer.lines[row])
    column = 0
    for line in buffer.lines[row + 1 : row + count]:
        text = "".join(line).lstrip(" \t")
        gap = " " if text and not text.startswith(")") and joined and not before.endswith(" ") else ""
        column = len(joined)
        joined += gap + text
        before = text
    buffer.replace_rows(row, row + count - 1, [joined])
    return buffer.clamped((row, len(Buffer(joined[:column]).lines[0])))


def put(buffer: Buffer, cursor: Position, register: Register, count: int, *, before: bool) -> Position:
    """Insert a register before or after the cursor; returns the new cursor."""
    row, column = cursor
    if register.is_linewise:
        at = row if before else row + 1
        lines = register.text.split("\n") * count
        buffer.replace_rows(at, at - 1, lines)
        return buffer.first_column(at)
    if not before and buffer.length(row):
        column += 1
    end = buffer.replace((row, column), (row, column), register.text * count)
    if "\n" in register.text:
        return buffer.clamped((row, column))
    return buffer.clamped((end[0], end[1] - 1))


def write_over(buffer: Buffer, region: Region, character: str) -> None:
    """Put a character in place of every one of a region; lines stay lines."""
    _changed(buffer, region, lambda cluster: character)


def change_case(buffer: Buffer, region: Region, how: str) -> None:
    """Swap upper and lower case (``~``), or make it one (``u``, ``U``)."""
    _changed(buffer, region, {"~": _swapped, "u": str.lower, "U": str.upper}[how])


def _swapped(cluster: str) -> str:
    changed = cluster.swapcase()
    return changed if len(changed) == len(cluster) else cluster


def _changed(buffer: Buffer, region: Region, change: object) -> None:
    assert callable(change)
    for row in range(region.start[0], region.end[0] + 1):
        line = buffer.lines[row]
        first = region.start[1] if row == region.start[0] and not region.is_linewise else 0
        final = region.end[1] if row == region.end[0] and not region.is_linewise else len(line)
        buffer.lines[row] = [
            change(cluster) if first <= column < final else cluster for column, cluster in enumerate(line)
        ]
