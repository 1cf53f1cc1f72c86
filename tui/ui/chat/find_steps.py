"""Stepping through what was found once the find bar is closed: n and N in the transcript."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.selection import Selection

from tui.domain.search_terms import SearchTerms

if TYPE_CHECKING:
    from tui.ui.app import PonderApp


class FindSteps:
    """What was looked for last, and how far one has stepped."""

    def __init__(self, app: PonderApp) -> None:
        self._app = app
        self.wanted = SearchTerms()
        self._at = 0

    def keep(self, wanted: SearchTerms, at: int) -> None:
        """The find bar closes here."""
        self.wanted, self._at = wanted, at

    def step(self, step: int) -> None:
        """To the next or the previous; looked for anew, because the conversation may have gone on."""
        from tui.ui.transcript.search_hits import hits_in, reveal

        chat = self._app.chat
        view = chat.view()
        hits = hits_in(chat.transcript.column.sections, view, self.wanted) if view is not None and self.wanted else []
        if not hits:
            self._app.say("Nothing to step through: ctrl+f finds.")
            return
        self._at = (self._at + step) % len(hits)
        place = reveal(chat.transcript, hits[self._at], self.wanted)
        chat.selections = {} if place is None else {chat.transcript: Selection(*place)}
