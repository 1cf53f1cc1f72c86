"""Rows of lines that are longer than the screen is wide: wrapped at words, or cut where the user scrolls sideways."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate

from tui.domain.blank_marks import WRAP_SIGN
from tui.domain.lazy_regex import lazy_regex
from tui.ui.graphemes import cluster_edge, is_unsure
from tui.ui.markdown.runs import WRAP_ROLE, Line, Run, line_width, plain, split_at, width_of

WRAP_MARK = f"{WRAP_SIGN} "
LEFT, RIGHT = Run("‹", "code-cut"), Run("›", "code-cut")
"""Marks where a cut line continues."""
SMALLEST = 4
"""Least columns for a row's text, however narrow the screen is."""
LONGEST_CLUSTER = 20
"""Characters that may take as little as one column."""
AFTER_BLANK = lazy_regex(r"\s(?=\S)")
AFTER_SIGN = lazy_regex(r"""[,;:(\[{=+*/|&<>](?=[\w"'@$])""")
AT_WORD = lazy_regex(r"\W(?=\w)|\w(?=\W)")
STRING = "syntax-string"


def wrap_code(line: Line, room: int) -> list[Line]:
    """The rows of a line: the first of at most ``room`` columns, the others with a mark before them.

    A row breaks after a blank, else after punctuation, else at the edge of a token; within a token only if the
    token is longer than a row.
    """
    text = plain(line)
    starts = [0, *accumulate(len(run.text) for run in line)]
    indent = min(len(text) - len(text.lstrip(" ")), room // 3)
    rest = max(SMALLEST, room - indent - len(WRAP_MARK))
    before = Run(" " * indent + WRAP_MARK, WRAP_ROLE)
    rows: list[Line] = []
    at, space = 0, max(SMALLEST, room)
    while at < len(text) or not rows:
        limit = at + _fitting(text, at, space)
        cut = _row_end(text, at, limit, line, starts, rest) if limit < len(text) else len(text)
        if cut < limit and is_unsure(text[at : limit + 1]):
            cut = at + cluster_edge(text[at:limit], cut - at)
        runs = _runs_between(line, starts, at, cut)
        rows.append([before, *runs] if rows else runs)
        at, space = cut, rest
    return rows


def _fitting(text: str, at: int, columns: int) -> int:
    """The number of characters from here on that fit, looking only as far ahead as is needed to know."""
    reach = 2 * columns
    ahead = text[at : at + reach]
    if not is_unsure(ahead):
        return split_at(ahead, columns)
    while True:
        # What ends within the last cluster's length may be cut by the reach, not by the columns.
        count = split_at(ahead, columns)
        if count < len(ahead) - LONGEST_CLUSTER or reach >= LONGEST_CLUSTER * columns or at + reach >= len(text):
            return count
        reach *= 2
        ahead = text[at : at + reach]


def cut_row(line: Line, first: int, room: int) -> Line:
    """The columns of a line from ``first`` on, at most ``room``, with a mark at each cut end."""
    if first <= 0 and line_width(line) <= room:
        return line
    text = plain(line)
    starts = [0, *accumulate(len(run.text) for run in line)]
    begin = split_at(text[: LONGEST_CLUSTER * first], first) if first > 0 else 0
    rest = text[begin : begin + LONGEST_CLUSTER * (room + 1)]
    if not rest:
        return [LEFT] if text else []
    before = [LEFT] if begin else []
    space = max(1, room - len(before))
    if width_of(rest) <= space:
        return [*before, *_runs_between(line, starts, begin, len(text))]
    end = begin + split_at(rest, space - 1)
    return [*before, *_runs_between(line, starts, begin, end), RIGHT]


def _row_end(text: str, at: int, limit: int, line: Line, starts: list[int], rest: int) -> int:
    if text[limit] == " " and text[limit - 1] != " ":
        return limit + 1  # one blank falls into the margin
    if text[limit - 1] == " " and text[at:limit].strip():
        return limit  # within blanks, or after the last of them
    index = bisect_right(starts, limit - 1) - 1
    begin, end = starts[index], starts[index + 1]
    if line[index].role == STRING and at < begin and limit < end <= begin + rest and text[at:begin].strip():
        return begin
    enough = at + (limit - at) // 3
    for pattern in (AFTER_BLANK, AFTER_SIGN):
        cut = _last_break(pattern, text, at, limit)
        if cut > enough:
            return cut
    if begin > at and text[at:begin].strip():
        return begin
    cut = _last_break(AT_WORD, text, at, limit)
    return cut if cut > at and text[at:cut].strip() else limit


def _last_break(pattern: re.Pattern[str], text: str, at: int, limit: int) -> int:
    """The end of the last match at or before ``limit``; ``at`` if there is none."""
    return max((found.end() for found in pattern.finditer(text, at, limit + 1) if found.end() <= limit), default=at)


def _runs_between(line: Line, starts: list[int], first: int, last: int) -> Line:
    found: Line = []
    index = bisect_right(starts, first) - 1
    while index < len(line) and starts[index] < last:
        run, begin = line[index], starts[index]
        part = run.text[max(0, first - begin) : last - begin]
        if part:
            found.append(run if len(part) == len(run.text) else run._replace(text=part))
        index += 1
    return found
