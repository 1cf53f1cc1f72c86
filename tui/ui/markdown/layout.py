"""Lays out blocks at a width. Lines of code are wrapped at words, or cut where the user scrolls them sideways."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import assert_never

from tui.ui.graphemes import cluster_edge, is_unsure
from tui.ui.markdown.highlight import highlight, language_of
from tui.ui.markdown.runs import WRAP_ROLE, Line, Look, Run, line_width, plain, split_at, width_of, wrap
from tui.ui.markdown.tables import lay_table
from tui.ui.markdown.tokens import Code, Formula, ItemList, Node, Paragraph, Quote, Rule, Table

WRAP_MARK = "↪ "
LEFT, RIGHT = Run("‹", "code-cut"), Run("›", "code-cut")
"""Marks where a cut line continues."""
SMALLEST = 4
"""Least columns for a row's text, however narrow the screen is."""
LONGEST_CLUSTER = 20
"""Characters that may take as little as one column."""
AFTER_BLANK = re.compile(r"\s(?=\S)")
AFTER_SIGN = re.compile(r"""[,;:(\[{=+*/|&<>](?=[\w"'@$])""")
AT_WORD = re.compile(r"\W(?=\w)|\w(?=\W)")
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
        ahead = text[at : at + 2 * space]
        if is_unsure(ahead):
            ahead = text[at : at + LONGEST_CLUSTER * space]
        limit = at + split_at(ahead, space)
        cut = _row_end(text, at, limit, line, starts, rest) if limit < len(text) else len(text)
        if cut < limit and is_unsure(text[at : limit + 1]):
            cut = at + cluster_edge(text[at:limit], cut - at)
        runs = _runs_between(line, starts, at, cut)
        rows.append([before, *runs] if rows else runs)
        at, space = cut, rest
    return rows


def cut_code(line: Line, first: int, room: int) -> Line:
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


CODE_INDENT: Line = [Run("  ", "code")]
BULLETS = "•◦▪"


def lay(
    nodes: Sequence[Node], width: int, *, depth: int = 0, tight: bool = False, sideways: int | None = None
) -> list[Line]:
    """Lines of consecutive blocks, with a blank line between them unless ``tight``.

    ``sideways`` is the first visible column of code whose lines are cut instead of wrapped.
    """
    lines: list[Line] = []
    for number, node in enumerate(nodes):
        if number and not (tight and isinstance(node, ItemList)):
            lines.append([])
        lines.extend(_lay_one(node, width, depth, sideways))
    return lines


def _lay_one(node: Node, width: int, depth: int, sideways: int | None) -> list[Line]:
    match node:
        case Paragraph(runs, level):
            return _heading(runs, level, width) if level else _with_targets(wrap(runs, width), width)
        case Code(text, info):
            return lay_code(text.split("\n"), info, width, sideways)
        case Formula(source):
            return code_lines([[Run(row, "math")] if row else [] for row in source.split("\n")], width)
        case Rule():
            return [[Run("─" * width, "rule")]]
        case Quote(blocks):
            inner = lay(blocks, max(8, width - 2), depth=depth, sideways=sideways)
            return [[Run("▎ ", "rule"), *_recoloured(line, "muted")] for line in inner]
        case ItemList() | Table():
            if isinstance(node, ItemList):
                lines = _list(node, width, depth, sideways)
            else:
                lines = lay_table(node.rows, node.align, width)
            return lines
        case _:
            assert_never(node)


def _heading(runs: Line, level: int, width: int) -> list[Line]:
    look = Look.BOLD | (Look.UNDERLINE if level == 1 else Look.PLAIN)
    styled = [run._replace(role="heading" if run.role == "text" else run.role, look=run.look | look) for run in runs]
    mark: Line = [Run("#" * level + " ", "muted")] if level > 3 else []
    return wrap(styled, width, mark, [Run(" " * line_width(mark))] if mark else [])


def _recoloured(line: Line, role: str) -> Line:
    return [run._replace(role=role) if run.role == "text" else run for run in line]


def _with_targets(lines: list[Line], width: int) -> list[Line]:
    """Add the address after each link whose text is not its address, once, muted."""
    found: list[Line] = []
    for number, line in enumerate(lines):
        line_after = lines[number + 1] if number + 1 < len(lines) else []
        shown: Line = []
        for position, run in enumerate(line):
            shown.append(run)
            following = line[position + 1] if position + 1 < len(line) else (line_after[0] if line_after else None)
            ends = following is None or following.href != run.href
            if run.href and run.role == "link" and ends and run.href not in (run.text, f"mailto:{run.text}"):
                shown.append(Run(f" ({run.href})", "muted", Look.PLAIN, run.href))
        found.extend(wrap(shown, width) if len(shown) != len(line) else [line])
    return found


def lay_code(code: list[str], info: str, width: int, sideways: int | None = None) -> list[Line]:
    """A code block: its language above, every line indented, long lines wrapped."""
    return [code_head(info, width), *code_lines(highlight(code, info), width, sideways)]


def code_head(info: str, width: int) -> Line:
    """The line above a code block."""
    return [Run(f"  {language_of(info)[: max(0, width - 2)]}", "code-label")]


def code_lines(lines: Sequence[Line], width: int, sideways: int | None = None) -> list[Line]:
    """Indented lines; long ones are wrapped, or cut to start at column ``sideways``."""
    room = max(4, width - 4)
    if sideways is not None:
        return [[*CODE_INDENT, *cut_code(line, sideways, room)] for line in lines]
    found: list[Line] = []
    for line in lines:
        if line_width(line) <= room:
            found.append([*CODE_INDENT, *line])
        else:
            found.extend([*CODE_INDENT, *part] for part in wrap_code(line, room))
    return found


def _list(node: ItemList, width: int, depth: int, sideways: int | None) -> list[Line]:
    lines: list[Line] = []
    last = (node.start or 0) + len(node.items) - 1
    columns = len(str(last)) + 2 if node.start is not None else 2
    for number, blocks in enumerate(node.items):
        if number and node.loose:
            lines.append([])
        mark = f"{node.start + number}." if node.start is not None else BULLETS[min(depth, 2)]
        task = _task(blocks)
        if task is not None:
            mark, blocks = task
        head = Run(mark.rjust(columns - 1) + " ", "list-mark")
        columns_here = width_of(head.text)
        room = max(8, width - columns_here)
        inner = lay(blocks, room, depth=depth + 1, tight=not node.loose, sideways=sideways) or [[]]
        lines.append([head, *inner[0]])
        lines.extend([Run(" " * columns_here), *line] if line else [] for line in inner[1:])
    return lines


def _task(blocks: tuple[Node, ...]) -> tuple[str, tuple[Node, ...]] | None:
    """The box of a ``[ ]`` or ``[x]`` item and the rest of the item; None for other items."""
    if not blocks or not isinstance(blocks[0], Paragraph) or not blocks[0].runs:
        return None
    first = blocks[0].runs[0]
    for written, drawn in (("[ ] ", "☐"), ("[x] ", "☑"), ("[X] ", "☑")):
        if first.text.startswith(written):
            paragraph = Paragraph([first._replace(text=first.text[4:]), *blocks[0].runs[1:]], blocks[0].level)
            return drawn, (paragraph, *blocks[1:])
    return None


def text_of(lines: Sequence[Line]) -> str:
    """The characters of lines, for tests and copying."""
    return "\n".join(plain(line).rstrip() for line in lines)
