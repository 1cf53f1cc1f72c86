"""Parses and highlights chunks on demand.

A code block is highlighted in parts, each from the lexer state at its start, and its open part line by line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field

from tui.domain.fast_dataclass import dataclass
from tui.ui.markdown.chunks import Chunk
from tui.ui.markdown.diagrams import DiagramRows
from tui.ui.markdown.footnotes import Footnote, Footnotes
from tui.ui.markdown.highlight import START, CodeState, highlight_from
from tui.ui.markdown.layout import code_head, code_lines
from tui.ui.markdown.runs import Line, Run
from tui.ui.markdown.set_formulas import formula_lines, is_display
from tui.ui.markdown.tables import natural_widths, read_table
from tui.ui.markdown.tokens import Node, Paragraph, Table, parse

MOST_CHUNKS = 16
"""Chunks searched for link definitions; a text with more of them is data, and searching it would delay the screen."""

LinkTargets = dict[str, object]
"""The parser's reference table: label to address and title."""


class References:
    """Link definitions by the chunk that contains them."""

    def __init__(self, read: Callable[[str, LinkTargets], object]) -> None:
        self._read = read
        self._noted: list[tuple[int, str]] = []
        self._looked = 0
        self._known: dict[str, tuple[int, object]] = {}

    def note(self, first: int, chunks: Sequence[Chunk]) -> None:
        """Record which new chunks may contain definitions; ``first`` is the number of the first one."""
        for number, chunk in enumerate(chunks, first):
            if "]:" in chunk.source and chunk.fence is None and len(self._noted) < MOST_CHUNKS:
                self._noted.append((number, chunk.source))

    def above(self, chunk: int) -> LinkTargets:
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
        self._footnotes = Footnotes()

    def note(self, first: int, chunks: Sequence[Chunk]) -> Iterable[int]:
        """Record new chunks, the first with this number; returns earlier chunks that are drawn differently now."""
        self._links.note(first, chunks)
        return self._forgotten(self._footnotes.note(first, chunks))

    def note_open(self, chunk: Chunk | None) -> Iterable[int]:
        """Record the open end; returns as ``note`` does."""
        return self._forgotten(self._footnotes.note_open(len(self._chunks), chunk))

    def _forgotten(self, indexes: Iterable[int]) -> Iterable[int]:
        for index in indexes:
            self._nodes.pop(index, None)
        return indexes

    @property
    def notes(self) -> Mapping[str, int]:
        """The numbers of footnotes by label."""
        return self._footnotes.numbers

    def footnotes(self) -> list[Footnote]:
        """The footnotes in order."""
        return self._footnotes.in_order()

    def links(self, index: int) -> LinkTargets:
        """The link definitions for a chunk."""
        return self._links.above(index)

    def nodes(self, index: int) -> tuple[Node, ...]:
        """A chunk's blocks."""
        nodes = self._nodes.get(index)
        if nodes is None:
            nodes = self.nodes_of(self._chunks[index], index)
            if len(self._nodes) > KEPT_NODES:
                self._nodes.clear()
            self._nodes[index] = nodes
        return nodes

    def nodes_of(self, chunk: Chunk, index: int, *, growing: bool = False) -> tuple[Node, ...]:
        """The blocks of a chunk at this place; ``growing`` is true for the open end."""
        if too_dense(chunk.source):
            return (Paragraph([Run(chunk.source.strip("\n"))]),)
        table = read_table(chunk, self.links(index), self.notes) if chunk.head else None
        if table is not None:
            return (table,)
        return tuple(parse(chunk.source, self.links(index), notes=self.notes, growing=growing))

    def table_widths(self, index: int, part: int) -> list[int]:
        """The column widths of a table's first part, which later parts use as well."""
        nodes = self.nodes(index - part) if part else ()
        return natural_widths(nodes[0].rows) if len(nodes) == 1 and isinstance(nodes[0], Table) else []


FRESH_PARTS = 8
"""Consecutive parts highlighted with carried state; after that the state is reset, so that jumping stays cheap."""


@dataclass(slots=True)
class OpenCodePart:
    """The code part that is still arriving: lines laid out so far, their count in the source, and the lexer state."""

    lines: list[Line] = field(default_factory=list)
    done: int = 0
    place: CodeState | None = None


class CodeParts:
    """Lines of the chunks that are code."""

    def __init__(self, chunks: Sequence[Chunk], *, labels: bool) -> None:
        self._chunks = chunks
        self._labels = labels
        self._ends: dict[int, CodeState] = {}
        self._lexed: tuple[int, list[Line]] = (-1, [])
        self._open = OpenCodePart()
        self.diagrams = DiagramRows()
        self.sideways: int | None = None
        """The first visible column where lines are cut; None wraps them."""

    def restart(self) -> None:
        """Forget the open part after the part or the width changed."""
        self._open = OpenCodePart()

    def lex_again(self) -> None:
        """Forget what was lexed: a lexer was loaded meanwhile."""
        self._ends.clear()
        self._lexed = (-1, [])
        self.restart()

    def lines(self, index: int, width: int) -> list[Line]:
        """The lines of a finished part."""
        chunk = self._chunks[index]
        if is_display(chunk):
            return formula_lines(f"$$\n{chunk.source}\n$$", width, self.sideways, written=chunk.source)
        drawn = self.diagrams.lines(index, chunk, width, self.sideways) if self._labels else None
        if drawn is not None:
            return [*self._label(chunk, width), *drawn]
        lines = self._lex(index, self._begin(index, self._chunks[index].part))
        problem = self.diagrams.problem(index, chunk) if self._labels else ""
        reason = code_lines([[Run(problem, "muted")]], width) if problem else []
        return [*self._label(chunk, width), *reason, *code_lines(lines, width, self.sideways)]

    def open_lines(self, chunk: Chunk, whole: Sequence[str], unfinished: str, width: int) -> list[Line]:
        """The lines of the open part; ``whole`` is its source so far, which only grows between calls."""
        drawn = None
        if self._labels:
            drawn = self.diagrams.open_lines(len(self._chunks), chunk, whole, width, self.sideways)
        if drawn is not None:
            return [*self._label(chunk, width), *drawn]
        info = chunk.fence or ""
        known = self._open
        if known.place is None:
            known.place = self._begin(len(self._chunks), chunk.part)
        if len(whole) > known.done:
            fresh, known.place = highlight_from(whole[known.done :], info, known.place)
            known.lines.extend(code_lines(fresh, width, self.sideways))
            known.done = len(whole)
        ahead = highlight_from([unfinished], info, known.place)[0] if unfinished else []
        tail = code_lines(ahead, width, self.sideways)
        return [*self._label(chunk, width), *known.lines, *tail]

    def _label(self, chunk: Chunk, width: int) -> list[Line]:
        return [code_head(chunk.fence or "", width)] if self._labels and not chunk.part else []

    def _lex(self, index: int, begin: CodeState) -> list[Line]:
        if self._lexed[0] != index:
            chunk = self._chunks[index]
            lines, self._ends[index] = highlight_from(chunk.source.split("\n"), chunk.fence or "", begin)
            self._lexed = (index, lines)
        return self._lexed[1]

    def _begin(self, index: int, part: int) -> CodeState:
        """The lexer state above a part."""
        first = index - part % FRESH_PARTS
        known = next((before for before in range(index, first, -1) if before - 1 in self._ends), first)
        state = self._ends[known - 1] if known > first else START
        for before in range(known, index):
            self._lex(before, state)
            state = self._ends[before]
        return state
