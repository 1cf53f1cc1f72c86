"""Link definitions of a text that is read out of order: a piece sees those that stand above it, whoever reads first."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tui.ui.markdown.chunks import Chunk

MOST_PIECES = 16
"""Pieces looked into for definitions; a text with more of them is data, and reading it all would hold up the screen."""

Found = dict[str, object]
"""What the parser keeps: label to address and title."""


class References:
    """Definitions by the piece they stand in."""

    def __init__(self, read: Callable[[str, Found], object]) -> None:
        self._read = read
        self._noted: list[tuple[int, str]] = []
        self._looked = 0
        self._known: dict[str, tuple[int, object]] = {}

    def note(self, first: int, pieces: Sequence[Chunk]) -> None:
        """Pieces came, the first of them with this number; which of them may define something is all that is asked."""
        for number, piece in enumerate(pieces, first):
            if "]:" in piece.source and piece.fence is None and len(self._noted) < MOST_PIECES:
                self._noted.append((number, piece.source))

    def above(self, piece: int) -> Found:
        """What the pieces above this one define."""
        if not self._noted:
            return {}
        while self._looked < len(self._noted) and self._noted[self._looked][0] < piece:
            number, source = self._noted[self._looked]
            self._looked += 1
            seen = {label: target for label, (_, target) in self._known.items()}
            self._read(source, seen)
            for label, target in seen.items():
                self._known.setdefault(label, (number, target))
        return {label: target for label, (at, target) in self._known.items() if at < piece}
