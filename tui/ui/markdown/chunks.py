"""Growing markdown, cut into pieces that never change again, so that a stream only re-reads its open end.

A piece ends at a blank line outside a fence, unless the next line continues a list item by its indent. What goes on
for longer than a frame may take to read is cut as well: prose and lists at a line or a blank (which at worst shows as
a line break), code and tables into parts that know what they go on with. Where is decided by the text alone, never by
how it came.
"""

from __future__ import annotations

import re

from tui.domain.fast_dataclass import dataclass
from tui.ui.markdown.formulas import MOST_LINES, display_closer

SOFT_LIMIT = 4_000
"""Characters after which an unbroken piece is cut: what one frame may have to read again."""
CODE_LINES = 32
"""Lines of code that are one part."""
TABLE_LINES, TABLE_SIZE = 64, 16_000
"""Rows, and characters, of a table that are one part."""

FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*([^`\n]*)$")
CONTINUATION = re.compile(r"^(?: {2,}|\t)\S")
DELIMITER = re.compile(r"^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
LIST_ITEM = re.compile(r"^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
NO_ROW = re.compile(
    r"^(?: {4}| {0,3}(?:\t|>|(?:#{1,6}|[-*+]|\d{1,9}[.)])(?:[ \t]|$)|([-*_])(?:[ \t]*\1){2,}[ \t]*$|`{3}|~{3}))"
)
"""Lines that end a table without a blank one before them."""
MAY_BE_SPECIAL = frozenset(" \t`~-*+0123456789$\\")
"""First characters of lines that are more than words."""


@dataclass(slots=True)
class Chunk:
    """A stretch of source that is laid out by itself."""

    source: str
    fence: str | None = None
    """The info string of a fenced code block; None for everything else."""
    head: str = ""
    """Of a table: its first two lines."""
    part: int = 0
    """How many parts of the same code or table come before this one."""
    glued: bool = False
    """It begins in the midst of a line of code."""
    tight: bool = False
    """No blank line stands before the next piece: it was cut only for its length."""


class Splitter:
    """Takes text as it comes; gives finished pieces once and the open end at any time."""

    def __init__(self) -> None:
        self._pending = ""
        self._lines: list[str] = []
        self._size = 0
        self._fence: re.Match[str] | None = None
        self._blank = False
        self._list = False
        self._table = ""
        self._display = ""
        self._display_lines = 0
        self._part = 0
        self._glued = False
        self._finished: list[Chunk] = []

    def feed(self, text: str) -> list[Chunk]:
        """Take text in; the pieces that are now final."""
        if "\n" not in text:
            self._pending += text
        else:
            *whole, self._pending = (self._pending + text).split("\n")
            for line in whole:
                self._take(line)
        if len(self._pending) > SOFT_LIMIT:
            self._pending = self._cut(self._pending)
        finished, self._finished = self._finished, []
        return finished

    def open_end(self) -> Chunk | None:
        """What is not final yet, as it would be laid out now."""
        if self._fence is not None:
            body = "\n".join([*self._lines, self._pending] if self._pending else self._lines)
            return Chunk(body, self._fence[2].strip(), part=self._part, glued=self._glued)
        source = "\n".join([*self._lines, self._pending])
        return Chunk(source, head=self._table, part=self._part) if source.strip() else None

    @property
    def open_lines(self) -> tuple[list[str], str]:
        """The whole lines of the open end (not to be changed) and the unfinished one."""
        return self._lines, self._pending

    def finish(self) -> list[Chunk]:
        """No more comes: everything left is final."""
        if self._pending:
            line, self._pending = self._pending, ""
            self._take(line)
        if self._fence is not None:
            self._close_fence()
        self._close()
        finished, self._finished = self._finished, []
        return finished

    def _take(self, line: str) -> None:
        if len(line) > SOFT_LIMIT:
            line = self._cut(line)
        if self._fence is not None:
            self._take_code(line)
        elif self._table:
            self._take_row(line)
        elif self._display and self._take_display(line):
            pass
        elif not line or line.isspace():
            self._take_blank()
        else:
            self._take_words(line)

    def _take_display(self, line: str) -> bool:
        """A line of a display: nothing in it ends the piece. False where it cannot be one."""
        self._display_lines += 1
        if self._size > SOFT_LIMIT or self._display_lines >= MOST_LINES or FENCE.match(line):
            self._display = ""
            return False
        self._lines.append("" if line.isspace() else line)
        self._size += len(line) + 1
        if self._display in line:
            self._display = ""
        return True

    def _take_blank(self) -> None:
        self._blank = True
        if not self._list:
            self._close()
        elif self._lines:
            self._lines.append("")

    def _take_words(self, line: str) -> None:
        if line[0] in MAY_BE_SPECIAL:
            fence = FENCE.match(line)
            if self._blank and self._list and not CONTINUATION.match(line):
                self._close()
            if fence is not None:
                self._close()
                self._fence = fence
                return
            is_item = LIST_ITEM.match(line) is not None
            display = display_closer(line)
        else:
            is_item, display = False, ""
            if self._blank and self._list:
                self._close()
        if self._size > SOFT_LIMIT and (not self._list or is_item):
            self._close(tight=True)
        if not self._lines:
            self._list = is_item
        self._blank = False
        self._display, self._display_lines = display, 0
        self._lines.append(line)
        self._size += len(line) + 1
        if len(self._lines) == 2 and not self._list and "|" in self._lines[0] and DELIMITER.match(line):
            self._table = "\n".join(self._lines)

    def _take_row(self, line: str) -> None:
        if not line or line.isspace():
            self._close()
            self._blank = True
        elif NO_ROW.match(line):
            self._close()
            self._take_words(line)
        else:
            if self._size > TABLE_SIZE or len(self._lines) >= TABLE_LINES:
                head, part = self._table, self._part
                self._close(tight=True)
                self._table, self._part = head, part + 1
            self._lines.append(line)
            self._size += len(line) + 1

    def _take_code(self, line: str) -> None:
        assert self._fence is not None
        mark = self._fence[1]
        begins = bool(self._lines) or not self._glued
        if begins and mark[0] in line and not line.startswith("    "):
            stripped = line.strip()
            if len(stripped) >= len(mark) and not stripped.strip(mark[0]):
                self._close_fence()
                return
        if len(self._lines) >= CODE_LINES or self._size > SOFT_LIMIT:
            self._cut_code()
        self._lines.append(line)
        self._size += len(line) + 1

    def _cut_code(self, *, within: bool = False) -> None:
        """The lines so far are a part; the next begins within the same line, or with the next."""
        assert self._fence is not None
        source = "\n".join(self._lines)
        self._finished.append(Chunk(source, self._fence[2].strip(), part=self._part, glued=self._glued, tight=True))
        self._lines, self._size, self._glued = [], 0, within
        self._part += 1

    def _close_fence(self) -> None:
        self._cut_code()
        self._finished[-1].tight = False
        self._fence, self._part = None, 0

    def _close(self, *, tight: bool = False) -> None:
        while self._lines and not self._lines[-1]:
            self._lines.pop()
        if self._lines:
            self._finished.append(Chunk("\n".join(self._lines), head=self._table, part=self._part, tight=tight))
        self._lines, self._size, self._blank, self._list = [], 0, False, False
        self._table, self._part, self._display = "", 0, ""

    def _cut(self, line: str) -> str:
        """A line without end: cut it at a blank near the limit, or anywhere; what is left of it."""
        at = 0
        if self._fence is not None and self._lines:
            self._cut_code()
        while len(line) - at > SOFT_LIMIT:
            if self._fence is not None:
                self._lines.append(line[at : at + SOFT_LIMIT])
                self._cut_code(within=True)
                at += SOFT_LIMIT
                continue
            cut = line.rfind(" ", at + SOFT_LIMIT // 2, at + SOFT_LIMIT)
            cut = cut if cut > 0 else at + SOFT_LIMIT
            self._lines.append(line[at:cut])
            at = cut + 1 if line[cut] == " " else cut
            self._close(tight=True)
        return line[at:]
