"""Splits growing markdown into chunks that never change again, so that streaming re-parses only the open end.

A chunk ends at a blank line outside a fence, unless the next line continues a list item by its indent. Blocks too long
to parse within one frame are split too: prose and lists at a line end or a blank (which at worst shows as a line
break), code and tables into parts that know their context. Boundaries depend only on the text, never on how it was
divided into deltas.
"""

from __future__ import annotations

import re

from tui.domain.fast_dataclass import dataclass
from tui.domain.lazy_regex import lazy_regex
from tui.typeset.diagrams.fence import is_mermaid
from tui.typeset.marks import (
    DETAILS,
    DETAILS_END,
    FOOTNOTE,
    MOST_NESTED,
    NO_SUMMARY,
    SUMMARY,
    SUMMARY_END,
    SUMMARY_LINES,
)
from tui.typeset.math.in_markdown import MOST_LINES, display_closer

SOFT_LIMIT = 4_000
"""Characters after which an unbroken chunk is cut: the most that one frame may have to parse again."""
CODE_LINES = 32
"""Lines of code in one part."""
DIAGRAM_LIMITS = (800, 40_000)
"""Lines and characters of a diagram. A longer one is code, all of which one frame has to lay out."""
TABLE_LINES, TABLE_SIZE = 64, 16_000
"""Rows, and characters, of a table in one part."""

FENCE = lazy_regex(r"^ {0,3}(`{3,}|~{3,})[ \t]*([^`\n]*)$")
CONTINUATION = lazy_regex(r"^(?: {2,}|\t)\S")
DELIMITER = lazy_regex(r"^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
LIST_ITEM = lazy_regex(r"^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
DEFINITION = lazy_regex(r"^ {0,3}[:~][ \t]+\S")
NO_ROW = lazy_regex(
    r"^(?: {4}| {0,3}(?:\t|>|(?:#{1,6}|[-*+]|\d{1,9}[.)])(?:[ \t]|$)|([-*_])(?:[ \t]*\1){2,}[ \t]*$|`{3}|~{3}))"
)
"""Lines that end a table without a blank line before them."""
MAY_BE_SPECIAL = frozenset(" \t`~-*+0123456789$\\:")
"""First characters of lines that may be markup."""


@dataclass(slots=True)
class Chunk:
    """A range of source that is laid out by itself."""

    source: str
    fence: str | None = None
    """The info string of a fenced code block; None for everything else."""
    head: str = ""
    """The first two lines of a table."""
    part: int = 0
    """The number of earlier parts of the same code block or table."""
    glued: bool = False
    """It begins within a line of code."""
    tight: bool = False
    """No blank line comes before the next chunk: it was cut only for its length."""
    inside: tuple[int, ...] = ()
    """The numbers of the ``<details>`` that contain it."""
    fold: int | None = None
    """The number of the ``<details>`` of which it is the summary."""
    opens: bool = False
    """Whether those are open as written."""
    label: str = ""
    """The label of the footnote that it defines."""


def chunk_with(chunk: Chunk, source: str) -> Chunk:
    """A chunk with another source."""
    return Chunk(
        source,
        chunk.fence,
        chunk.head,
        chunk.part,
        chunk.glued,
        chunk.tight,
        chunk.inside,
        chunk.fold,
        chunk.opens,
        chunk.label,
    )


def is_diagram(chunk: Chunk) -> bool:
    """Whether a chunk is a diagram as a whole."""
    return chunk.fence is not None and not chunk.part and not chunk.tight and is_mermaid(chunk.fence)


def is_too_long(chunk: Chunk) -> bool:
    """Whether a chunk is the first part of a diagram that was cut for its length."""
    return chunk.fence is not None and not chunk.part and chunk.tight and is_mermaid(chunk.fence)


class Splitter:
    """Takes text as it arrives; gives each finished chunk once, and the open end at any time."""

    def __init__(self) -> None:
        self._pending = ""
        self._lines: list[str] = []
        self._size = 0
        self._fence: re.Match[str] | None = None
        self._indent = 0
        """Blanks before the fence, which are removed from its lines."""
        self._blank = False
        self._list = False
        self._defines = False
        """Whether the open list is one of terms and their definitions."""
        self._table = ""
        self._display = ""
        self._display_lines = 0
        self._part = 0
        self._glued = False
        self._inside: tuple[int, ...] = ()
        self._folds = 0
        self._summary: list[str] | None = None
        """The lines of a summary that is still being read; the ``<details>`` before it may have none."""
        self._opens = False
        self._label = ""
        self._finished: list[Chunk] = []

    def feed(self, text: str) -> list[Chunk]:
        """Add text; returns the chunks that are now final."""
        if "\n" not in text:
            self._pending += text
        else:
            *whole, self._pending = (self._pending + text).split("\n")
            for line in whole:
                self._take(line)
        # A line that never ends would be parsed again as a whole with every delta.
        if len(self._pending) > SOFT_LIMIT:
            self._pending = self._cut(self._pending)
        finished, self._finished = self._finished, []
        return finished

    def open_end(self) -> Chunk | None:
        """The text that is not final yet, as it would be laid out now."""
        if self._fence is not None:
            pending = self._unindented(self._pending)
            body = "\n".join([*self._lines, pending] if pending else self._lines)
            return Chunk(body, self._fence[2].strip(), part=self._part, glued=self._glued, inside=self._inside)
        if self._summary is not None:
            return self._summary_chunk()
        label, pending = self._label, self._pending
        if label:
            pending = pending.removeprefix("    ")
        elif (footnote := FOOTNOTE.match(pending)) is not None and not self._lines:
            label, pending = footnote["label"], footnote["rest"]
        source = "\n".join([*self._lines, pending])
        if not source.strip() and not label:
            return None
        return Chunk(source, head=self._table, part=self._part, inside=self._inside, label=label)

    @property
    def open_lines(self) -> tuple[list[str], str]:
        """The whole lines of the open end (do not change the list) and the unfinished one."""
        return self._lines, self._unindented(self._pending) if self._fence is not None else self._pending

    def finish(self) -> list[Chunk]:
        """End of text: returns the remaining chunks."""
        if self._pending:
            line, self._pending = self._pending, ""
            self._take(line)
        if self._fence is not None:
            self._close_fence()
        if self._summary is not None:
            self._end_summary()
        self._close()
        finished, self._finished = self._finished, []
        return finished

    def _take(self, line: str) -> None:
        if len(line) > SOFT_LIMIT:
            line = self._cut(line)
        if self._fence is not None:
            self._take_code(line)
        elif self._summary is not None:
            self._take_summary(line)
        elif ("<" in line and self._take_details(line)) or ("[^" in line and self._take_footnote(line)):
            pass
        elif self._table:
            self._take_row(line)
        elif self._display and self._take_display(line):
            pass
        elif not line or line.isspace():
            self._take_blank()
        else:
            self._take_words(line)

    def _take_display(self, line: str) -> bool:
        """Add a line of a display formula, which no blank line ends. False if it cannot be one."""
        self._display_lines += 1
        if self._size > SOFT_LIMIT or self._display_lines >= MOST_LINES or FENCE.match(line):
            self._display = ""
            return False
        self._lines.append("" if line.isspace() else line)
        self._size += len(line) + 1
        if self._display in line:
            self._display = ""
        return True

    def _take_details(self, line: str) -> bool:
        """Begin or end a ``<details>``. False if the line does neither."""
        opened = DETAILS.match(line) if len(self._inside) < MOST_NESTED else None
        if opened is not None:
            self._close()
            self._summary, self._opens = [], opened["open"] is not None
            if opened["rest"].strip():
                self._take_summary(opened["rest"])
            return True
        ended = DETAILS_END.match(line) if self._inside else None
        if ended is None:
            return False
        if ended["before"].strip():
            self._take(ended["before"])
        self._close()
        self._inside = self._inside[:-1]
        if ended["rest"].strip():
            self._take(ended["rest"])
        return True

    def _take_summary(self, line: str) -> None:
        """Add a line after ``<details>``: of its summary, or the first one of its content if it has none."""
        assert self._summary is not None
        if not self._summary:
            begun = SUMMARY.match(line)
            if begun is None:
                if line.strip():
                    self._end_summary()
                    self._take(line)
                return
            line = begun["title"]
        title, *rest = SUMMARY_END.split(line, maxsplit=1)
        self._summary.append(title.strip())
        if rest or len(self._summary) >= SUMMARY_LINES:
            self._end_summary()
        if rest and rest[0].strip():
            self._take(rest[0])

    def _summary_chunk(self) -> Chunk:
        title = " ".join(filter(None, self._summary or ()))
        return Chunk(title or NO_SUMMARY, tight=True, inside=self._inside, fold=self._folds, opens=self._opens)

    def _end_summary(self) -> None:
        self._finished.append(self._summary_chunk())
        self._inside = (*self._inside, self._folds)
        self._summary = None
        self._folds += 1

    def _take_footnote(self, line: str) -> bool:
        """Begin the definition of a footnote. False if the line does not."""
        footnote = FOOTNOTE.match(line)
        if footnote is None:
            return False
        self._close()
        self._label, self._list = footnote["label"], True
        self._lines.append(footnote["rest"])
        self._size += len(line) + 1
        return True

    def _take_blank(self) -> None:
        self._blank = True
        if not self._list:
            self._close()
        elif self._lines:
            self._lines.append("")

    def _take_words(self, line: str) -> None:
        # Fast path: most lines start with a letter, and then none of these patterns can match.
        if line[0] in MAY_BE_SPECIAL:
            fence = FENCE.match(line)
            defines = bool(self._lines) and DEFINITION.match(line) is not None
            goes_on = CONTINUATION.match(line) is not None or (defines and self._defines)
            if self._blank and self._list and not goes_on:
                self._close()
            elif defines and not self._list:
                self._list = self._defines = True
            if fence is not None:
                self._close()
                self._fence, self._indent = fence, len(line) - len(line.lstrip(" "))
                return
            is_item = LIST_ITEM.match(line) is not None or (defines and self._defines)
            display = display_closer(line)
        else:
            is_item, display = False, ""
            if self._blank and self._list:
                self._close()
        # A list is cut only before an item: a cut within one would lose its marker and indent.
        if self._size > SOFT_LIMIT and (not self._list or is_item):
            self._close(tight=True)
        if not self._lines:
            self._list = is_item
        if self._label:
            line = line.removeprefix("    ")
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
            # Later parts carry the head along, so that they are parsed as rows of the same table.
            if self._size > TABLE_SIZE or len(self._lines) >= TABLE_LINES:
                head, part = self._table, self._part
                self._close(tight=True)
                self._table, self._part = head, part + 1
            self._lines.append(line)
            self._size += len(line) + 1

    def _take_code(self, line: str) -> None:
        assert self._fence is not None
        mark = self._fence[1]
        # The rest of a cut line is not a line start, so it cannot close the fence.
        if self._at_line_start and mark[0] in line and not line.startswith("    "):
            stripped = line.strip()
            if len(stripped) >= len(mark) and not stripped.strip(mark[0]):
                self._close_fence()
                return
        lines, size = DIAGRAM_LIMITS if self._part == 0 and is_mermaid(self._fence[2]) else (CODE_LINES, SOFT_LIMIT)
        if len(self._lines) >= lines or self._size > size:
            self._cut_code()
        line = self._unindented(line)
        self._lines.append(line)
        self._size += len(line) + 1

    @property
    def _at_line_start(self) -> bool:
        return bool(self._lines) or not self._glued

    def _unindented(self, line: str) -> str:
        """A line of code without the indent of its fence."""
        if not self._indent or not self._at_line_start:
            return line
        return line[min(self._indent, len(line) - len(line.lstrip(" "))) :]

    def _cut_code(self, *, within: bool = False) -> None:
        """End a part; the next one begins within the same line, or with the next line."""
        assert self._fence is not None
        source = "\n".join(self._lines)
        info, inside = self._fence[2].strip(), self._inside
        self._finished.append(Chunk(source, info, part=self._part, glued=self._glued, tight=True, inside=inside))
        self._lines, self._size, self._glued = [], 0, within
        self._part += 1

    def _close_fence(self) -> None:
        self._cut_code()
        # The last part is followed by other blocks, which need a blank line.
        self._finished[-1].tight = False
        self._fence, self._part = None, 0

    def _close(self, *, tight: bool = False) -> None:
        # Blank lines collected in case the list went on.
        while self._lines and not self._lines[-1]:
            self._lines.pop()
        if self._lines or self._label:
            source, inside, label = "\n".join(self._lines), self._inside, self._label
            chunk = Chunk(source, head=self._table, part=self._part, tight=tight, inside=inside, label=label)
            self._finished.append(chunk)
        self._lines, self._size, self._blank, self._list, self._defines = [], 0, False, False, False
        self._table, self._part, self._display, self._label = "", 0, "", ""

    def _cut(self, line: str) -> str:
        """Cut an overlong line at a blank near the limit, or anywhere; returns the rest."""
        at = 0
        if self._fence is not None:
            bare = self._unindented(line)
            if len(bare) <= SOFT_LIMIT:
                return line
            line = bare
            if self._lines:
                self._cut_code()
        while len(line) - at > SOFT_LIMIT:
            if self._fence is not None:
                self._lines.append(line[at : at + SOFT_LIMIT])
                self._cut_code(within=True)
                at += SOFT_LIMIT
                continue
            # Not before half the limit: short chunks would make the number of chunks, and so the cost, grow.
            cut = line.rfind(" ", at + SOFT_LIMIT // 2, at + SOFT_LIMIT)
            cut = cut if cut > 0 else at + SOFT_LIMIT
            self._lines.append(line[at:cut])
            at = cut + 1 if line[cut] == " " else cut
            self._close(tight=True)
        return line[at:]
