"""Find in the conversation: a bar at the bottom; matches are unfolded, scrolled into view and marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events, on
from textual.containers import Horizontal
from textual.content import Content
from textual.geometry import Offset
from textual.selection import Selection
from textual.widget import Widget
from textual.widgets import Input, Static

from tui.domain.search_terms import SearchTerms
from tui.engine.state import SessionView
from tui.ui.dialogs.sheet import Keys, Sheet
from tui.ui.input.field import Field
from tui.ui.transcript.search_hits import Hit, NearestHit, hits_in, reveal

STATUS_ROWS = 1
TYPING = (("enter", "next"), ("up down", "previous, next"))
STEPPING = (("n", "next"), ("N", "previous"), ("slash", "search again"))


class FindBar(Sheet[None]):
    """Typing searches down from the visible part; enter closes the bar, and n and N step on."""

    KEYS: ClassVar[Keys] = TYPING
    KEYS_IN_FOOTER = True

    def __init__(self, view: SessionView, terms: SearchTerms = SearchTerms(), near: NearestHit | None = None) -> None:  # noqa: B008 - frozen
        """Search for ``terms`` at once if it is not empty, starting at ``near``."""
        super().__init__()
        self._view = view
        self._asked = terms
        self._near = near
        self._hits: list[Hit] = []
        self._at = 0
        self._begun_at = (0, 0)
        """The section and the block that were at the top of the window before the search moved it."""

    def inside(self) -> Sequence[Widget]:
        """The field and the number of matches."""
        self._field = Field("find in this conversation", value=self._asked.typed, handed_on=frozenset({"up", "down"}))
        self._found = Static("", markup=False, classes="found")
        return (Horizontal(Static("find", markup=False, classes="label"), self._field, self._found),)

    def _fit(self) -> None:
        """Stand where the composer is, which the bar covers, above the status line."""
        area = self.ponder.chat.conversation_area.region
        bar = self.query_one(".sheet")
        bar.styles.width = area.width
        bar.styles.margin = (0, 0, STATUS_ROWS, area.x)
        self.begin_keys_at(area.x)

    def on_mount(self) -> None:
        """Search at once if there is a query; follow the conversation's place and width."""
        self._fit()
        # A new size of the terminal reaches the chat after this screen, or before it.
        self.ponder.chat.screen_layout_refresh_signal.subscribe(self, lambda _: self._fit())
        self._begin_here()
        if self._near:
            self.call_after_refresh(self._begin)  # the session was just opened: its rows have no width yet
        elif self._asked:
            self._search()

    def _begin_here(self) -> None:
        """Let what is typed now be searched down from the visible part."""
        self._field.focus()
        self.show_keys(TYPING)
        column = self.ponder.chat.transcript.column
        seen = column.find(column.top)
        if seen is not None:
            section = column.sections[seen[0]]
            ends = [section.start_of(number) + section.rows_of(number) for number in range(len(section.blocks))]
            self._begun_at = seen[0], sum(end <= seen[1] for end in ends)

    def _begin(self) -> None:
        self._search()
        if self._hits:
            self._step_through()

    @property
    def _terms(self) -> SearchTerms:
        """The initial query until something else is typed."""
        typed = self._field.value
        return self._asked if typed == self._asked.typed else SearchTerms(typed.strip())

    def _search(self) -> None:
        terms = self._terms
        transcript = self.ponder.chat.transcript
        transcript.highlight(terms)
        column = transcript.column
        self._hits = hits_in(column.sections, self._view, terms) if terms else []
        if self._near and terms is self._asked:
            self._at = self._near.first_of(self._hits, column.sections, terms)
        else:
            below = (number for number, hit in enumerate(self._hits) if (hit.place, hit.block) >= self._begun_at)
            self._at = next(below, 0)
        self._go(0)

    def _step_through(self) -> None:
        self.set_focus(None)
        self.show_keys(STEPPING)

    def _go(self, step: int) -> None:
        if not self._hits:
            text = "nothing found" if self._field.value.strip() else ""
            self._found.update(Content.styled(text, "$warning"))
            self._mark(None)
            return
        self._at = (self._at + step) % len(self._hits)
        # Searching begins at what is on the screen, so the first one found is seldom the first there is.
        begun = " from here" if step == 0 and self._at and not self._near else ""
        self._found.update(Content(f"{self._at + 1} of {len(self._hits)}{begun}"))
        self._mark(reveal(self.ponder.chat.transcript, self._hits[self._at], self._terms))

    def _mark(self, span: tuple[Offset, Offset] | None) -> None:
        chat = self.ponder.chat
        chat.selections = {} if span is None else {chat.transcript: Selection(*span)}

    @on(Input.Changed)
    def _typed(self) -> None:
        self._search()

    @on(Field.Pressed)
    def _pressed(self, event: Field.Pressed) -> None:
        self._go(-1 if event.key == "up" else 1)

    @on(Input.Submitted)
    def _entered(self) -> None:
        if self._hits:
            self._go(1)
            self._step_through()

    def action_leave(self) -> None:
        """Close. The query is kept for n and N, which continue at the last match."""
        self.ponder.chat.transcript.highlight(SearchTerms())
        if self._hits:
            self.ponder.finding.remember(self._terms, self._at)
            if self.focused is None:
                self.ponder.chat.transcript.focus()
        super().action_leave()

    async def on_key(self, event: events.Key) -> None:
        if self.focused is not None:
            return
        steps = {"n": 1, "N": -1, "upper_n": -1, "enter": 1, "up": -1, "down": 1}
        if event.key in steps:
            self._go(steps[event.key])
        elif event.key in ("slash", "ctrl+f"):
            self._begin_here()
