"""Motions: from a place in a buffer to another, with what an operator takes on the way.

The loops over words follow those of vim step by step, because its rules at the ends of lines are in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tui.ui.input.vim.buffer import BLANK, Buffer, Position


@dataclass(frozen=True, slots=True, kw_only=True)
class Motion:
    """Where a motion ends."""

    end: Position
    inclusive: bool = False
    """An operator takes the cluster at the end, too."""
    is_linewise: bool = False
    start: Position | None = None
    """Where it begins, if that is not the cursor: the beginning of a text object."""
    failed: bool = False
    """The cursor goes there, but no operator runs."""


@dataclass(frozen=True, slots=True)
class Find:
    """A character that was looked for in a line."""

    key: str
    """``f``, ``F``, ``t`` or ``T``."""
    character: str


def next_word(buffer: Buffer, place: Position, count: int, *, big: bool, stop_at_end: bool) -> tuple[Position, bool]:
    """The beginning of a later word, and whether there is one. ``stop_at_end``: the last step stays in its line."""
    for left in reversed(range(count)):
        kind = buffer.kind(place, big=big)
        is_last_line = place[0] == buffer.last
        place, step = buffer.forward(place)
        if step == -1 or (step >= 1 and is_last_line):
            return place, False
        if step >= 1 and stop_at_end and left == 0:
            return place, True
        if kind != BLANK:
            while buffer.kind(place, big=big) == kind:
                place, step = buffer.forward(place)
                if step == -1 or (step >= 1 and stop_at_end and left == 0):
                    return place, True
        while buffer.kind(place, big=big) == BLANK:
            if not buffer.length(place[0]):
                break
            place, step = buffer.forward(place)
            if step == -1 or (step >= 1 and is_last_line):
                return place, True
    return place, True


def word_before(buffer: Buffer, place: Position, count: int, *, big: bool) -> tuple[Position, bool]:
    """The beginning of this or an earlier word."""
    for _ in range(count):
        place, step = buffer.backward(place)
        if step == -1:
            return place, False
        stopped = False
        while buffer.kind(place, big=big) == BLANK:
            if not buffer.length(place[0]):
                stopped = True
                break
            place, step = buffer.backward(place)
            if step == -1:
                return place, True
        if stopped:
            continue
        kind = buffer.kind(place, big=big)
        while buffer.kind(place, big=big) == kind:
            place, step = buffer.backward(place)
            if step == -1:
                return place, True
        place, _ = buffer.forward(place)
    return place, True


def word_end(
    buffer: Buffer, place: Position, count: int, *, big: bool, stay: bool = False, stop_at_empty: bool = False
) -> tuple[Position, bool]:
    """The end of this or a later word. ``stay``: the end of a word counts as the first."""
    for _ in range(count):
        kind = buffer.kind(place, big=big)
        place, step = buffer.forward(place)
        if step == -1:
            return place, False
        is_within = kind != BLANK and buffer.kind(place, big=big) == kind
        if not is_within and (not stay or kind == BLANK):
            place, ended = _past_blanks(buffer, place, big=big, stop_at_empty=stop_at_empty)
            if ended:
                return place, False
            is_within = bool(buffer.kind(place, big=big))
            if not is_within:
                stay = False
                continue
        if is_within:
            place, ended = _past(buffer, place, buffer.kind(place, big=big), big=big)
            if ended:
                return place, False
        place, _ = buffer.backward(place)
        stay = False
    return place, True


def _past_blanks(buffer: Buffer, place: Position, *, big: bool, stop_at_empty: bool) -> tuple[Position, bool]:
    """The next place that is no blank, or an empty line; and whether the text ends before."""
    while buffer.kind(place, big=big) == BLANK:
        if stop_at_empty and not buffer.length(place[0]):
            break
        place, step = buffer.forward(place)
        if step == -1:
            return place, True
    return place, False


def _past(buffer: Buffer, place: Position, kind: int, *, big: bool) -> tuple[Position, bool]:
    """The first place of another kind, and whether the text ends before."""
    while buffer.kind(place, big=big) == kind:
        place, step = buffer.forward(place)
        if step == -1:
            return place, True
    return place, False


def word_end_before(buffer: Buffer, place: Position, count: int, *, big: bool) -> tuple[Position, bool]:
    """The end of an earlier word."""
    for _ in range(count):
        kind = buffer.kind(place, big=big)
        place, step = buffer.backward(place)
        if step == -1:
            return place, False
        if kind != BLANK:
            while buffer.kind(place, big=big) == kind:
                place, step = buffer.backward(place)
                if step == -1:
                    return place, True
        while buffer.kind(place, big=big) == BLANK:
            if not buffer.length(place[0]):
                break
            place, step = buffer.backward(place)
            if step == -1:
                return place, True
    return place, True


def find_in_line(buffer: Buffer, place: Position, count: int, find: Find, *, again: bool) -> Motion | None:
    """The character in this line. ``again``: it is repeated, so ``t`` passes the one that it is at."""
    row, column = place
    forward = find.key in "ft"
    step = 1 if forward else -1
    skips = again and find.key in "tT" and count == 1
    line = buffer.lines[row]
    for _ in range(count):
        while True:
            column += step
            if not 0 <= column < len(line):
                return None
            if line[column] == find.character and not skips:
                break
            skips = False
    if find.key in "tT":
        column -= step
    return Motion(end=(row, column), inclusive=forward)


def paragraph(buffer: Buffer, place: Position, count: int, step: int) -> Motion | None:
    """The empty line after or before this paragraph, or the end of the text."""
    row = place[0]
    for left in reversed(range(count)):
        is_first, passed_text = True, False
        while True:
            passed_text = passed_text or bool(buffer.length(row))
            if not is_first and passed_text and not buffer.length(row):
                break
            is_first = False
            if not 0 <= row + step <= buffer.last:
                if left:
                    return None
                break
            row += step
    if row == buffer.last and step > 0:
        length = buffer.length(row)
        return Motion(end=(row, max(0, length - 1)), inclusive=bool(length))
    return Motion(end=(row, 0))


PAIRS = {"(": ")", "[": "]", "{": "}"}
_OPENING = {closing: opening for opening, closing in PAIRS.items()}


def _is_escaped(buffer: Buffer, place: Position) -> bool:
    row, column = place
    start = column
    while start and buffer.lines[row][start - 1] == "\\":
        start -= 1
    return bool((column - start) % 2)


def bracket_around(
    buffer: Buffer, place: Position, wanted: str, other: str, step: int, *, escaped: bool = False
) -> Position | None:
    """The next bracket in one direction that is not matched on the way."""
    move = buffer.forward if step > 0 else buffer.backward
    depth = 0
    while True:
        place, moved = move(place)
        if moved == -1:
            return None
        found = buffer.at(place)
        if found not in (wanted, other) or not found or _is_escaped(buffer, place) is not escaped:
            continue
        if found == other:
            depth += 1
        elif depth == 0:
            return place
        else:
            depth -= 1


def matching_bracket(buffer: Buffer, place: Position) -> Motion | None:
    """The bracket that matches the first one in the line from here on."""
    row, column = place
    for at in range(column, buffer.length(row)):
        found = buffer.lines[row][at]
        if found in PAIRS or found in _OPENING:
            step = 1 if found in PAIRS else -1
            wanted = PAIRS.get(found) or _OPENING[found]
            escaped = _is_escaped(buffer, (row, at))
            end = bracket_around(buffer, (row, at), wanted, found, step, escaped=escaped)
            return Motion(end=end, inclusive=True) if end is not None else None
    return None


def _words(key: str, buffer: Buffer, place: Position, count: int) -> Motion:
    big = key.isupper() or key == "gE"
    match key.lower():
        case "b":
            end, found = word_before(buffer, place, count, big=big)
            return Motion(end=end, failed=not found)
        case "e":
            end, _ = word_end(buffer, place, count, big=big)
            return Motion(end=end, inclusive=True)
        case _:
            end, found = word_end_before(buffer, place, count, big=big)
            return Motion(end=end, inclusive=True, failed=not found)


def _left(buffer: Buffer, place: Position, count: int) -> Motion | None:
    return Motion(end=(place[0], max(0, place[1] - count)))


def _last_column(buffer: Buffer, place: Position, count: int) -> Motion | None:
    if count > 1 and place[0] == buffer.last:
        return None
    row = min(place[0] + count - 1, buffer.last)
    return Motion(end=(row, max(0, buffer.length(row) - 1)), inclusive=True)


SIMPLE: Mapping[str, Callable[[Buffer, Position, int], Motion | None]] = {
    "h": _left,
    "0": lambda buffer, place, count: Motion(end=(place[0], 0)),
    "^": lambda buffer, place, count: Motion(end=buffer.first_column(place[0])),
    "$": _last_column,
    "{": lambda buffer, place, count: paragraph(buffer, place, count, -1),
    "}": lambda buffer, place, count: paragraph(buffer, place, count, 1),
    "%": lambda buffer, place, count: matching_bracket(buffer, place),
    **{
        key: (lambda name: lambda buffer, place, count: _words(name, buffer, place, count))(key)
        for key in ("b", "B", "e", "E", "ge", "gE")
    },
}
"""Motions that need nothing but the buffer."""
