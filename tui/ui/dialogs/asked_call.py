"""The upper part of the approval sheet: the question, what ponder says about it, and the call itself to its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from tui.domain.counting import count
from tui.domain.events import ApprovalAsked
from tui.ui.dialogs.approval_lines import detail_lines, marked
from tui.ui.panels.page import Page
from tui.ui.theme.theme_styles import ThemeStyles

FEWEST_ROWS, FEWEST_COLUMNS = 2, 24
"""Less than this of a call at once cannot be judged."""


def rows_of(text: str, columns: int) -> int:
    """Rows that a text takes when its lines are wrapped."""
    return sum(max(1, len(Content(line).wrap(max(1, columns)))) for line in text.split("\n"))


class AskedCall(Vertical):
    """One call at a time. ``end_seen`` tells whether its last line was on the screen."""

    def __init__(self, ink: ThemeStyles) -> None:
        super().__init__()
        self.end_seen = False
        self._summary = Static("", markup=False, classes="prompt")
        self._said = Static("", markup=False, classes="said")
        self._page = Page(ink)
        self._page.can_focus = False
        self._below = Static("", markup=False, classes="below")
        self._words = ""
        self._hurried = False
        """A yes came before the end was seen."""
        self._is_laid = False
        """The page has the size that this call and this window give it."""
        self.scrolls: Mapping[str, Callable[..., None]] = {
            "pageup": self._page.scroll_page_up,
            "pagedown": self._page.scroll_page_down,
            "ctrl+home": self._page.scroll_home,
            "ctrl+end": self._page.scroll_end,
        }

    def compose(self) -> ComposeResult:
        """Ponder's words outside of the box, the model's inside."""
        yield from (self._summary, self._said, self._page, self._below)

    def on_mount(self) -> None:
        """Notice every scroll."""
        self.watch(self._page, "scroll_y", self.look_for_the_end, init=False)

    def show(self, asked: ApprovalAsked) -> None:
        """Another call."""
        summary, note = marked(asked.summary.replace("\n", " ")), marked(asked.note)
        self._words = f"{summary}\n{note}" if note else summary
        self._summary.update(Content(summary))
        self._said.update(Content(note))
        self._said.set_class(not note, "-empty")
        self.end_seen = not asked.detail
        self._hurried = False
        self._page.set_class(not asked.detail, "-empty")
        self._page.show(detail_lines(asked.detail))
        self._page.scroll_home(animate=False)

    def fit(self, rows: int, columns: int) -> bool:
        """Take at most so many rows; False where that is too little to judge a call by."""
        left = rows - rows_of(self._words, columns) - 1
        self._page.styles.max_height = max(FEWEST_ROWS, left)
        self._is_laid = False
        self.call_after_refresh(self._laid)
        return left >= FEWEST_ROWS and columns >= FEWEST_COLUMNS

    def hurry(self) -> None:
        """A yes came: point to what was not read."""
        self._hurried = not self.end_seen
        self.look_for_the_end()

    def look_for_the_end(self) -> None:
        """Whether all was on the screen; how much is still below."""
        hidden = self._page.lines_below
        if hidden is None or not self._is_laid:
            return
        self.end_seen = self.end_seen or hidden == 0
        words = f"▼ {count(hidden, 'more line')}" if hidden else ""
        if not self.end_seen:
            words += ": read to the end first · pgdn · ctrl+end"
        self._below.update(Content.styled(words, "bold $warning reverse" if self._hurried else "bold $warning"))

    def _laid(self) -> None:
        self._is_laid = True
        self.look_for_the_end()
