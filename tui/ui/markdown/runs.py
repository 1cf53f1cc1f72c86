"""Styled text without colours: runs, lines, and wrapping.

A run names a *role* ("code", "heading" …); the theme maps roles to colours when a line is drawn, so a theme change
needs no layout and layout needs no theme.
"""

from __future__ import annotations

import re
from enum import IntFlag
from typing import NamedTuple

from rich.cells import cell_len, get_character_cell_size

from tui.ui.graphemes import clusters, is_unsure


class Look(IntFlag):
    """Attributes added to a role's colour."""

    PLAIN = 0
    BOLD = 1
    ITALIC = 2
    STRIKE = 4
    UNDERLINE = 8
    ADDED = 16
    REMOVED = 32
    CHANGED = ADDED | REMOVED
    """Lines of a diff, drawn on a tint."""


class Run(NamedTuple):
    """Text in one role and look, optionally a link."""

    text: str
    role: str = "text"
    look: Look = Look.PLAIN
    href: str = ""
    written: str = ""
    """What copying gives instead of the text: the source of a formula."""


Line = list[Run]

WRAP_ROLE = "code-wrap"
"""The role of everything before the text of a continuation row; copying leaves it out."""
CODE_EDGE = "code-edge"
"""The role of the indent of a code block: from here on the row is drawn on the code's own background."""
CODE_HEAD_ROLES = ("code-label", "code-copy")
"""Roles of the words above a code block, which are not part of the text."""
QUOTE_BAR = "▎ "
LONG_ROW = 2_000
"""Rows from this many characters on are cut line by line, which is ten times as fast; shorter ones take little time."""
MOST_BEFORE = 12
"""Runs that may precede the text of a row: bars of quotes, indents of lists."""
BLANKS = re.compile(" +")


def width_of(text: str) -> int:
    return len(text) if text.isascii() else cell_len(text)


def line_width(line: Line) -> int:
    return sum(width_of(run.text) for run in line)


def plain(line: Line) -> str:
    """The line's characters."""
    return "".join(run.text for run in line)


def wrapped_after(line: Line) -> int:
    """The number of characters before the text of a continuation row; 0 for any other row."""
    at = 0
    for run in line[:MOST_BEFORE]:
        at += len(run.text)
        if run.role == WRAP_ROLE:
            return at
        if not run.text.isspace() and run.text != QUOTE_BAR and run.role != "thinking-bar":
            break
    return 0


def split_at(text: str, columns: int) -> int:
    """The number of characters that fit into the columns, at least one, so that layout always advances."""
    if text.isascii():
        return max(1, columns)
    used = 0
    if is_unsure(text):
        return _clusters_within(text, columns)
    for position, character in enumerate(text):
        used += get_character_cell_size(character)
        if used > columns:
            return max(1, position)
    return len(text)


def _clusters_within(text: str, columns: int) -> int:
    used, at = 0, 0
    for cluster, width in clusters(text):
        used += width
        if used > columns:
            return at or len(cluster)
        at += len(cluster)
    return at


def wrap(runs: Line, width: int, first: Line | None = None, rest: Line | None = None) -> list[Line]:
    """Break runs into lines of at most ``width`` columns, at blanks where possible.

    ``first`` precedes the first line and ``rest`` the others (a list marker and its indent). A newline in a run
    breaks the line.
    """
    return _Wrapper(max(1, width), first or [], rest if rest is not None else (first or [])).wrap(runs)


class _Wrapper:
    """The state of one wrapping: finished lines, the open line, the current word."""

    def __init__(self, width: int, first: Line, rest: Line) -> None:
        self._width = width
        self._rest = rest
        self._line: Line = list(first)
        self._indent = line_width(first)
        self._used = self._indent
        self._lines: list[Line] = []
        self._word: Line = []
        self._word_width = 0

    def wrap(self, runs: Line) -> list[Line]:
        for run in runs:
            self._take(run)
        self._place_word()
        self._lines.append(self._line)
        return [_joined(line) for line in self._lines]

    def _take(self, run: Run) -> None:
        style = run[1:]  # a third of the time of ``_replace``
        for number, row in enumerate(run.text.split("\n")):
            if number:
                self._place_word()
                self._break()
            if len(row) > LONG_ROW and row.isascii():
                row = self._take_long(run, row)
            for piece in _split_words(row):
                if piece == " ":
                    self._place_word()
                    self._blank(run)
                else:
                    self._word.append(Run(piece, *style))
                    self._word_width += width_of(piece)

    def _take_long(self, run: Run, row: str) -> str:
        """Cut a long row of plain characters line by line instead of word by word; returns the rest."""
        row = BLANKS.sub(" ", row)
        at = 0
        if self._word or row.startswith(" "):
            return row
        while len(row) - at > 2 * self._width:
            room = self._width - self._used
            cut = row.rfind(" ", at, at + room + 1)
            if cut < 0 and self._used > self._indent:
                self._break()
                continue
            end = cut if cut >= 0 else at + max(1, room)
            self._line.append(run._replace(text=row[at:end]))
            self._break()
            at = end + 1 if cut >= 0 else end
        return row[at:]

    def _blank(self, run: Run) -> None:
        if self._used == self._indent and self._lines:
            return
        if self._used + 1 > self._width:
            self._break()
            return
        self._line.append(Run(" ", *run[1:]))
        self._used += 1

    def _place_word(self) -> None:
        if not self._word:
            return
        if self._used + self._word_width > self._width and self._used > self._indent:
            self._break()
        if self._used + self._word_width <= self._width:
            self._line.extend(self._word)
            self._used += self._word_width
        else:
            for run in self._word:
                self._place_by_force(run)
        self._word, self._word_width = [], 0

    def _place_by_force(self, run: Run) -> None:
        text = run.text
        while text:
            room = self._width - self._used
            if room <= 0:
                if self._used > self._indent:
                    self._break()
                    continue
                room = 1
            if width_of(text) <= room:
                self._line.append(run._replace(text=text))
                self._used += width_of(text)
                return
            cut = split_at(text, room)
            self._line.append(run._replace(text=text[:cut]))
            text = text[cut:]
            self._used = self._width
            if text:
                self._break()

    def _break(self) -> None:
        while self._line and self._line[-1].text == " " and len(self._line) > len(self._rest):
            self._line.pop()
        self._lines.append(self._line)
        self._line = list(self._rest)
        self._indent = line_width(self._rest)
        self._used = self._indent


def _split_words(row: str) -> list[str]:
    """Words, and a single " " for every run of blanks."""
    if " " not in row:
        return [row] if row else []
    words = row.split(" ")
    found: list[str] = []
    for number, word in enumerate(words):
        if number and (not found or found[-1] != " "):
            found.append(" ")
        if word:
            found.extend(_breakable(word))
    return found


def _breakable(word: str) -> list[str]:
    """Split between wide characters, never within a cluster; other text is not split."""
    if word.isascii():
        return [word]
    found: list[str] = []
    narrow = ""
    for part, width in clusters(word) if is_unsure(word) else ((each, get_character_cell_size(each)) for each in word):
        if width == 2:
            found.extend([narrow, part] if narrow else [part])
            narrow = ""
        else:
            narrow += part
    return [*found, narrow] if narrow else found


def _joined(line: Line) -> Line:
    """Merge neighbouring runs of one style."""
    if len(line) < 2:
        return line
    found: Line = []
    texts: list[str] = []
    last: Run | None = None
    for run in line:
        if last is not None and run.role == last.role and run.look == last.look and run[3:] == last[3:]:
            texts.append(run.text)
            continue
        if last is not None:
            found.append(last._replace(text="".join(texts)))
        last, texts = run, [run.text]
    if last is not None:
        found.append(last._replace(text="".join(texts)))
    return found
