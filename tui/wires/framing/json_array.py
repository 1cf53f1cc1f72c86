"""A JSON array that arrives piece by piece (Gemini without ``alt=sse``): bytes to one frame per object in it."""

from __future__ import annotations

from tui.domain.lazy_regex import lazy_regex
from tui.wires.framing.sse import EVENT_CAP, STREAM_CAP, too_large
from tui.wires.wire import Frame

STRUCTURE = lazy_regex(rb'["{}\[\]]')
IN_STRING = lazy_regex(rb'["\\]')
ELEMENT_DEPTH = 2
"""The array itself is depth 1, an object in it opens depth 2."""


class JsonArrayFramer:
    """Feed it chunks cut anywhere; it finds where objects end, without parsing. What is no object is passed over."""

    def __init__(self, *, event_cap: int = EVENT_CAP, stream_cap: int = STREAM_CAP) -> None:
        self._event_cap = event_cap
        self._stream_cap = stream_cap
        self._seen = 0
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self._tail: list[bytes] = []
        self._tail_size = 0

    def feed(self, chunk: bytes) -> list[Frame]:
        """Frames that became complete with this chunk."""
        self._seen += len(chunk)
        if self._seen > self._stream_cap:
            raise too_large("an answer", self._stream_cap)
        frames: list[Frame] = []
        start = 0
        position = 1 if self._escaped and chunk else 0
        self._escaped = self._escaped and not chunk
        while found := (IN_STRING if self._in_string else STRUCTURE).search(chunk, position):
            position = found.end()
            mark = found.group()
            if mark == b'"':
                self._in_string = not self._in_string
            elif mark == b"\\":
                position += 1
                self._escaped = position > len(chunk)
            elif mark in b"{[":
                self._depth += 1
                start = found.start() if self._depth == ELEMENT_DEPTH else start
            elif self._depth:
                self._depth -= 1
                if self._depth == ELEMENT_DEPTH - 1:
                    frames.append(("", self._element(chunk[start:position])))
        if self._depth >= ELEMENT_DEPTH:
            self._keep(chunk[start:])
        return frames

    def finish(self) -> list[Frame]:
        """End of bytes: an object that never closed is no frame."""
        return []

    @property
    def unterminated(self) -> bytes:
        """The object that never closed."""
        return b"".join(self._tail)

    def _element(self, end: bytes) -> bytes:
        self._keep(end)
        element = b"".join(self._tail)
        self._tail = []
        self._tail_size = 0
        return element

    def _keep(self, piece: bytes) -> None:
        self._tail.append(piece)
        self._tail_size += len(piece)
        if self._tail_size > self._event_cap:
            raise too_large("one element", self._event_cap)
