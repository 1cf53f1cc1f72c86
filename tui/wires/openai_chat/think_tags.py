"""Separates thinking between tags from the answer, incrementally, for servers without a reasoning parser.

Only white space before a tag at the start of the answer is removed. Text that may be the start of a tag is held back,
never more than the length of one tag.
"""

from __future__ import annotations

import re
from typing import NamedTuple

TAGS = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "[THINK]": "[/THINK]",
    "◁think▷": "◁/think▷",
    "<|channel>thought": "<channel|>",
}
"""Opening and closing tags of several model families."""
FENCE = "```"
LONGEST_LEAD = 256
"""Most white space held back before the first word, so that an answer of white space is not held forever."""

_OPENERS = tuple(TAGS)
_OPENER_OR_FENCE = (*TAGS, FENCE)
_FIND_OPENER_OR_FENCE = re.compile("|".join(re.escape(mark) for mark in _OPENER_OR_FENCE))
_CLOSERS = tuple(TAGS.values())
LONGEST_MARK = max(map(len, (*_OPENERS, *_CLOSERS))) - 1
"""Most characters of a tag that can be held back."""
_FIND_CLOSER = re.compile("|".join(re.escape(mark) for mark in _CLOSERS))


class Piece(NamedTuple):
    """A piece of text, and whether it is thinking."""

    thinking: bool
    text: str


class ThinkTags:
    """Splits the text of one answer. ``done`` means that no more tags are searched: the rest is text."""

    def __init__(self, mode: str) -> None:
        self.done = mode == "never"
        self._always = mode == "always"
        self.forced = mode == "forced_open"
        """The prompt contains the opening tag, so text without one is thinking. Read until the first word decides."""
        self._undecided = mode in ("auto", "forced_open")
        self._closer: str | None = None
        self._thinking = False
        self._fenced = False
        self._held = ""
        self._read = 0
        """Characters of ``_held`` already returned; they are removed once per feed, so that many tags stay cheap."""

    def feed(self, text: str) -> list[Piece]:
        """Add text and return the pieces that are certain."""
        if self.done:
            return [Piece(thinking=False, text=text)] if text else []
        self._held += text
        pieces: list[Piece] = []
        if self._undecided and not self._decide():
            return pieces
        while self._step(pieces):
            pass
        self._held, self._read = self._held[self._read :], 0
        return pieces

    def finish(self) -> list[Piece]:
        """Return the held text, which was not a tag. It is thinking if a tag is still open."""
        held, self._held = self._held, ""
        thinking = self._thinking or (self._undecided and self.forced)
        self.done = True
        return [Piece(thinking=thinking, text=held)] if held else []

    def _decide(self) -> bool:
        """Check the first characters for an opening tag; False if more text is needed."""
        lead = self._held.lstrip()
        blanks = len(self._held) - len(lead)
        opener = next((tag for tag in _OPENERS if lead.startswith(tag)), None)
        if opener is not None:
            self._held = lead[len(opener) :]
            self._closer, self._thinking = TAGS[opener], True
        elif blanks <= LONGEST_LEAD and any(tag.startswith(lead) for tag in _OPENERS):
            return False
        elif self.forced:
            self._thinking = True
        else:
            self.done = True
        self._undecided = False
        return True

    def _step(self, pieces: list[Piece]) -> bool:
        """Process the text up to the next tag; False if more text is needed."""
        if self.done:
            self._emit(pieces, len(self._held))
            return False
        return self._step_in_thinking(pieces) if self._thinking else self._step_in_text(pieces)

    def _step_in_thinking(self, pieces: list[Piece]) -> bool:
        closer = self._closer
        if closer is not None:
            start = self._held.find(closer, self._read)
            end = start + len(closer)
            marks: tuple[str, ...] = (closer,)
        else:
            found = _FIND_CLOSER.search(self._held, self._read)
            start, end = found.span() if found else (-1, -1)
            marks = _CLOSERS
        if start < 0:
            self._emit_certain(pieces, marks)
            return False
        self._emit(pieces, start)
        self._read = end
        self._thinking, self._closer = False, None
        self.done = not self._always
        return True

    def _step_in_text(self, pieces: list[Piece]) -> bool:
        found = _FIND_OPENER_OR_FENCE.search(self._held, self._read)
        if found is None:
            self._emit_certain(pieces, _OPENER_OR_FENCE)
            return False
        mark = found.group()
        if mark == FENCE or self._fenced:
            self._fenced ^= mark == FENCE
            self._emit(pieces, found.end())
        else:
            self._emit(pieces, found.start())
            self._thinking, self._closer = True, TAGS[mark]
        self._read = found.end()
        return True

    def _emit(self, pieces: list[Piece], end: int) -> None:
        if end > self._read:
            pieces.append(Piece(thinking=self._thinking, text=self._held[self._read : end]))
            self._read = end

    def _emit_certain(self, pieces: list[Piece], marks: tuple[str, ...]) -> None:
        """Return all text except an end that may be the start of a tag."""
        self._emit(pieces, len(self._held) - _beginning_at_end(self._held[self._read :][-LONGEST_MARK:], marks))


def _beginning_at_end(text: str, marks: tuple[str, ...]) -> int:
    """Return the length of the longest end of ``text`` that is the start of one of ``marks``."""
    for length in range(len(text), 0, -1):
        if any(mark.startswith(text[-length:]) for mark in marks):
            return length
    return 0
