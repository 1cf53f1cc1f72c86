"""Parses chunks into blocks on demand."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tui.ui.markdown.chunks import Chunk
from tui.ui.markdown.growing_table import read_table
from tui.ui.markdown.runs import Run
from tui.ui.markdown.tables import natural_widths
from tui.ui.markdown.tokens import Node, Table, Words, parse

MOST_CHUNKS = 16
"""Chunks searched for link definitions; a text with more of them is data, and searching it would delay the screen."""

Found = dict[str, object]
"""The parser's reference table: label to address and title."""


class References:
    """Link definitions by the chunk that contains them."""

    def __init__(self, read: Callable[[str, Found], object]) -> None:
        self._read = read
        self._noted: list[tuple[int, str]] = []
        self._looked = 0
        self._known: dict[str, tuple[int, object]] = {}

    def note(self, first: int, chunks: Sequence[Chunk]) -> None:
        """Record which new chunks may contain definitions; ``first`` is the number of the first one."""
        for number, chunk in enumerate(chunks, first):
            if "]:" in chunk.source and chunk.fence is None and len(self._noted) < MOST_CHUNKS:
                self._noted.append((number, chunk.source))

    def above(self, chunk: int) -> Found:
        """The definitions in chunks above this one."""
        if not self._noted:
            return {}
        while self._looked < len(self._noted) and self._noted[self._looked][0] < chunk:
            number, source = self._noted[self._looked]
            self._looked += 1
            seen = {label: target for label, (_, target) in self._known.items()}
            self._read(source, seen)
            for label, target in seen.items():
                self._known.setdefault(label, (number, target))
        return {label: target for label, (at, target) in self._known.items() if at < chunk}


KEPT_NODES = 200
"""Chunks that stay parsed; others are parsed again when they are shown."""
MARKS = "*_`["
MOST_MARKS = 1_200
"""Most markup characters of a chunk. A chunk with more, which are also a third of its characters, is not prose; it is
shown as source, because parsing it would take longer than a key press may wait."""


def too_dense(source: str) -> bool:
    """Whether parsing the markup would take long and gain nothing."""
    marks = sum(map(source.count, MARKS)) if len(source) > MOST_MARKS else 0
    return marks > MOST_MARKS and marks * 3 > len(source)


class LazyBlocks:
    """Blocks of the chunks that are not code."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._chunks = chunks
        self._nodes: dict[int, tuple[Node, ...]] = {}
        self._links = References(parse)

    def note(self, first: int, chunks: Sequence[Chunk]) -> None:
        """Record new chunks, the first with this number."""
        self._links.note(first, chunks)

    def links(self, place: int) -> Found:
        """The link definitions for a chunk."""
        return self._links.above(place)

    def nodes(self, place: int) -> tuple[Node, ...]:
        """A chunk's blocks."""
        nodes = self._nodes.get(place)
        if nodes is None:
            nodes = self.nodes_of(self._chunks[place], place)
            if len(self._nodes) > KEPT_NODES:
                self._nodes.clear()
            self._nodes[place] = nodes
        return nodes

    def nodes_of(self, chunk: Chunk, place: int, *, growing: bool = False) -> tuple[Node, ...]:
        """The blocks of a chunk at this place; ``growing`` is true for the open end."""
        if too_dense(chunk.source):
            return (Words([Run(chunk.source.strip("\n"))]),)
        table = read_table(chunk, self.links(place)) if chunk.head else None
        return (table,) if table is not None else tuple(parse(chunk.source, self.links(place), growing=growing))

    def wanted(self, place: int, part: int) -> list[int]:
        """The column widths of a table's first part, which later parts use as well."""
        nodes = self.nodes(place - part) if part else ()
        return natural_widths(nodes[0].rows) if len(nodes) == 1 and isinstance(nodes[0], Table) else []
