"""Splits growing markdown into chunks that never change again, so that streaming re-parses only the open end.

A chunk ends at a blank line outside a fence, unless the next line continues a list item by its indent. Blocks too long
to parse within one frame are split too: prose and lists at a line end or a blank (which at worst shows as a line
break), code and tables into parts that know their context. Boundaries depend only on the text, never on how it was
divided into deltas.

``ChunkStore`` keeps them compactly: a megabyte of short paragraphs is fifteen thousand chunks, which as objects take
three times the memory of their text. All but the last few are offsets into the text, and the text is the caller's own
strings.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import overload

from tui.domain.fast_dataclass import dataclass
from tui.ui.markdown.formulas import MOST_LINES, display_closer

SOFT_LIMIT = 4_000
"""Characters after which an unbroken chunk is cut: the most that one frame may have to parse again."""
CODE_LINES = 32
"""Lines of code in one part."""
TABLE_LINES, TABLE_SIZE = 64, 16_000
"""Rows, and characters, of a table in one part."""

FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*([^`\n]*)$")
CONTINUATION = re.compile(r"^(?: {2,}|\t)\S")
DELIMITER = re.compile(r"^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
LIST_ITEM = re.compile(r"^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
DEFINITION = re.compile(r"^ {0,3}[:~][ \t]+\S")
NO_ROW = re.compile(
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
            return Chunk(body, self._fence[2].strip(), part=self._part, glued=self._glued)
        source = "\n".join([*self._lines, self._pending])
        return Chunk(source, head=self._table, part=self._part) if source.strip() else None

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
        if len(self._lines) >= CODE_LINES or self._size > SOFT_LIMIT:
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
        self._finished.append(Chunk(source, self._fence[2].strip(), part=self._part, glued=self._glued, tight=True))
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
        if self._lines:
            self._finished.append(Chunk("\n".join(self._lines), head=self._table, part=self._part, tight=tight))
        self._lines, self._size, self._blank, self._list, self._defines = [], 0, False, False, False
        self._table, self._part, self._display = "", 0, ""

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


KEPT = 256
"""Chunks at the end that are kept as objects: the open end's neighbours are read again and again."""
GAP = 400
"""Most characters between two chunks that are searched for the second one: blank lines, and the lines of a fence."""
LONGEST = 65_535
"""Characters of a chunk whose size fits the array."""
SHORT = 4_096
"""Characters up to which strings are joined: each takes more memory than its text."""


class SharedText:
    """A growing text in the strings it came in."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._ends: list[int] = []

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def append(self, text: str) -> None:
        """Add text at the end. Short strings are joined, because each takes more memory than its text."""
        if not text:
            return
        if self._pieces and len(self._pieces[-1]) + len(text) <= SHORT:
            self._pieces[-1] += text
            self._ends[-1] += len(text)
        else:
            self._ends.append(len(self) + len(text))
            self._pieces.append(text)

    def cut(self, length: int) -> None:
        """Remove text from the end."""
        wanted = len(self) - length
        while self._ends and self._ends[-1] > wanted:
            last, end = self._pieces.pop(), self._ends.pop()
            self.append(last[: max(0, len(last) - (end - wanted))])

    def part(self, start: int, end: int) -> str:
        """The text between two offsets."""
        index = bisect_right(self._ends, start)
        found: list[str] = []
        while index < len(self._pieces) and start < end:
            before = self._ends[index - 1] if index else 0
            found.append(self._pieces[index][start - before : end - before])
            start = self._ends[index]
            index += 1
        return found[0] if len(found) == 1 else "".join(found)

    def replace(self, text: str) -> None:
        """Refer to this equal string instead of the pieces."""
        if len(text) == len(self):
            self._pieces, self._ends = [text], [len(text)]


@dataclass(slots=True)
class _Attributes:
    """What a chunk has besides its text; its text too if it does not occur in the shared text."""

    chunk: Chunk
    source: str | None


class ChunkStore(Sequence[Chunk]):
    """A read-only sequence of chunks that can be extended. Chunks are cut from ``text``, which grows ahead of them."""

    def __init__(self, text: SharedText | None = None) -> None:
        self._text = text if text is not None else SharedText()
        self._starts = array("I")
        self._sizes = array("H")
        self._special: dict[int, _Attributes] = {}
        self._last: list[Chunk] = []
        self._end = 0
        """Where the last chunk that was found in the text ends."""
        self._missed = 0
        """How far beyond that the next one may be, because chunks between them were not found."""

    def __len__(self) -> int:
        return len(self._starts) + len(self._last)

    def extend(self, chunks: Iterable[Chunk]) -> None:
        """Add chunks at the end."""
        self._last.extend(chunks)
        if len(self._last) >= 2 * KEPT:
            self._pack(self._last[:-KEPT])
            del self._last[:-KEPT]

    def _pack(self, chunks: Sequence[Chunk]) -> None:
        start, length = self._end, sum(len(chunk.source) + GAP for chunk in chunks)
        text, at, missed = self._text.part(start, start + self._missed + length), 0, self._missed
        for chunk in chunks:
            source, size = chunk.source, len(chunk.source)
            found = text.find(source, at, at + missed + size + GAP) if size <= LONGEST else -1
            number = len(self._starts)
            if found < 0:
                self._special[number] = _Attributes(chunk, source)
            elif chunk.fence is not None or chunk.head or chunk.part or chunk.glued or chunk.tight:
                bare = Chunk("", chunk.fence, chunk.head, chunk.part, chunk.glued, chunk.tight)
                self._special[number] = _Attributes(bare, None)
            self._starts.append(start + max(found, 0))
            self._sizes.append(size if found >= 0 else 0)
            at, missed = (found + size, 0) if found >= 0 else (at, min(missed + size + GAP, LONGEST))
        self._end = start + at
        self._missed = missed

    def _packed(self, index: int) -> Chunk:
        special = self._special.get(index)
        if special is not None and special.source is not None:
            return special.chunk
        start = self._starts[index]
        source = self._text.part(start, start + self._sizes[index])
        if special is None:
            return Chunk(source)
        chunk = special.chunk
        return Chunk(source, chunk.fence, chunk.head, chunk.part, chunk.glued, chunk.tight)

    @overload
    def __getitem__(self, index: int) -> Chunk: ...
    @overload
    def __getitem__(self, index: slice) -> list[Chunk]: ...
    def __getitem__(self, index: int | slice) -> Chunk | list[Chunk]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        if index < 0:
            index += len(self)
        packed = len(self._starts)
        return self._packed(index) if 0 <= index < packed else self._last[index - packed]

    def __iter__(self) -> Iterator[Chunk]:
        for index in range(len(self._starts)):
            yield self._packed(index)
        yield from self._last
