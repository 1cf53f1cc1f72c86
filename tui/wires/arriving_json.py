"""Whether the arguments of a call are complete while they arrive, without keeping megabytes of them for it."""

from __future__ import annotations

import re

from tui.domain.lazy_regex import lazy_regex
from tui.wires.json_text import NotJSON, loads

KEPT = 256 * 1024
"""Characters of JSON that are kept and parsed. Of longer JSON only the nesting is known: the answer holds the text
itself, and a second copy of it would be most of what a long call costs."""

NOTHING = object()

_OUTSIDE = lazy_regex(r'["{}\[\]]')
_INSIDE = lazy_regex(r'(?:[^"\\]++|\\.)*+', re.DOTALL)


class ArrivingJson:
    """JSON that arrives in pieces."""

    __slots__ = ("_depth", "_dropped", "_is_in_string", "_is_object", "_pieces", "_size")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._size = 0
        self._dropped = False
        """The beginning was scanned and is not kept any more."""
        self._is_object = False
        self._depth = 0
        self._is_in_string = False

    def append(self, piece: str) -> None:
        """Add what arrived."""
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size >= KEPT:
            self._scan()

    @property
    def is_empty(self) -> bool:
        """Nothing arrived."""
        return not self._dropped and not self._pieces

    @property
    def is_blank(self) -> bool:
        """Nothing but blanks arrived."""
        return not self._dropped and not any(piece.strip() for piece in self._pieces)

    def is_json(self) -> bool:
        """Whether it is complete JSON; of long JSON, whether it is an object whose brackets and strings are closed."""
        return self._is_closed() if self._dropped else self._parsed() is not NOTHING

    def is_object(self) -> bool:
        """Whether it is a complete object."""
        return self._is_closed() if self._dropped else isinstance(self._parsed(), dict)

    def _parsed(self) -> object:
        try:
            return loads("".join(self._pieces))
        except NotJSON:
            return NOTHING

    def _is_closed(self) -> bool:
        self._scan()
        return self._is_object and self._depth == 0 and not self._is_in_string

    def _scan(self) -> None:
        """Follow the nesting through what is kept, and drop it; half an escape is kept."""
        text = "".join(self._pieces)
        if not self._dropped:
            self._dropped, self._is_object = True, text.lstrip().startswith("{")
        rest = self._follow(text)
        self._pieces, self._size = [rest] if rest else [], len(rest)

    def _follow(self, text: str) -> str:
        at = 0
        while at < len(text):
            if self._is_in_string:
                inside = _INSIDE.match(text, at)
                at = inside.end() if inside else at
                if at < len(text) and text[at] == "\\":
                    return text[at:]  # the escaped character is still to come
                self._is_in_string = at >= len(text)
                at += 1
                continue
            mark = _OUTSIDE.search(text, at)
            end = mark.start() if mark else len(text)
            if mark is not None:
                self._depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(mark.group(), 0)
                self._is_in_string = mark.group() == '"'
            at = end + 1
        return ""
