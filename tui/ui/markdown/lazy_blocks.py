"""Pieces to blocks, each read when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tui.ui.markdown.chunks import Chunk
from tui.ui.markdown.growing_table import read_table
from tui.ui.markdown.runs import Run
from tui.ui.markdown.tables import natural_widths
from tui.ui.markdown.tokens import Node, Table, Words, parse

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


KEPT_NODES = 200
"""Pieces that stay read; what else is seen at another width is read again."""
MARKS = "*_`["
MOST_MARKS = 1_200
"""Marks of one piece; one that has more, and of them a third of its characters, is no prose but a heap of marks. It is
shown as it came: reading it would hold up the screen for longer than a keystroke may take."""


def too_dense(source: str) -> bool:
    """Whether reading the markup takes long and gains nothing."""
    marks = sum(map(source.count, MARKS)) if len(source) > MOST_MARKS else 0
    return marks > MOST_MARKS and marks * 3 > len(source)


class LazyBlocks:
    """Blocks of the pieces that are not code."""

    def __init__(self, pieces: Sequence[Chunk]) -> None:
        self._pieces = pieces
        self._nodes: dict[int, tuple[Node, ...]] = {}
        self._links = References(parse)

    def note(self, first: int, pieces: Sequence[Chunk]) -> None:
        """Pieces came, the first of them with this number."""
        self._links.note(first, pieces)

    def links(self, place: int) -> Found:
        """What a piece may refer to."""
        return self._links.above(place)

    def nodes(self, place: int) -> tuple[Node, ...]:
        """A piece's blocks."""
        nodes = self._nodes.get(place)
        if nodes is None:
            nodes = self.nodes_of(self._pieces[place], place)
            if len(self._nodes) > KEPT_NODES:
                self._nodes.clear()
            self._nodes[place] = nodes
        return nodes

    def nodes_of(self, piece: Chunk, place: int, *, growing: bool = False) -> tuple[Node, ...]:
        """The blocks of a piece that stands, or would stand, at this place; ``growing`` is the open end."""
        if too_dense(piece.source):
            return (Words([Run(piece.source.strip("\n"))]),)
        table = read_table(piece, self.links(place)) if piece.head else None
        return (table,) if table is not None else tuple(parse(piece.source, self.links(place), growing=growing))

    def wanted(self, place: int, part: int) -> list[int]:
        """What the first part of a table asks for; the others keep to it."""
        nodes = self.nodes(place - part) if part else ()
        return natural_widths(nodes[0].rows) if len(nodes) == 1 and isinstance(nodes[0], Table) else []
