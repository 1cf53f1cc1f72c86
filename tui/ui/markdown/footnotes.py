"""Numbers the footnotes of a text: in the order of their first references, as far as they are defined."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from tui.domain.fast_dataclass import dataclass
from tui.typeset.marks import REFERENCE
from tui.ui.markdown.chunks import Chunk
from tui.ui.markdown.runs import Line, Run

MOST = 400
"""Most references and definitions of one text; a text with more of them is data."""
RULE = 12
"""Columns of the rule above the footnotes."""
DIGITS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def raised(number: int) -> str:
    """A number in small raised digits."""
    return str(number).translate(DIGITS)


def labels_in(source: str) -> list[str]:
    """The labels that a text refers to."""
    return [label.casefold() for label in REFERENCE.findall(source)] if "[^" in source else []


@dataclass(frozen=True, slots=True)
class Footnote:
    """A defined footnote; ``chunk`` is the number of the chunk with its text, which may still be open."""

    number: int
    chunk: int


LayNote = Callable[[Footnote, Chunk], list[Line]]


class Footnotes:
    """References and definitions by chunk."""

    def __init__(self) -> None:
        self._references: list[tuple[int, list[str]]] = []
        """Chunks with references, and their labels."""
        self._defined: dict[str, int] = {}
        """Labels, and the chunks that define them."""
        self._open = ""
        self.numbers: Mapping[str, int] = {}

    def note(self, first: int, chunks: Sequence[Chunk]) -> Iterable[int]:
        """Take in new chunks, the first with this number; returns those whose references have other numbers now."""
        self._defined.pop(self._open, None)
        self._open = ""
        for index, chunk in enumerate(chunks, first):
            labels = labels_in(chunk.source) if chunk.fence is None else []
            if labels and len(self._references) < MOST:
                self._references.append((index, labels))
            if chunk.label and len(self._defined) < MOST:
                self._defined.setdefault(chunk.label.casefold(), index)
        return self._number_again()

    def note_open(self, index: int, chunk: Chunk | None) -> Iterable[int]:
        """Note the footnote that the open end of a stream defines; None if it defines none. Returns like ``note``."""
        label = chunk.label.casefold() if chunk is not None else ""
        if label == self._open:
            return ()
        self._defined.pop(self._open, None)
        self._open = label if label not in self._defined else ""
        if self._open and len(self._defined) < MOST:
            self._defined[self._open] = index
        return self._number_again()

    def in_order(self) -> list[Footnote]:
        """The defined footnotes by number."""
        return [Footnote(number, self._defined[label]) for label, number in self.numbers.items()]

    def _number_again(self) -> Iterable[int]:
        if not self._defined and not self.numbers:
            return ()
        used = (label for _, labels in self._references for label in labels if label in self._defined)
        order = dict.fromkeys([*used, *self._defined])
        before, self.numbers = self.numbers, {label: number for number, label in enumerate(order, 1)}
        changed = {label for label in order if before.get(label) != self.numbers[label]} | (before.keys() - order)
        return [index for index, labels in self._references if not changed.isdisjoint(labels)]


class FootnoteRows:
    """The rows of the footnotes, laid out again only if one of them changed."""

    def __init__(self) -> None:
        self._made_from: object = None
        self._lines: list[Line] = []
        self._spans: dict[int, tuple[int, int]] = {}

    def lines(self, notes: Sequence[tuple[Footnote, Chunk]], width: int, lay: LayNote) -> list[Line]:
        """All rows; ``lay`` lays out one footnote."""
        made_from = (width, [(note, chunk.source) for note, chunk in notes])
        if made_from != self._made_from:
            self._made_from, self._spans = made_from, {}
            self._lines = [[], [Run("─" * min(RULE, width), "rule")]] if notes else []
            for note, chunk in notes:
                begin = len(self._lines)
                self._lines.extend(lay(note, chunk))
                self._spans[note.chunk] = (begin, len(self._lines))
        return self._lines

    def span(self, chunk: int) -> tuple[int, int]:
        """The rows of the footnote that a chunk defines."""
        return self._spans.get(chunk, (0, 0))
