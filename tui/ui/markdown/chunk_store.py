"""Stores the chunks of a long text compactly.

A megabyte of short paragraphs is fifteen thousand chunks; as objects they take three times the memory of their text.
All but the last few are kept in joined strings with the offsets of their ends.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import overload

from tui.domain.fast_dataclass import dataclass
from tui.ui.markdown.chunks import Chunk

TOGETHER = 256
"""Chunks in one string."""


@dataclass(slots=True)
class _Pack:
    words: str
    ends: array[int]
    special: dict[int, Chunk]
    """Chunks with attributes besides their text."""

    def chunk(self, number: int) -> Chunk:
        known = self.special.get(number)
        return known or Chunk(self.words[self.ends[number - 1] if number else 0 : self.ends[number]])


def _packed(chunks: Sequence[Chunk]) -> _Pack:
    special = {number: chunk for number, chunk in enumerate(chunks) if chunk != Chunk(chunk.source)}
    sources = ["" if number in special else chunk.source for number, chunk in enumerate(chunks)]
    return _Pack("".join(sources), array("I", accumulate(map(len, sources))), special)


class ChunkStore(Sequence[Chunk]):
    """A read-only sequence of chunks that can be extended."""

    def __init__(self) -> None:
        self._packs: list[_Pack] = []
        self._last: list[Chunk] = []

    def __len__(self) -> int:
        return len(self._packs) * TOGETHER + len(self._last)

    def extend(self, chunks: Iterable[Chunk]) -> None:
        """Add chunks at the end."""
        self._last.extend(chunks)
        while len(self._last) >= 2 * TOGETHER:
            self._packs.append(_packed(self._last[:TOGETHER]))
            del self._last[:TOGETHER]

    @overload
    def __getitem__(self, place: int) -> Chunk: ...
    @overload
    def __getitem__(self, place: slice) -> list[Chunk]: ...
    def __getitem__(self, place: int | slice) -> Chunk | list[Chunk]:
        if isinstance(place, slice):
            return [self[number] for number in range(*place.indices(len(self)))]
        if place < 0:
            place += len(self)
        pack, number = divmod(place, TOGETHER)
        if pack < len(self._packs):
            return self._packs[pack].chunk(number)
        return self._last[place - len(self._packs) * TOGETHER]

    def __iter__(self) -> Iterator[Chunk]:
        for pack in self._packs:
            for number in range(TOGETHER):
                yield pack.chunk(number)
        yield from self._last
