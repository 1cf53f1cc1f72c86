"""Notices a model that says the same thing for ever."""

from __future__ import annotations

CHUNK = 50
"""Characters that must come again and again."""
TIMES = 10
WINDOW = CHUNK * 5 * TIMES
"""How far back to look: a longer loop than five chunks is not noticed."""


class RepetitionDetector:
    """Feed it the words of one answer; it answers once whether they go round in circles."""

    def __init__(self) -> None:
        self._tail = ""
        self._unseen = 0
        self._told = False

    def repeats(self, text: str) -> bool:
        """True the first time the last 50 characters have come ten times."""
        if self._told:
            return False
        self._tail = (self._tail + text)[-WINDOW:]
        self._unseen += len(text)
        if self._unseen < CHUNK or len(self._tail) < CHUNK * TIMES:
            return False
        self._unseen = 0
        self._told = self._tail.count(self._tail[-CHUNK:]) >= TIMES
        return self._told
