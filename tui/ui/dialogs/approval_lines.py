"""The text of an approval as lines: all of it, with everything that could hide a part of it shown as a mark.

Stricter than the conversation, where blanks and line ends are layout: here a run of blanks could push a word out of
sight, and a blank that is no space could make two commands look alike.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby, pairwise

from tui.domain.printable import printable
from tui.ui.markdown.code_wrap import WRAP_MARK
from tui.ui.markdown.highlight import MAX_BLOCK, highlight
from tui.ui.markdown.layout import code_lines
from tui.ui.markdown.runs import Line, Run, wrapped_after
from tui.ui.panels.page import Lines

BLANK = "·"
LONGEST_RUN = 8
"""Blanks in a row that are drawn one by one; more are counted."""
WIDEST_INDENT = 40
"""Blanks at the beginning of a line that are drawn as they are; more are counted."""
MOST_BLANK_LINES = 2
"""Blank lines in a row that are drawn as they are; more are counted."""

_OTHER_BLANKS = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000]")
_LOOKS_LIKE_A_MARK = re.compile(f"[{BLANK}⟨⟩{WRAP_MARK.strip()}]")
_RUNS = re.compile(r"(?<=\S)(?:  +| (?=\n|\Z))|^  +$", re.MULTILINE)
_INDENT = re.compile(rf"^([-+]?)( {{{WIDEST_INDENT},}})", re.MULTILINE)
_MARKS = re.compile(f"({BLANK}{{2,}}|{BLANK}+$|⟨[0-9,]+ blank(?: line)?s⟩)")
_DIFF_ROLES = {"+": "diff-added", "-": "diff-removed", "@": "muted"}


def detail_lines(detail: str) -> Lines:
    """What would be done; a diff in its colours."""
    rows = marked(detail.rstrip("\n")).split("\n")
    is_diff = detail.startswith(("--- ", "diff ")) or "\n@@ " in detail[:2_000]

    @lru_cache(maxsize=1)
    def lines(width: int) -> Sequence[Line]:
        return _with_last_blanks(code_lines([_with_marks(line) for line in _coloured(rows, is_diff=is_diff)], width))

    return lines


def marked(text: str) -> str:
    """Printable text in which blanks and blank lines can be counted."""
    text = text.replace("\r\n", "\r\r\n")  # what is left of it is a visible carriage return before the line end
    text = _OTHER_BLANKS.sub(_escape, _LOOKS_LIKE_A_MARK.sub(_escape, printable(text)))
    text = _INDENT.sub(lambda found: f"{found[1]}{_counted(len(found[2]), 'blank')}", text)
    return _without_blank_lines(_RUNS.sub(_dots, text))


def _escape(found: re.Match[str]) -> str:
    return f"\\u{{{ord(found[0]):X}}}"


def _dots(found: re.Match[str]) -> str:
    count = len(found[0])
    return BLANK * count if count <= LONGEST_RUN else _counted(count, "blank")


def _counted(count: int, what: str) -> str:
    return f"⟨{count:,} {what}s⟩"


def _without_blank_lines(text: str) -> str:
    """Each run of blank lines as one line; in a diff blank lines begin with a sign."""
    rows: list[str] = []
    for sign, same in groupby(text.split("\n"), key=_sign_of_blank):
        found = list(same)
        counted = sign is not None and len(found) > MOST_BLANK_LINES
        rows.extend([f"{sign}{_counted(len(found), 'blank line')}"] if counted else found)
    return "\n".join(rows)


def _sign_of_blank(row: str) -> str | None:
    """The sign of a diff, or "", before nothing but blanks; None where there is more."""
    bare = row.strip(f"{BLANK} ")
    return bare if bare in ("", "+", "-") else None


def _coloured(rows: list[str], *, is_diff: bool) -> list[Line]:
    if not is_diff:
        return [[Run(row, "code")] if row else [] for row in rows]
    if sum(map(len, rows)) > MAX_BLOCK:
        return [[Run(row, _DIFF_ROLES.get(row[0], "code"))] if row else [] for row in rows]
    # A diff's last row has its colour only with a line end behind it.
    return highlight([*rows, ""], "diff")[:-1]


def _with_last_blanks(lines: list[Line]) -> list[Line]:
    """Rows that are wrapped after a blank show it: two words must not look like one."""
    for line, following in pairwise(lines):
        if line and line[-1].text.endswith(" ") and wrapped_after(following):
            last = line.pop()
            line.extend([last._replace(text=last.text[:-1]), Run(BLANK, "warning")])
    return lines


def _with_marks(line: Line) -> Line:
    if not any(BLANK in run.text or "⟨" in run.text for run in line):
        return line
    pieces = [(run, _MARKS.split(run.text)) for run in line]
    return [
        run._replace(text=piece, role="warning" if number % 2 else run.role)
        for run, found in pieces
        for number, piece in enumerate(found)
        if piece
    ]
