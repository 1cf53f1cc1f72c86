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
from tui.ui.markdown.runs import Line, Look, Run, line_width, width_of
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
    DONE = ("✓", "tool-done", "")
    FAILED = ("✗", "tool-failed", "failed")
    DENIED = ("⊘", "muted", "denied")
    STOPPED = ("⊘", "muted", "stopped")

    @property
    def glyph(self) -> str:
        return self.value[0]

    @property
    def role(self) -> str:
        return self.value[1]

    @property
    def word(self) -> str:
        return self.value[2]


SHORT_NAMES = {
    "read_file": "read",
    "write_file": "write",
    "edit_file": "edit",
    "list_dir": "list",
    "fetch_url": "fetch",
}
"""Shorter names of built-in tools."""
NAME_WIDTH = 5
"""Columns that shorter names are padded to, so that what they are about starts in one column."""
MOST_NAME = 40
MOST_NOTE = 40
LEAST_ARGUMENT = 4
"""Columns below which an argument is left out."""


class ToolCall(Renderable):
    """A tool call: one line that unfolds to arguments and result."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.main_argument = ""
        """The most informative argument."""
        self.state = ToolState.WRITING
        self.seconds: float | None = None
        self.note = ""
        """The outcome in two or three words; the progress while it runs."""
        self.has_diff = False
        """The note counts lines that the call added and removed."""
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
            from tui.ui.markdown.highlight import language_of_file

            within = f" {language_of_file(self.main_argument)}" if self.has_diff else ""
            source = "\n".join(fenced(text, f"{language}{within}".rstrip()) for language, text in self.detail)
            self._shown = (list(self.detail), Document(source, closed=True, bare=True))
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
        name = one_line(SHORT_NAMES.get(self.name, self.name), MOST_NAME).ljust(NAME_WIDTH)
        before = len(self.state.glyph) + width_of(name) + 3
        end = self._end(self._width - before)
        room = self._width - before - line_width(end) - (2 if end else 0)
        main_argument = line_within(self.main_argument, room) if room > LEAST_ARGUMENT and self.main_argument else ""
        gap = self._width - before - width_of(main_argument) - line_width(end)
        return [
            Run(f"{self.state.glyph} ", self.state.role),
            Run(name, "text", Look.BOLD),
            Run(f"  {main_argument}{' ' * max(2, gap) if end else ''}", "muted"),
            *end,
        ]

    def _end(self, room: int) -> Line:
        """What came of the call, how long it took and who ran it, for the right end of the line."""
        most = room - 2 if self.state is ToolState.FAILED else min(MOST_NOTE, room - 2)
        what = line_within(" · ".join(word for word in (self.state.word, self.note) if word), max(0, most))
        line: Line = [Run(what, "tool-failed" if self.state is ToolState.FAILED else "muted")] if what else []
        if self.has_diff and not self.state.word:
            added, _, removed = self.note.partition(" ")
            line = [Run(added, "diff-added"), Run(f" {removed}" if removed else "", "diff-removed")]
        if self.seconds is not None and self.state is not ToolState.DENIED:
            line.append(Run(f"{' · ' if line else ''}{duration(self.seconds)}", "muted"))
        by = Run(f"{' · ' if line else ''}{self.run_by}", "muted") if self.run_by else None
        needed = min(width_of(self.main_argument), MOST_BEFORE_BY)
        if by is not None and room - line_width([*line, by]) - 2 >= needed:
            line.append(by)
        return line

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
