"""Growing markdown, cut into pieces that never change again, so that a stream only re-reads its open end.

A piece ends at a blank line outside a fence, unless the next line continues a list item by its indent. A piece that
grows past ``SOFT_LIMIT`` without a blank line (a long tight list, one endless line) is cut at a line or a blank, which
at worst shows as a line break.
"""

from __future__ import annotations

import re

from tui.domain.value import dataclass

SOFT_LIMIT = 4_000
"""Characters after which an unbroken piece is cut: what one frame may have to read again."""

TABLE_LIMIT = 400_000
"""The same for a table: its rows are read one by one, and a part of a table without its head is no table."""

FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*([^`\n]*)$")
CONTINUATION = re.compile(r"^(?: {2,}|\t)\S")
DELIMITER = re.compile(r"^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
LIST_ITEM = re.compile(r"^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")


@dataclass(slots=True)
class Piece:
    """A stretch of source that is laid out by itself."""

    source: str
    fence: str | None = None
    """The info string of a fenced code block; None for everything else."""
    closed: bool = True
    """False for the open end of a stream."""
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
        self._table = False
        self._finished: list[Piece] = []

    def feed(self, text: str) -> list[Piece]:
        """Take text in; the pieces that are now final."""
        if "\n" not in text:
            self._pending += text
        else:
            *whole, self._pending = (self._pending + text).split("\n")
            for line in whole:
                self._take(line)
        if self._fence is None and len(self._pending) + self._size > self._limit:
            self._cut_endless()
        finished, self._finished = self._finished, []
        return finished

    def open_end(self) -> Piece | None:
        """What is not final yet, as it would be laid out now."""
        if self._fence is not None:
            body = "\n".join([*self._lines, self._pending] if self._pending else self._lines)
            return Piece(body, fence=self._fence[2].strip(), closed=False)
        source = "\n".join([*self._lines, self._pending])
        return Piece(source, closed=False) if source.strip() else None

    @property
    def open_fence_lines(self) -> tuple[list[str], str] | None:
        """Inside a fence: its whole lines so far (not to be changed) and the unfinished one."""
        return (self._lines, self._pending) if self._fence is not None else None

    @property
    def open_table_lines(self) -> tuple[list[str], str] | None:
        """Inside what looks like a table: its whole lines so far (not to be changed) and the unfinished one."""
        return (self._lines, self._pending) if self._table else None

    def finish(self) -> list[Piece]:
        """No more comes: everything left is final."""
        if self._pending:
            line, self._pending = self._pending, ""
            self._take(line)
        if self._fence is not None:
            self._finished.append(Piece("\n".join(self._lines), fence=self._fence[2].strip()))
            self._fence, self._lines, self._size = None, [], 0
        self._close()
        finished, self._finished = self._finished, []
        return finished

    def _take(self, line: str) -> None:
        if self._fence is not None:
            self._take_code(line)
            return
        if not line.strip():
            self._blank = True
            if not self._list:
                self._close()
            elif self._lines:
                self._lines.append("")
            return
        fence = FENCE.match(line)
        if self._blank and self._list and not CONTINUATION.match(line):
            self._close()
        if fence is not None:
            self._close()
            self._fence = fence
            return
        if self._size > self._limit and (not self._list or LIST_ITEM.match(line)):
            self._close(tight=True)
        if not self._lines:
            self._list = LIST_ITEM.match(line) is not None
        self._blank = False
        self._lines.append(line)
        self._size += len(line) + 1
        if len(self._lines) == 2:
            self._table = not self._list and "|" in self._lines[0] and DELIMITER.match(line) is not None

    @property
    def _limit(self) -> int:
        return TABLE_LIMIT if self._table else SOFT_LIMIT

    def _take_code(self, line: str) -> None:
        assert self._fence is not None
        mark = self._fence[1]
        stripped = line.strip()
        if stripped and set(stripped) == {mark[0]} and len(stripped) >= len(mark) and not line.startswith("    "):
            self._finished.append(Piece("\n".join(self._lines), fence=self._fence[2].strip()))
            self._fence, self._lines, self._size = None, [], 0
        else:
            self._lines.append(line)

    def _close(self, *, tight: bool = False) -> None:
        while self._lines and not self._lines[-1]:
            self._lines.pop()
        if self._lines:
            self._finished.append(Piece("\n".join(self._lines), tight=tight))
        self._lines, self._size, self._blank, self._list, self._table = [], 0, False, False, False

    def _cut_endless(self) -> None:
        """One line without end: cut it at a blank near the limit, or anywhere."""
        while len(self._pending) > SOFT_LIMIT:
            cut = self._pending.rfind(" ", SOFT_LIMIT // 2, SOFT_LIMIT)
            cut = cut if cut > 0 else SOFT_LIMIT
            self._lines.append(self._pending[:cut])
            self._pending = self._pending[cut:].removeprefix(" ")
            self._close(tight=True)
