"""The call that a question is about, shown whole: nothing in it is hidden, and long ones scroll to their end."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from math import inf

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from tui.domain.blank_marks import BLANK, marked
from tui.domain.diffs import is_diff
from tui.domain.events import ApprovalAsked
from tui.domain.format_numbers import count
from tui.ui.markdown.highlight import highlight, highlight_diff, language_of, language_of_file
from tui.ui.markdown.layout import code_lines
from tui.ui.markdown.lexers import lexers
from tui.ui.markdown.runs import Line, Run, wrapped_after
from tui.ui.panels.page import Lines, Page
from tui.ui.theme.theme_styles import ThemeStyles

_MARKS = re.compile(f"({BLANK}{{2,}}|{BLANK}+$|⟨[0-9,]+ blank(?: line)?s⟩)")


def detail_lines(detail: str, language: str = "") -> Lines:
    """The details of a call as lines; ``language`` is that of its code."""
    rows = marked(detail.rstrip("\n")).split("\n")
    coloured = highlight_diff(rows, language) if is_diff(detail) else highlight(rows, language)

    @lru_cache(maxsize=1)
    def lines(width: int) -> Sequence[Line]:
        return _with_last_blanks(code_lines([_with_marks(line) for line in coloured], width))

    return lines


def _with_last_blanks(lines: list[Line]) -> list[Line]:
    """Show the blank at which a row was wrapped, so that two words do not read as one."""
    for line, following in pairwise(lines):
        if line and line[-1].text.endswith(" ") and wrapped_after(following):
            last = line.pop()
            line.extend([last._replace(text=last.text[:-1]), Run(BLANK, "warning")])
    return lines


def _with_marks(line: Line) -> Line:
    if not any(BLANK in run.text or "⟨" in run.text for run in line):
        return line
    pieces = [(run, _MARKS.split(run.text)) for run in line]
    return [
        run._replace(text=piece, role="warning" if number % 2 else run.role)
        for run, found in pieces
        for number, piece in enumerate(found)
        if piece
    ]


FEWEST_ROWS, FEWEST_COLUMNS = 2, 24
"""The smallest part of a call that is enough to judge it."""
SHORT_CALL = 4_000
"""Characters of a call up to which its rows are counted before it is laid out."""
BESIDE_CALL = 2
"""Columns of the line before a call and of the scrollbar."""


def rows_of(text: str, columns: int) -> int:
    """Rows a text takes when its lines are wrapped."""
    return sum(max(1, len(Content(line).wrap(max(1, columns)))) for line in text.split("\n"))


def summary_of(asked: ApprovalAsked) -> str:
    """What the call is, in one line with hidden characters made visible."""
    return marked(asked.summary.replace("\n", " "))


class CallDetails(Vertical):
    """The call being asked about. ``end_seen`` is true once its last line was on the screen."""

    def __init__(self, theme_styles: ThemeStyles) -> None:
        super().__init__()
        self.end_seen = False
        self.is_titled = False
        """The title of the sheet says what the call is."""
        self._summary = Static("", markup=False, classes="prompt")
        self._said = Static("", markup=False, classes="said")
        self._page = Page(theme_styles)
        self._page.can_focus = False
        self._below = Static("", markup=False, classes="below")
        self._words: tuple[str, str] = ("", "")
        """What the call is, unless the title says it, and what ponder says of it."""
        self._is_low = False
        self._answered_early = False
        """"Yes" was chosen before the end was seen."""
        self._plain: tuple[str, str] | None = None
        """The call and its language, while the lexer is loaded."""
        self._lines: Lines | None = None
        """The rows of a short call."""
        self._is_laid = False
        """The page is laid out for this call and this window."""
        self.scrolls: Mapping[str, Callable[..., None]] = {
            "pageup": self._page.scroll_page_up,
            "pagedown": self._page.scroll_page_down,
            "ctrl+home": self._page.scroll_home,
            "ctrl+end": self._page.scroll_end,
        }

    def compose(self) -> ComposeResult:
        """Ponder's own words outside the box, the model's inside."""
        yield from (self._summary, self._said, self._page, self._below)

    def on_mount(self) -> None:
        """Watch every scroll."""
        self.watch(self._page, "scroll_y", self.update_end_seen, init=False)

    def show(self, asked: ApprovalAsked, *, is_titled: bool) -> None:
        """Show a call; its summary only if the title does not say it."""
        self.show_summary(asked, is_titled=is_titled)
        self._said.set_class(not asked.note, "-empty")
        self.end_seen = not asked.detail
        self._answered_early = False
        self._page.set_class(not asked.detail, "-empty")
        # The tool that runs commands is called like the language of its commands.
        language = language_of_file(asked.summary) or language_of(asked.tool)
        self._show_detail(asked.detail, language)
        self._page.scroll_home(animate=False)

    def show_summary(self, asked: ApprovalAsked, *, is_titled: bool) -> None:
        """Show what the call is, unless the title says it."""
        self.is_titled = is_titled
        summary = "" if is_titled else summary_of(asked)
        self._words = (summary, marked(asked.note))
        self._summary.update(Content(summary))
        self._summary.set_class(not summary, "-empty")

    def _show_detail(self, detail: str, language: str, *, keep_place: bool = False) -> None:
        missed = lexers().missed
        lines = detail_lines(detail, language)
        self._lines = lines if len(detail) <= SHORT_CALL else None
        self._page.show(lines, keep_place=keep_place)
        self._plain = (detail, language) if lexers().missed != missed else None

    def add_colours(self) -> None:
        """Colour the call if the lexer of its language was loaded meanwhile."""
        if self._plain is not None and not lexers().is_loading:
            self._show_detail(*self._plain, keep_place=True)

    def set_low(self, *, low: bool) -> None:
        """Use one row for what ponder says, where it has room."""
        self._is_low = low

    def fit(self, rows: int, columns: int) -> bool:
        """Take at most this many rows; False if that is too few to judge a call by."""
        self._said.update(Content(self._note(columns)))
        left = rows - self.rows_of_words(columns)
        call = self.rows_of_call(columns)
        # The row below counts what is hidden, or is blank; a call that just has room needs neither.
        self._below.display = call != left
        left -= self._below.display
        fewest = min(FEWEST_ROWS, call)
        self._page.styles.max_height = max(FEWEST_ROWS, left)
        self._is_laid = False
        self.call_after_refresh(self._laid)
        return left >= fewest and columns >= FEWEST_COLUMNS

    def rows_of_call(self, columns: int) -> float:
        """Rows of the call itself, infinite if it is long."""
        return inf if self._lines is None else len(self._lines(max(8, columns - BESIDE_CALL)))

    def rows_of_words(self, columns: int) -> int:
        """Rows of what is above the call: what it is about, and facts."""
        return sum(rows_of(text, columns) for text in (self._words[0], self._note(columns)) if text)

    def _note(self, columns: int) -> str:
        note = self._words[1]
        joined = " · ".join(note.split("\n"))
        return joined if self._is_low and cell_len(joined) <= columns else note

    @property
    def has_more_rows(self) -> bool:
        """Whether only a part of the call is in view."""
        return self._page.max_scroll_y > 0

    def warn_unread(self) -> None:
        """Point to the unread part after an early "yes"."""
        self._answered_early = not self.end_seen
        self.update_end_seen()

    def update_end_seen(self) -> None:
        """Update whether the end was seen, and how much is below."""
        hidden = self._page.lines_below
        if hidden is None or not self._is_laid:
            return
        # Help over the question hides the end.
        self.end_seen = self.end_seen or (hidden == 0 and self.screen.is_active)
        text = f"▼ {count(hidden, 'more line')}" if hidden else ""
        if not self.end_seen:
            text += ": read to the end first · pgdn · ctrl+end"
        self._below.update(Content.styled(text, "bold $warning reverse" if self._answered_early else "bold $warning"))

    def _laid(self) -> None:
        self._is_laid = True
        self.update_end_seen()
