"""Joins characters that a stream split: half a surrogate pair is held back until the other half arrives."""

from __future__ import annotations

from tui.domain.assemble import whole_text


class SurrogateJoiner:
    """Joins the text of one block."""

    def __init__(self) -> None:
        self._held = ""

    def take(self, text: str) -> str:
        """The text that can be written now."""
        pieces = self._held + text
        self._held = ""
        if pieces and "\ud800" <= pieces[-1] <= "\udbff":
            pieces, self._held = pieces[:-1], pieces[-1]
        return whole_text([pieces])
