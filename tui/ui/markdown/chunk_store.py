"""Keeps the chunks of a text compactly.

A megabyte of short paragraphs is fifteen thousand chunks, which as objects take three times the memory of their text.
All but the last few are offsets into the text, and the text is the caller's own strings.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import overload

from tui.domain.fast_dataclass import dataclass
from tui.ui.markdown.chunks import Chunk, chunk_with

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
            elif chunk != Chunk(source):
                self._special[number] = _Attributes(chunk_with(chunk, ""), None)
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
        return chunk_with(special.chunk, source)

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
