"""The lines of one text that may still be growing.

The text is split into chunks that are parsed and laid out when they are first looked at; only the open end is parsed
again. In a fence even that is avoided: code lines are highlighted once as they arrive, and once more together when
their part is complete.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence

from tui.domain.lazy_regex import lazy_regex
from tui.domain.printable import printable
from tui.domain.search_terms import SearchTerms
from tui.ui.markdown.chunk_store import ChunkStore, SharedText
from tui.ui.markdown.chunks import Chunk, Splitter
from tui.ui.markdown.folds import Folds
from tui.ui.markdown.footnotes import Footnote, FootnoteRows, raised
from tui.ui.markdown.layout import codes_in, is_code, is_code_head, lay, lay_code, lay_footnote, lay_summary
from tui.ui.markdown.lazy_blocks import CodeParts, LazyBlocks, too_dense
from tui.ui.markdown.lazy_lines import LazyLines, LinePosition
from tui.ui.markdown.lexers import lexers
from tui.ui.markdown.occurrences import Occurrence, count_in_markdown, occurrences
from tui.ui.markdown.outline import OutlineEntry
from tui.ui.markdown.runs import Line, Run
from tui.ui.markdown.tables import GrowingTable, lay_table
from tui.ui.markdown.tokens import Table, parse

EAGER = 4_000
"""Texts up to this many characters are laid out as a whole, so that no height is ever guessed."""
UNSURE_END = lazy_regex(
    "\r\\Z|[^\x00-\x7f](?:[\u0300-\u036f\u180b-\u180f\u200c\ufe00-\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]|\u200d[^\x00-\x7f]?)*\\Z"
)
"""The end of a delta that the next one may complete: half a line end, or part of an emoji sequence."""
LONGEST_CLUSTER = 40
STEP = 64 * 1024
"""Characters of a long text that are taken in at once: the lines of all of it would take twice its memory."""
INSIDE = Run("  ")
"""The indent of what can be folded away."""


def guessed_height(chunk: Chunk, width: int) -> int:
    """Approximate lines of a chunk, with the blank line above it."""
    rows = chunk.source.count("\n") + 1
    size = len(chunk.source)
    if chunk.fence is not None:
        return rows + size // max(4, width - 4) // 2 + (2 if not chunk.part else 0)
    if chunk.head:
        return rows + (0 if chunk.part else 1)
    listed = chunk.source[:1] in "-*+1234567890>"
    return 1 + max(rows if listed else 1, size // width + 1)


def count_in_chunk(terms: SearchTerms, chunk: Chunk) -> int:
    """How often the terms occur in a chunk, counted without layout."""
    is_code = chunk.fence is not None
    return len(terms.spans(chunk.source)) if is_code else count_in_markdown(terms, chunk.source)


class Document:
    """Markdown text with its lines at one width at a time; ``bare`` omits labels and blank lines.

    ``toggled`` keeps the numbers of the foldable parts that the user opened or closed.
    """

    def __init__(
        self, text: str = "", *, closed: bool = False, bare: bool = False, toggled: set[int] | None = None
    ) -> None:
        self._splitter = Splitter()
        self._text = SharedText()
        self._as_received = True
        """Nothing had to be made printable, so the shared text is the text that was appended."""
        self._chunks = ChunkStore(self._text)
        self._lazy_blocks = LazyBlocks(self._chunks)
        self._code = CodeParts(self._chunks, labels=not bare)
        self._plain: set[int] = set()
        """Chunks with code whose lexer was being loaded when they were laid out."""
        self._lazy_lines = LazyLines(_laid_by(weakref.ref(self)))
        self._width = 0
        self._size = 0
        self.folds = Folds(toggled if toggled is not None else set(), _changed_in(weakref.ref(self)))
        self._footnotes = FootnoteRows()
        self._open_count = 0
        """Lines of the open end, above the footnotes."""
        self._table: GrowingTable | None = None
        self._tail: list[Line] | None = None
        self._last_tail: list[Line] = []
        self._hint: tuple[int, list[Line]] = (-1, [])
        self._bare = bare
        self.sideways: int | None = None
        """The first visible column where long rows are cut; None wraps them."""
        self.as_source = False
        """Diagrams are shown as they are written."""
        self._closed = False
        self._held = ""
        if text:
            self.append(text)
            self.adopt(text)
        if closed:
            self.close()

    # Text

    def append(self, text: str) -> None:
        """Add text; control characters are made visible here, so that none reach the terminal."""
        if len(text) <= STEP:
            self._append(text)
            return
        for start in range(0, len(text), STEP):
            self._append(text[start : start + STEP])

    def _append(self, text: str) -> None:
        held, new = self._held, self._held + text if self._held else text
        unsure = UNSURE_END.search(new, max(0, len(new) - LONGEST_CLUSTER))
        self._held = unsure[0] if unsure is not None else ""
        sure = new[: unsure.start()] if unsure is not None else new
        shown = printable(sure)
        if shown == sure:
            self._text.append(text)  # the same string that the caller keeps
        else:
            self._text.cut(len(held))
            self._text.append(shown)
            self._text.append(self._held)
            self._as_received = False
        self._add(self._splitter.feed(shown))
        self._tail = None

    def adopt(self, text: str) -> None:
        """Refer to this string, which equals the text that was appended, instead of keeping its pieces."""
        if self._as_received:
            self._text.replace(text)

    def close(self) -> None:
        """End of text."""
        if self._closed:
            return
        self._closed = True
        if self._held:
            shown = printable(self._held)
            if shown != self._held:
                self._text.cut(len(self._held))
                self._text.append(shown)
                self._as_received = False
            self._add(self._splitter.feed(shown))
        self._add(self._splitter.finish())
        self._tail = None

    @property
    def chunks(self) -> list[Chunk]:
        """All chunks, with the open end."""
        end = self._splitter.open_end()
        return [*self._chunks, *([end] if end is not None else ())]

    def code_at(self, number: int) -> str | None:
        """The code block that contains a line; None if the line is not code."""
        if not is_code(self.line(number)):
            return None
        finished = self._lazy_lines.total
        if number < finished:
            index = self._lazy_lines.index_at(number)
            chunk, lines, start = self._chunks[index], self._lazy_lines.part(index), self._lazy_lines.start_of(index)
        else:
            end = self._splitter.open_end()
            if end is None or number >= finished + self._open_count:
                return None
            index, chunk, lines, start = len(self._chunks), end, self._open_lines(), finished
        if chunk.fence is not None:
            return whole_block(self._chunks, index, chunk, self._splitter.open_end())
        codes = codes_in(self._lazy_blocks.nodes_of(chunk, index, growing=index == len(self._chunks)))
        heads = sum(is_code_head(line) for line in lines[: number - start + 1])
        return codes[heads - 1] if 0 < heads <= len(codes) else None

    # Lines

    def lines(self, width: int) -> Sequence[Line]:
        """All lines at this width."""
        self.height(width)
        return self._lazy_lines.all() + self._open_lines()

    def height(self, width: int) -> int:
        """The number of lines at this width; unseen parts are guessed."""
        self._take_drawings()
        if (width, self.sideways, self.as_source) != (self._width, self._code.sideways, self._code.diagrams.as_source):
            self._width, self._code.sideways, self._code.diagrams.as_source = width, self.sideways, self.as_source
            self._table, self._tail, self._last_tail = None, None, []
            self._code.restart()
            self._hint = (-1, [])
            self._lazy_lines.reset(map(self._guess, self._chunks))
        below = len(self._open_lines())
        if self._size <= EAGER and not self._lazy_lines.is_known:
            self._lazy_lines.all()
        return self._lazy_lines.total + below

    def line(self, number: int) -> Line:
        """One line, at the width of the last ``height`` or ``lines`` call."""
        finished = self._lazy_lines.total
        return self._lazy_lines.line(number) if number < finished else self._open_lines()[number - finished]

    def lay_out(self, first: int, last: int) -> int:
        """Lay out lines ``first`` to ``last``; returns by how many lines ``first`` moved down."""
        return self._lazy_lines.lay_out(first, last)

    def lay_out_end(self, count: int) -> None:
        """Lay out the last lines."""
        self._lazy_lines.lay_out_end(count - len(self._open_lines()))

    @property
    def is_outdated(self) -> bool:
        """Whether a diagram or a lexer is ready that is not shown yet."""
        return bool(self._code.diagrams.ready()) or (bool(self._plain) and not lexers().is_loading)

    def _take_drawings(self) -> None:
        if self._plain and not lexers().is_loading:
            self._code.lex_again()
            self._forget(index for index in self._plain if index < len(self._chunks))
            self._tail = None
            self._plain.clear()
        for index in self._code.diagrams.ready():
            if index == len(self._chunks):
                self._tail = None
            elif self._width:
                self._lazy_lines.forget(index)

    @property
    def is_known(self) -> bool:
        """Whether no height is guessed."""
        return self._lazy_lines.is_known

    def position_at(self, number: int) -> LinePosition:
        """The position of a line, independent of the width."""
        return self._lazy_lines.position_at(number)

    def line_at(self, position: LinePosition) -> int:
        """The line at a position."""
        return self._lazy_lines.line_at(position)

    def find(self, terms: SearchTerms, number: int) -> Occurrence:
        """The occurrence with this number, or the nearest one before it that can be located."""
        for index, chunk in enumerate(self._chunks):
            count = count_in_chunk(terms, chunk)
            if number >= count:
                number -= count
                continue
            self.folds.uncover(chunk)
            start, lines = self._lazy_lines.start_of(index), self._lazy_lines.part(index)
            if chunk.label:
                begin, end = self._footnotes.span(index)
                lines = self._open_lines()[self._open_count + begin : self._open_count + end]
                start = self._lazy_lines.total + self._open_count + begin
            found = occurrences(terms, lines)
            return (
                found[number].moved(start)
                if number < len(found)
                else Occurrence(start + (found[-1].line if found else 0))
            )
        found = occurrences(terms, self._open_lines()[: self._open_count])
        return found[min(number, len(found) - 1)].moved(self._lazy_lines.total) if found else Occurrence(0)

    def find_entry(self, entry: OutlineEntry) -> Occurrence:
        """The place of an entry of the outline; parts that are folded away are opened for it."""
        terms = SearchTerms(entry.title)
        if entry.chunk >= len(self._chunks):
            start, lines = self._lazy_lines.total, self._open_lines()[: self._open_count]
        else:
            self.folds.uncover(self._chunks[entry.chunk])
            start, lines = self._lazy_lines.start_of(entry.chunk), self._lazy_lines.part(entry.chunk)
        found = occurrences(terms, lines)
        return found[min(entry.number, len(found) - 1)].moved(start) if found else Occurrence(start)

    # Folding

    def fold_at(self, number: int) -> bool:
        """Open or close the part whose summary is on this line; False if it is another line."""
        if number >= self._lazy_lines.total:
            return False
        index = self._lazy_lines.index_at(number)
        fold = self._chunks[index].fold
        if fold is None or not self.line(number):
            return False
        self.folds.toggle(fold)
        return True

    # Chunks

    def _guess(self, chunk: Chunk) -> int:
        return 0 if chunk.label or self.folds.hides(chunk) else guessed_height(chunk, self._width)

    def _add(self, chunks: list[Chunk]) -> None:
        if not chunks:
            return
        first = len(self._chunks)
        renumbered = self._lazy_blocks.note(first, chunks)
        self.folds.note(first, chunks)
        self._size += sum(len(chunk.source) for chunk in chunks)
        self._chunks.extend(chunks)
        if self._width:
            self._hint = (first, self._last_tail)
            ready = self._ready_table(chunks[0], first)
            if ready is not None:
                self._lazy_lines.put(ready)
            rest = chunks if ready is None else chunks[1:]
            self._lazy_lines.extend([*map(self._guess, rest)])
            self._forget(index for index in renumbered if index < first)
        self._table = None
        self._code.restart()

    def _forget(self, indexes: Iterable[int], *, guessing: bool = False) -> None:
        """Lay chunks out again. They keep their heights until then, so that nothing moves, or get guessed ones."""
        for index in indexes if self._width else ():
            self._lazy_lines.forget(index, self._guess(self._chunks[index]) if guessing else None)

    def _ready_table(self, chunk: Chunk, index: int) -> list[Line] | None:
        """Reuse the lines of a table that was laid out as it arrived."""
        table = self._table
        if table is None or (table.head, table.part) != (chunk.head, chunk.part):
            return None
        rows = chunk.source.split("\n")[0 if chunk.part else 2 :]
        if self.folds.hides(chunk):
            return None
        lines = table.lines(rows, "", self._lazy_blocks.links(index), self._lazy_blocks.notes)
        return reused(self._last_tail, self._placed(index, chunk, lines)) if lines else None

    def _lay(self, index: int) -> list[Line]:
        chunk = self._chunks[index]
        if chunk.label or self.folds.hides(chunk):
            return []
        is_code, missed = chunk.fence is not None, lexers().missed
        laid = self._code.lines(index, room_for(chunk, self._width)) if is_code else self._words(index, chunk)
        if lexers().missed != missed:
            self._plain.add(index)
        lines = self._placed(index, chunk, laid) if laid or is_code else []
        return reused(self._hint[1], lines) if index == self._hint[0] else lines

    def _words(self, index: int, chunk: Chunk) -> list[Line]:
        nodes, room = self._lazy_blocks.nodes(index), room_for(chunk, self._width)
        if chunk.fold is not None:
            return lay_summary(nodes, chunk.source, room, is_open=self.folds.is_open(chunk.fold))
        if chunk.head and len(nodes) == 1 and isinstance(nodes[0], Table):
            table, widths = nodes[0], self._lazy_blocks.table_widths(index, chunk.part)
            headless, sideways = chunk.part > 0, self._code.sideways
            return lay_table(table.rows, table.align, room, widths, headless=headless, sideways=sideways)
        return lay(nodes, room, sideways=self._code.sideways)

    def _placed(self, index: int, chunk: Chunk, lines: list[Line]) -> list[Line]:
        """The lines of a chunk with the blank one above, and indented if they can be folded away."""
        if chunk.inside:
            lines = [[INSIDE] * len(chunk.inside) + line if line else line for line in lines]
        if not index or self._bare:
            return lines
        before = self._chunks[index - 1]
        return lines if before.tight and (before.fold is None or before.fold in chunk.inside) else [[], *lines]

    # The open end

    def _open_lines(self) -> list[Line]:
        """The lines of the open end, and the footnotes below it."""
        if self._tail is None:
            chunk, lines = self._splitter.open_end(), list[Line]()
            self._forget(self._lazy_blocks.note_open(chunk))
            if chunk is not None and not chunk.label and not self.folds.hides(chunk):
                missed = lexers().missed
                lines = self._placed(len(self._chunks), chunk, self._open_chunk(chunk))
                if lexers().missed != missed:
                    self._plain.add(len(self._chunks))
            self._open_count = len(lines)
            lines = lines + self._footnote_lines(chunk)
            self._tail = self._last_tail = reused(self._last_tail, lines)
        return self._tail

    def _footnote_lines(self, end: Chunk | None) -> list[Line]:
        found = self._lazy_blocks.footnotes()
        if not found:
            return []
        sideways = self._code.sideways
        notes = [
            (note, chunk)
            for note in found
            if (chunk := self._chunks[note.chunk] if note.chunk < len(self._chunks) else end) is not None
        ]

        def lay_note(note: Footnote, chunk: Chunk) -> list[Line]:
            nodes = self._lazy_blocks.nodes_of(chunk, note.chunk)
            return lay_footnote(nodes, raised(note.number), self._width, sideways)

        return self._footnotes.lines(notes, self._width, lay_note)

    def _open_chunk(self, chunk: Chunk) -> list[Line]:
        whole, unfinished = self._splitter.open_lines
        index, room = len(self._chunks), room_for(chunk, self._width)
        if chunk.fence is not None:
            return self._code.open_lines(chunk, whole, unfinished, room)
        if chunk.head:
            if self._table is None:
                widths = self._lazy_blocks.table_widths(index, chunk.part)
                self._table = GrowingTable(chunk.head, chunk.part, room, widths, self._code.sideways)
            rows = whole[0 if chunk.part else 2 :]
            lines = self._table.lines(rows, unfinished, self._lazy_blocks.links(index), self._lazy_blocks.notes)
            if lines is not None:
                return lines
        nodes = self._lazy_blocks.nodes_of(chunk, index, growing=not self._closed)
        if chunk.fold is not None:
            return lay_summary(nodes, chunk.source, room, is_open=chunk.opens)
        return lay(nodes, room, sideways=self._code.sideways)


def room_for(chunk: Chunk, width: int) -> int:
    """The columns for a chunk: what can be folded away is indented."""
    return max(8, width - len(chunk.inside) * len(INSIDE.text))


def whole_block(chunks: Sequence[Chunk], index: int, chunk: Chunk, end: Chunk | None) -> str:
    """The code block of which a chunk is a part; ``end`` is the open end of the text."""
    first = index - chunk.part
    parts = [*chunks[first:index], chunk]
    after = index + 1
    while after < len(chunks) and chunks[after].fence is not None and chunks[after].part:
        parts.append(chunks[after])
        after += 1
    if after == len(chunks) and end is not None and end.fence is not None and end.part:
        parts.append(end)
    return "".join(part.source if part.glued or not number else "\n" + part.source for number, part in enumerate(parts))


def code_blocks(chunks: Iterable[Chunk]) -> list[str]:
    """The code blocks of a text, for copying; those in lists and quotes as well."""
    found: list[str] = []
    for chunk in chunks:
        if chunk.fence is None:
            found.extend(codes_in(parse(chunk.source)) if may_hold_code(chunk) else ())
        elif chunk.part:
            found[-1] += chunk.source if chunk.glued else "\n" + chunk.source
        else:
            found.append(chunk.source)
    return found


def may_hold_code(chunk: Chunk) -> bool:
    """Whether there may be code within the blocks of a chunk: a cheap test before it is parsed."""
    if chunk.head or chunk.fold is not None or too_dense(chunk.source):
        return False
    return any(mark in chunk.source for mark in ("```", "~~~", "    ", "\t"))


def _changed_in(document: weakref.ref[Document]) -> Callable[[Iterable[int]], None]:
    """As ``_laid_by``: a function that refers to the document weakly."""

    def changed(indexes: Iterable[int]) -> None:
        owner = document()
        if owner is not None:
            owner._forget(indexes, guessing=True)
            owner._tail = None

    return changed


def _laid_by(document: weakref.ref[Document]) -> Callable[[int], list[Line]]:
    """A layout function that refers to the document weakly: a cycle would keep it until the next full collection."""

    def lay_chunk(index: int) -> list[Line]:
        owner = document()
        return owner._lay(index) if owner is not None else []

    return lay_chunk


def reused(before: Sequence[Line], lines: list[Line]) -> list[Line]:
    """Return equal old lines as the same objects, so that the painter's identity check finds them unchanged."""
    return [old if old == new else new for old, new in zip(before, lines, strict=False)] + lines[len(before) :]


def lay_markdown(text: str, width: int) -> Sequence[Line]:
    """The lines of a complete text."""
    return Document(text, closed=True).lines(width)


__all__ = ["Document", "lay_code", "lay_markdown"]
