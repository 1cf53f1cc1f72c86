"""Blocks of a section: their interface, prompts, answers, thinking, captions. Long ones lay out only visible lines."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from tui.domain.printable import printable
from tui.domain.search_terms import SearchTerms
from tui.ui.markdown.lazy_lines import LazyLines, LinePosition
from tui.ui.markdown.occurrences import Occurrence, count_in_markdown, occurrences
from tui.ui.markdown.runs import Line, Run, plain, wrap

if TYPE_CHECKING:
    from tui.ui.markdown.document import Document
    from tui.ui.markdown.outline import OutlineEntry


class Fold(Enum):
    """How much of a block is shown."""

    FOLDED = "folded"
    PEEK = "peek"
    FULL = "full"

    @property
    def next(self) -> Fold:
        """What the next press shows."""
        order = list(Fold)
        return order[(order.index(self) + 1) % len(order)]


class Renderable:
    """One block of a section."""

    background: str = ""
    is_markdown: ClassVar[bool] = False
    is_stop: ClassVar[bool] = True
    """Whether the cursor stops at it."""
    space: int = 0
    """Empty lines above it."""
    on_rail: bool = False
    """Whether it is a step of a tool run, drawn on the line that joins the steps."""
    as_source: bool = False
    """Diagrams are shown as they are written."""
    sideways: int | None = None
    """The first visible column where lines of code are cut; None where they are wrapped."""

    def height(self, width: int) -> int:
        """Lines at this width; later calls of ``line`` use the same width."""
        raise NotImplementedError

    def line(self, number: int) -> Line:
        """One line at the width last given to ``height``."""
        raise NotImplementedError

    def estimate(self, width: int) -> int:
        """A cheap guess at the height of a block that was not seen yet."""
        return self.height(width)

    def text(self) -> str:
        """Its text, for copying and searching."""
        return ""

    @property
    def foldable(self) -> bool:
        """Whether ``fold`` does anything."""
        return False

    def fold(self) -> None:
        """Show the next amount."""

    def fold_at(self, number: int) -> bool:
        """Fold what a click on this line means; False if it means nothing."""
        if number or not self.foldable:
            return False
        self.fold()
        return True

    def drop_layout(self) -> None:
        """Drop the layout: the block is far from the window."""

    @property
    def is_outdated(self) -> bool:
        """Whether its height may have changed by itself since it was last asked for."""
        return False

    # A long block guesses most of its height.

    def lay_out(self, first: int, last: int) -> int:
        """Lay out lines ``first`` to ``last``; returns by how many lines ``first`` moved down."""
        return 0

    def lay_out_end(self, count: int) -> None:
        """Lay out the last lines."""

    def position_at(self, number: int) -> LinePosition | None:
        """The position of a line, independent of the width; None if the share of the height is exact enough."""
        return None

    def line_at(self, position: LinePosition) -> int:
        """The line at a position."""
        return 0

    def code_at(self, number: int) -> str | None:
        """The code block that contains a line; None if the line is not code."""
        return None

    def count(self, terms: SearchTerms) -> int:
        """How often the terms occur in the block, shown or folded."""
        return count_in_markdown(terms, self.text()) if self.is_markdown else len(terms.spans(self.text()))

    def outline(self) -> list[OutlineEntry]:
        """Places in the block that the user may want to jump to."""
        return []

    def find_entry(self, entry: OutlineEntry, width: int) -> Occurrence:
        """The place of an entry of the outline."""
        return Occurrence(0)

    def find(self, terms: SearchTerms, number: int, width: int) -> Occurrence:
        """The occurrence with this number, or the nearest before it that can be pointed at."""
        found = occurrences(terms, [self.line(line) for line in range(self.height(width))])
        return found[min(number, len(found) - 1)] if found else Occurrence(0)


def estimated_lines(text: str, width: int) -> int:
    """About how many lines a text takes."""
    return text.count("\n") + len(text) // max(1, width) + 1


SHORT = 4_096
"""Characters up to which pieces of an answer are joined: each string takes more memory than its text."""
PART = 4_000
"""Characters of a prompt that are laid out together."""


def parts_of(text: str) -> list[str]:
    """Cut at line ends; lines longer than a part at a blank."""
    parts: list[str] = []
    at = 0
    while len(text) - at > PART:
        cut = text.rfind("\n", at, at + PART)
        cut = cut if cut > at else text.rfind(" ", at + PART // 2, at + PART)
        if cut <= at:
            parts.append(text[at : at + PART])
            at += PART
            continue
        parts.append(text[at:cut])
        at = cut + 1
    return [*parts, text[at:]]


class Prompt(Renderable):
    """A prompt."""

    background = "user"

    def __init__(self, text: str) -> None:
        self._text = printable(text)
        self._parts: list[str] = []
        self._lazy_lines = LazyLines(self._lay)
        self._width = 0

    def height(self, width: int) -> int:
        """The rows of the prompt as written; unseen parts of a long one are guessed."""
        if width != self._width:
            self._width = width
            self._parts = self._parts or parts_of(self._text)
            self._lazy_lines.reset([estimated_lines(part, width) for part in self._parts])
            if len(self._parts) == 1:
                self._lazy_lines.all()
        return self._lazy_lines.total

    def _lay(self, index: int) -> list[Line]:
        return wrap([Run(self._parts[index], "user")], self._width)

    def drop_layout(self) -> None:
        self._parts, self._width = [], 0
        self._lazy_lines.reset(())

    def line(self, number: int) -> Line:
        return self._lazy_lines.line(number)

    def lay_out(self, first: int, last: int) -> int:
        return self._lazy_lines.lay_out(first, last)

    def lay_out_end(self, count: int) -> None:
        self._lazy_lines.lay_out_end(count)

    def position_at(self, number: int) -> LinePosition | None:
        return self._lazy_lines.position_at(number)

    def line_at(self, position: LinePosition) -> int:
        return self._lazy_lines.line_at(position)

    def estimate(self, width: int) -> int:
        return estimated_lines(self._text, width)

    def text(self) -> str:
        return self._text


def with_names(text: str, role: str) -> Line:
    """A sentence of ours, with the names of commands and settings in a colour instead of backticks."""
    parts = printable(text).split("`")
    if len(parts) % 2 == 0:  # not pairs: the backticks are part of a quotation
        return [Run(printable(text), role)]
    return [Run(part, "accent" if number % 2 else role) for number, part in enumerate(parts) if part]


class Caption(Renderable):
    """Fixed lines: model, cost, or a notice."""

    is_stop = False

    def __init__(self, *runs: Run, space: int = 0, hang: int = 0) -> None:
        """``hang`` is the columns of the mark at its beginning, below which no further row begins."""
        self._runs = list(runs)
        self._lines: list[Line] = []
        self._width = 0
        self._rest = [Run(" " * hang)] if hang else []
        self.space = space

    def show(self, *runs: Run) -> None:
        """Change the text."""
        self._runs, self._width = list(runs), 0

    def height(self, width: int) -> int:
        """No line without text."""
        if width != self._width:
            self._width, self._lines = width, wrap(self._runs, width, rest=self._rest) if self._runs else []
        return len(self._lines)

    def drop_layout(self) -> None:
        self._width, self._lines = 0, []

    def line(self, number: int) -> Line:
        return self._lines[number]

    def count(self, terms: SearchTerms) -> int:
        """Find searches what was said, not ponder's labels."""
        return 0

    def estimate(self, width: int) -> int:
        """Nearly always one line."""
        return 1

    def text(self) -> str:
        return plain(self._runs)


class Answer(Renderable):
    """The model's answer, as markdown."""

    space = 1
    is_markdown = True

    def __init__(self, text: str = "", *, closed: bool = False) -> None:
        self._source = [text] if text else []
        self._size = len(text)
        self._closed = closed
        self._document: Document | None = None
        self._toggled: set[int] = set()
        """Parts of the text that the user opened or closed."""

    def append(self, text: str) -> None:
        """Add text."""
        if self._source and len(self._source[-1]) + len(text) <= SHORT:
            self._source[-1] += text
        else:
            self._source.append(text)
        self._size += len(text)
        if self._document is not None:
            self._document.append(text)

    def adopt(self, text: str) -> None:
        """Refer to this equal string instead of keeping a copy."""
        if len(text) == self._size:
            self._source = [text]
            if self._document is not None:
                self._document.adopt(text)

    def close(self) -> None:
        """End of text."""
        self._closed = True
        if self._document is not None:
            self._document.close()

    def document(self) -> Document:
        """The layout, created when first used."""
        if self._document is None:
            from tui.ui.markdown.document import Document  # imported with the first answer, not for the first screen

            self._document = Document("".join(self._source), closed=self._closed, toggled=self._toggled)
        return self._document

    def drop_layout(self) -> None:
        """Drop the layout: the block is far from the window."""
        self._source = ["".join(self._source)]
        self._document = None

    def height(self, width: int) -> int:
        self.document().sideways, self.document().as_source = self.sideways, self.as_source
        return self.document().height(width)

    @property
    def is_outdated(self) -> bool:
        return self._document is not None and self._document.is_outdated

    def line(self, number: int) -> Line:
        return self.document().line(number)

    def lay_out(self, first: int, last: int) -> int:
        return self.document().lay_out(first, last)

    def lay_out_end(self, count: int) -> None:
        self.document().lay_out_end(count)

    def position_at(self, number: int) -> LinePosition | None:
        return self.document().position_at(number)

    def line_at(self, position: LinePosition) -> int:
        return self.document().line_at(position)

    @property
    def foldable(self) -> bool:
        return len(self.document().folds) > 0

    def fold(self) -> None:
        """Open every part that is folded away, or close all."""
        self.document().folds.toggle_all()

    def fold_at(self, number: int) -> bool:
        """Open or close the part whose summary is on this line."""
        return self.document().fold_at(number)

    def code_at(self, number: int) -> str | None:
        return self.document().code_at(number)

    def find(self, terms: SearchTerms, number: int, width: int) -> Occurrence:
        self.height(width)
        return self.document().find(terms, number)

    def outline(self, *, thinking: bool = False) -> list[OutlineEntry]:
        from tui.ui.markdown.outline import chunks_of, outline  # with the first outline

        # A text that was not seen yet gets no layout for this, which would stay in memory.
        chunks = self._document.chunks if self._document is not None else chunks_of(self.text())
        return outline(chunks, thinking=thinking)

    def find_entry(self, entry: OutlineEntry, width: int) -> Occurrence:
        self.height(width)
        return self.document().find_entry(entry)

    def estimate(self, width: int) -> int:
        self._source = ["".join(self._source)]
        return estimated_lines(self._source[0], width)

    def text(self) -> str:
        """The markdown source."""
        return "".join(self._source)

    @property
    def size(self) -> int:
        """The number of characters; called every frame, so nothing is joined for it."""
        return self._size

    def beginning(self, count: int) -> str:
        """The first characters of the source."""
        found = ""
        for part in self._source:
            found += part[: count - len(found)]
            if len(found) >= count:
                break
        return found
