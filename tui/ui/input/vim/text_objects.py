"""Text objects: the word, quotation, brackets or paragraph around a place."""

from __future__ import annotations

from tui.ui.input.vim.buffer import BLANK, Buffer, Position
from tui.ui.input.vim.motions import PAIRS, Motion, bracket_around, next_word, word_end

QUOTES = "\"'`"
BRACKETS = {**{opening: opening for opening in PAIRS}, **{closing: opening for opening, closing in PAIRS.items()}} | {
    "b": "(",
    "B": "{",
}
OBJECTS = frozenset({"w", "W", "p", *QUOTES, *BRACKETS})


def text_object(buffer: Buffer, place: Position, key: str, count: int, *, around: bool) -> Motion | None:
    """What ``i`` or ``a`` with this key means here; None if there is none."""
    if key in "wW":
        return _word(buffer, place, count, big=key == "W", around=around)
    if key in QUOTES:
        return _quotation(buffer, place, key, count, around=around)
    if key == "p":
        return _paragraph(buffer, place, count, around=around)
    return _brackets(buffer, place, BRACKETS[key], count, around=around)


def _back_in_line(buffer: Buffer, place: Position, *, big: bool) -> Position:
    kind = buffer.kind(place, big=big)
    row, column = place
    while column and buffer.kind((row, column - 1), big=big) == kind:
        column -= 1
    return row, column


def _word(buffer: Buffer, place: Position, count: int, *, big: bool, around: bool) -> Motion:
    start = place = _back_in_line(buffer, place, big=big)
    includes_white = False
    if (buffer.kind(place, big=big) == BLANK) == around:
        place, found = word_end(buffer, place, 1, big=big, stay=True, stop_at_empty=True)
        if not found:
            return Motion(end=place, failed=True)
    elif not around and buffer.is_white(place[0]) and buffer.length(place[0]):
        place = (place[0], buffer.length(place[0]) - 1)
    else:
        place, _ = next_word(buffer, place, 1, big=big, stop_at_end=True)
        place = (place[0], place[1] - 1) if place[1] else buffer.backward_over_end(place)[0]
        includes_white = around
    inclusive = True
    for left in reversed(range(count - 1)):
        place, step = buffer.forward_over_end(place)
        if step == -1:
            return Motion(end=place, failed=True)
        place, inclusive, found = _further_word(buffer, place, big=big, around=around)
        if not found and (left or not around):
            return Motion(end=place, failed=True)
    if includes_white and (buffer.kind(place, big=big) != BLANK or (not place[1] and not inclusive)):
        start = _with_white_before(buffer, start, big=big)
    return Motion(start=start, end=place, inclusive=inclusive)


def _further_word(buffer: Buffer, place: Position, *, big: bool, around: bool) -> tuple[Position, bool, bool]:
    """The end of the object that begins here, whether it is included, and whether there is one."""
    is_white = buffer.kind(place, big=big) == BLANK
    if around != is_white:
        place, found = next_word(buffer, place, 1, big=big, stop_at_end=True)
        return ((place[0], place[1] - 1), True, found) if place[1] else (place, False, found)
    place, found = word_end(buffer, place, 1, big=big, stay=True, stop_at_empty=True)
    return place, True, found


def _with_white_before(buffer: Buffer, start: Position, *, big: bool) -> Position:
    """The start with the blanks in front of it, unless they are an indent."""
    if start[1]:
        before = _back_in_line(buffer, (start[0], start[1] - 1), big=big)
        if buffer.kind(before, big=big) == BLANK and before[1]:
            return before
    return start


def _next_quote(line: list[str], column: int, quote: str, *, escapes: bool) -> int:
    while column < len(line):
        if escapes and line[column] == "\\":
            column += 1
        elif line[column] == quote:
            return column
        column += 1
    return -1


def _quote_before(line: list[str], column: int, quote: str) -> int:
    while column > 0:
        column -= 1
        escapes = 0
        while column - escapes > 0 and line[column - escapes - 1] == "\\":
            escapes += 1
        if escapes % 2:
            column -= escapes
        elif line[column] == quote:
            break
    return column


def _quotation(buffer: Buffer, place: Position, quote: str, count: int, *, around: bool) -> Motion | None:
    row, column = place
    line = buffer.lines[row]
    quotes = _quotes_around(line, column, quote) if line else None
    if quotes is None:
        return None
    start, end = quotes
    if around:
        start, end = _with_blanks(line, start, end)
    elif count < 2:
        return Motion(start=(row, start + 1), end=(row, end))
    return Motion(start=(row, start), end=(row, end), inclusive=True)


def _quotes_around(line: list[str], column: int, quote: str) -> tuple[int, int] | None:
    """The columns of the quotes around a column, or of those that follow."""
    if column < len(line) and line[column] == quote:
        start = 0
        while True:  # only from the beginning of the line it is known which quotes open
            start = _next_quote(line, start, quote, escapes=False)
            end = _next_quote(line, start + 1, quote, escapes=True) if start >= 0 else -1
            if end < 0 or start > column:
                return None
            if column <= end:
                return start, end
            start = end + 1
    start = _quote_before(line, column, quote)
    if line[start] != quote:
        start = _next_quote(line, start, quote, escapes=False)
    end = _next_quote(line, start + 1, quote, escapes=True) if start >= 0 else -1
    return (start, end) if end >= 0 else None


def _with_blanks(line: list[str], start: int, end: int) -> tuple[int, int]:
    """The columns with the blanks that follow, or with those in front if none follow."""
    following = end
    while following + 1 < len(line) and line[following + 1] in " \t":
        following += 1
    if following == end:
        while start and line[start - 1] in " \t":
            start -= 1
    return start, following


def _brackets(buffer: Buffer, place: Position, opening: str, count: int, *, around: bool) -> Motion | None:
    found = _brackets_around(buffer, place, opening, count)
    if found is None:
        return None
    start, end = found
    if around:
        return Motion(start=start, end=end, inclusive=True)
    start, _ = buffer.forward_over_end(start)
    at_line_start = not end[1]
    end, _ = buffer.backward_over_end(end)
    while opening == "{" and _in_indent(buffer, end, 1):
        at_line_start = True
        end, step = buffer.backward_over_end(end)
        if step:
            break
    if at_line_start:
        return Motion(start=start, end=buffer.forward_over_end(end)[0])
    if start <= end:
        return Motion(start=start, end=end, inclusive=True)
    return Motion(start=start, end=start)


def _brackets_around(buffer: Buffer, place: Position, opening: str, count: int) -> tuple[Position, Position] | None:
    """The places of the brackets around a place, or of the next ones."""
    closing = PAIRS[opening]
    while opening == "{" and _in_indent(buffer, place, 1):
        place, step = buffer.forward(place)
        if step:
            break
    if buffer.at(place) == opening:
        place = (place[0], place[1] + 1)
    step = -1 if bracket_around(buffer, place, opening, closing, -1) is not None else 1
    for _ in range(count):
        before = bracket_around(buffer, place, opening, closing, step)
        if before is None:
            return None
        place = before
    end = bracket_around(buffer, place, closing, opening, 1)
    return (place, end) if end is not None else None


def _in_indent(buffer: Buffer, place: Position, extra: int) -> bool:
    """Whether a place is in front of the text of its line."""
    row, column = place
    indent = buffer.indent(row)
    return indent >= column + extra


def _paragraph(buffer: Buffer, place: Position, count: int, *, around: bool) -> Motion | None:
    first = place[0]
    white_in_front = buffer.is_white(first)
    while first and buffer.is_white(first - 1) == white_in_front:
        first -= 1
    final = _last_of(buffer, first - 1, white=True)
    steps = count - 1 if not around and white_in_front else count
    for left in reversed(range(steps)):
        if final == buffer.last:
            return None
        takes_white = not around and buffer.is_white(final + 1)
        if not takes_white:
            final = _last_of(buffer, final + 1, white=False)
        if left == 0 and white_in_front and around:
            break
        if around or takes_white:
            final = _last_of(buffer, final, white=True)
    if not white_in_front and not buffer.is_white(final) and around:
        while first and buffer.is_white(first - 1):
            first -= 1
    return Motion(start=(first, 0), end=(final, 0), is_linewise=True)


def _last_of(buffer: Buffer, row: int, *, white: bool) -> int:
    """The last of the lines after this one that are white, or that are not; this one if none is."""
    while row < buffer.last and buffer.is_white(row + 1) == white:
        row += 1
    return row
