"""Shows blanks that could hide something in a text that the user is asked to allow."""

from __future__ import annotations

import re
from itertools import groupby

from tui.domain.lazy_regex import lazy_regex
from tui.domain.printable import printable

BLANK = "·"
LONGEST_RUN = 8
"""Consecutive blanks drawn one by one; longer runs are counted."""
WIDEST_INDENT = 40
"""Leading blanks of a line drawn as they are; longer indents are counted."""
MOST_BLANK_LINES = 2
"""Consecutive blank lines drawn as they are; longer runs are counted."""
WRAP_SIGN = "↪"
"""Begins a row that continues the one above it on the screen."""

_OTHER_BLANKS = lazy_regex("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000]")
_LOOKS_LIKE_A_MARK = lazy_regex(f"[{BLANK}⟨⟩{WRAP_SIGN}]")
_RUNS = lazy_regex(r"(?<=\S)(?: +(?=\n|\Z)|(?<!^[-+])  +)|^  +$", re.MULTILINE)
"""All but indents, also those after the sign of a diff: they hide nothing."""
_INDENT = lazy_regex(rf"^([-+]?)( {{{WIDEST_INDENT},}})", re.MULTILINE)


def marked(text: str) -> str:
    """Printable text in which runs of blanks and blank lines are counted."""
    text = text.replace("\r\n", "\r\r\n")  # keeps the carriage return visible before the line end
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
    """Replace each run of blank lines by one line; blank lines of a diff begin with its sign."""
    rows: list[str] = []
    for sign, same in groupby(text.split("\n"), key=_sign_of_blank):
        found = list(same)
        counted = sign is not None and len(found) > MOST_BLANK_LINES
        rows.extend([f"{sign}{_counted(len(found), 'blank line')}"] if counted else found)
    return "\n".join(rows)


def _sign_of_blank(row: str) -> str | None:
    """The diff sign (or "") of a line that is otherwise blank; None for other lines."""
    bare = row.strip(f"{BLANK} ")
    return bare if bare in ("", "+", "-") else None
