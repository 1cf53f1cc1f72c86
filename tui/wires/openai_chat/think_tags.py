"""Thinking written into the answer between tags: an incremental splitter, for servers without a reasoning parser.

Nothing is trimmed but white space before a tag that opens the answer. What may still become a tag is held back;
that is never more than one tag's length.
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
"""Opening tags and what closes them (WIRE formats of several model families)."""
FENCE = "```"
LONGEST_LEAD = 256
"""White space held back before the first word; an answer of nothing but blanks must not be kept for ever."""

_OPENERS = tuple(TAGS)
_OPENER_OR_FENCE = (*TAGS, FENCE)
_FIND_OPENER_OR_FENCE = re.compile("|".join(re.escape(mark) for mark in _OPENER_OR_FENCE))
_CLOSERS = tuple(TAGS.values())
LONGEST_MARK = max(map(len, (*_OPENERS, *_CLOSERS))) - 1
"""Characters of a mark that may have to be held back."""
_FIND_CLOSER = re.compile("|".join(re.escape(mark) for mark in _CLOSERS))


class Piece(NamedTuple):
    """Some text, and whether it is thinking."""

    thinking: bool
    text: str


class ThinkTags:
    """One answer's text, in order. ``done`` means no tag can matter any more: the rest is text as it is."""

    def __init__(self, mode: str) -> None:
        self.done = mode == "never"
        self._always = mode == "always"
        self.forced = mode == "forced_open"
        """The prompt has opened the block: text without a tag is thinking. Read until the first word decides."""
        self._undecided = mode in ("auto", "forced_open")
        self._closer: str | None = None
        self._thinking = False
        self._fenced = False
        self._held = ""
        self._read = 0
        """How much of ``_held`` is said already; cut off once per feed, so that many tags cost no more than few."""

    def feed(self, text: str) -> list[Piece]:
        """What is certain so far."""
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
        """The end of the text: what was held back is no tag. An unclosed tag means all of it was thinking."""
        held, self._held = self._held, ""
        thinking = self._thinking or (self._undecided and self.forced)
        self.done = True
        return [Piece(thinking=thinking, text=held)] if held else []

    def _decide(self) -> bool:
        """Whether the answer opens with a tag, as far as its first characters tell."""
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
        """Take one stretch up to the next mark; False when more text is needed."""
        if self.done:
            self._say(pieces, len(self._held))
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
            self._say_what_is_certain(pieces, marks)
            return False
        self._say(pieces, start)
        self._read = end
        self._thinking, self._closer = False, None
        self.done = not self._always
        return True

    def _step_in_text(self, pieces: list[Piece]) -> bool:
        found = _FIND_OPENER_OR_FENCE.search(self._held, self._read)
        if found is None:
            self._say_what_is_certain(pieces, _OPENER_OR_FENCE)
            return False
        mark = found.group()
        if mark == FENCE or self._fenced:
            self._fenced ^= mark == FENCE
            self._say(pieces, found.end())
        else:
            self._say(pieces, found.start())
            self._thinking, self._closer = True, TAGS[mark]
        self._read = found.end()
        return True

    def _say(self, pieces: list[Piece], end: int) -> None:
        if end > self._read:
            pieces.append(Piece(thinking=self._thinking, text=self._held[self._read : end]))
            self._read = end

    def _say_what_is_certain(self, pieces: list[Piece], marks: tuple[str, ...]) -> None:
        """All but the longest end that may be the beginning of a mark."""
        self._say(pieces, len(self._held) - _beginning_at_end(self._held[self._read :][-LONGEST_MARK:], marks))


def _beginning_at_end(text: str, marks: tuple[str, ...]) -> int:
    """Length of the longest end of ``text`` that is a beginning of one of ``marks``."""
    for length in range(len(text), 0, -1):
        if any(mark.startswith(text[-length:]) for mark in marks):
            return length
    return 0
