"""A tool call as drawn: one line that unfolds to arguments and result."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING

from tui.domain.fenced import fenced
from tui.domain.format_numbers import duration
from tui.domain.printable import one_line
from tui.domain.search_terms import SearchTerms
from tui.ui.graphemes import line_within
from tui.ui.markdown.lazy_lines import LinePosition
from tui.ui.markdown.occurrences import Occurrence, occurrences
from tui.ui.markdown.runs import Line, Look, Run, width_of
from tui.ui.transcript.blocks import Renderable

if TYPE_CHECKING:
    from tui.ui.markdown.document import Document
    from tui.ui.pictures.picture import Picture


MOST_BEFORE_BY = 40
"""Columns of the argument that are more important than who ran the call."""


class ToolState(Enum):
    """The state of a call, shown by a glyph and a word, never by colour alone."""

    WAITING = ("◌", "tool-waiting", "waiting for you")
    WRITING = ("◌", "tool-waiting", "")
    RUNNING = ("◐", "tool-running", "running")
    DONE = ("●", "tool-done", "")
    FAILED = ("✗", "tool-failed", "failed")
    DENIED = ("⊘", "muted", "denied")

    @property
    def glyph(self) -> str:
        return self.value[0]

    @property
    def role(self) -> str:
        return self.value[1]

    @property
    def word(self) -> str:
        return self.value[2]


class ToolCall(Renderable):
    """A tool call: one line that unfolds to arguments and result."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.main_argument = ""
        """The most informative argument."""
        self.state = ToolState.WRITING
        self.seconds: float | None = None
        self.note = ""
        """What came out of it, in a few words."""
        self.run_by = ""
        """Who ran it, if not this program; left out where there is no room."""
        self.detail: list[tuple[str, str]] = []
        """What unfolds: (language, text) parts, arguments first."""
        self.pictures: Sequence[Picture] = ()
        """Pictures of the result, below the line whether or not it is unfolded."""
        self._heights: list[int] = []
        self._open = False
        self._width = 0
        self._shown: tuple[list[tuple[str, str]], Document] | None = None

    @property
    def foldable(self) -> bool:
        return True

    @property
    def is_open(self) -> bool:
        """Whether more than the one line is shown."""
        return self._open

    def fold(self) -> None:
        """Open or close."""
        self._open = not self._open

    def _document(self) -> Document:
        """The detail's layout, created again only if the detail changed."""
        if self._shown is None or self._shown[0] != self.detail:
            from tui.ui.markdown.document import Document

            label = "\n".join(fenced(text, language) for language, text in self.detail)
            self._shown = (list(self.detail), Document(label, closed=True, bare=True))
        self._shown[1].sideways = self.sideways
        return self._shown[1]

    def height(self, width: int) -> int:
        """One line, or more when open."""
        self._width = width
        self._heights = [picture.height(width) for picture in self.pictures]
        return self._above + (self._document().height(width) if self._open else 0)

    @property
    def _above(self) -> int:
        """Rows above the detail."""
        return 1 + sum(self._heights)

    @property
    def is_outdated(self) -> bool:
        return any(picture.is_outdated for picture in self.pictures)

    def lay_out(self, first: int, last: int) -> int:
        return self._document().lay_out(first - self._above, last - self._above) if self._open else 0

    def lay_out_end(self, count: int) -> None:
        if self._open:
            self._document().lay_out_end(count)

    def position_at(self, number: int) -> LinePosition | None:
        """Below the first line, the detail's position."""
        return self._document().position_at(number - self._above) if self._open and number >= self._above else None

    def line_at(self, position: LinePosition) -> int:
        return self._above + self._document().line_at(position) if self._open else 0

    def code_at(self, number: int) -> str | None:
        """Below the first line."""
        return self._document().code_at(number - 1) if self._open and number else None

    def find(self, terms: SearchTerms, number: int, width: int) -> Occurrence:
        """In the first line, or in the detail."""
        self.height(width)
        if not self._open:
            return super().find(terms, number, width)
        inside = number - len(terms.spans(f"{self.name} {self.main_argument}"))
        if inside >= 0:
            return self._document().find(terms, inside).moved(self._above)
        first = occurrences(terms, [self.line(0)])
        return first[min(number, len(first) - 1)] if first else Occurrence(0)

    def drop_layout(self) -> None:
        """Drop the layout of detail and pictures."""
        self._shown = None
        for picture in self.pictures:
            picture.drop_layout()

    def line(self, number: int) -> Line:
        """The first line, or a row of a picture or of the detail."""
        if number >= self._above:
            return self._document().line(number - self._above)
        if number:
            return self._line_of_picture(number - 1)
        ran = self.seconds is not None and self.state is not ToolState.DENIED
        tail = [word for word in (self.state.word, self.note, duration(self.seconds or 0.0) if ran else "") if word]
        name = one_line(self.name, 40)
        used = width_of(name) + 4
        end = f"  {' · '.join(tail)}" if tail else ""
        if self.note:
            end = line_within(end.strip(), max(0, self._width - used - 2))
            end = f"  {end}" if end else ""
        by = f" · {self.run_by}" if tail else f"  {self.run_by}"
        if self.run_by and self._width - used - width_of(end + by) >= min(width_of(self.main_argument), MOST_BEFORE_BY):
            end += by
        room = self._width - used - width_of(end)
        main_argument = line_within(self.main_argument, room) if room > 4 and self.main_argument else ""
        return [
            Run(f"{self.state.glyph} ", self.state.role),
            Run(name, "text", Look.BOLD),
            Run(f"  {main_argument}" if main_argument else "", "muted"),
            Run(end, self.state.role if self.state is ToolState.FAILED else "muted"),
        ]

    def _line_of_picture(self, number: int) -> Line:
        for picture, height in zip(self.pictures, self._heights, strict=True):
            if number < height:
                return picture.line(number)
            number -= height
        return []

    def estimate(self, width: int) -> int:
        return 1 if not self._open and not self.pictures else self.height(width)

    def text(self) -> str:
        """Arguments and result."""
        return "\n".join([f"{self.name} {self.main_argument}".strip(), *(text for _, text in self.detail)])
