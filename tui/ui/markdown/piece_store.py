"""The pieces of a long text, kept small.

A megabyte of short paragraphs is fifteen thousand pieces, and as objects they take three times what their words take.
All but the last few stand together in one string with the places where they end.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import overload

from tui.domain.fast_dataclass import dataclass
from tui.ui.markdown.chunks import Chunk

TOGETHER = 256
"""Pieces in one string."""


@dataclass(slots=True)
class _Pack:
    words: str
    ends: array[int]
    special: dict[int, Chunk]
    """Those that are more than words, as they are."""

    def piece(self, number: int) -> Chunk:
        known = self.special.get(number)
        return known or Chunk(self.words[self.ends[number - 1] if number else 0 : self.ends[number]])


def _packed(pieces: Sequence[Chunk]) -> _Pack:
    special = {number: piece for number, piece in enumerate(pieces) if piece != Chunk(piece.source)}
    sources = ["" if number in special else piece.source for number, piece in enumerate(pieces)]
    return _Pack("".join(sources), array("I", accumulate(map(len, sources))), special)


class Pieces(Sequence[Chunk]):
    """Pieces in order; more come only at the end. What is taken out is not to be changed."""

    def __init__(self) -> None:
        self._packs: list[_Pack] = []
        self._last: list[Chunk] = []

    def __len__(self) -> int:
        return len(self._packs) * TOGETHER + len(self._last)

    def extend(self, pieces: Iterable[Chunk]) -> None:
        """More of them."""
        self._last.extend(pieces)
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
            return self._packs[pack].piece(number)
        return self._last[place - len(self._packs) * TOGETHER]

    def __iter__(self) -> Iterator[Chunk]:
        for pack in self._packs:
            for number in range(TOGETHER):
                yield pack.piece(number)
        yield from self._last
