"""Splits streams of JSON objects into frames, incrementally: a JSON array, or one value per line (NDJSON).

Gemini sends an array if ``alt=sse`` is missing, Ollama sends lines.
"""

from __future__ import annotations

from tui.domain.lazy_regex import lazy_regex
from tui.wires.framing.sse import EVENT_CAP, STREAM_CAP, too_large
from tui.wires.wire import Frame

STRUCTURE = lazy_regex(rb'["{}\[\]]')
IN_STRING = lazy_regex(rb'["\\]')
ELEMENT_DEPTH = 2
"""Depth of the array's objects; the array itself has depth 1."""


class JsonArrayFramer:
    """Finds the ends of objects without parsing them. Chunks may be split anywhere; other elements are ignored."""

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
        """Return the frames that this chunk completes."""
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
        """Return no frames: an object that was not closed is dropped."""
        return []

    @property
    def unterminated(self) -> bytes:
        """The bytes of an object that is not closed yet."""
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


class NdjsonFramer:
    """Returns every line that is not blank as a frame. Chunks may be split anywhere."""

    def __init__(self, *, event_cap: int = EVENT_CAP, stream_cap: int = STREAM_CAP) -> None:
        self._event_cap = event_cap
        self._stream_cap = stream_cap
        self._seen = 0
        self._tail: list[bytes] = []
        self._tail_size = 0

    def feed(self, chunk: bytes) -> list[Frame]:
        """Return the frames that this chunk completes."""
        self._seen += len(chunk)
        if self._seen > self._stream_cap:
            raise too_large("an answer", self._stream_cap)
        end = chunk.rfind(b"\n")
        if end < 0:
            self._keep(chunk)
            return []
        region = b"".join((*self._tail, chunk[:end])) if self._tail else chunk[:end]
        self._tail = []
        self._tail_size = 0
        self._keep(chunk[end + 1 :])
        if len(region) > self._event_cap and max(map(len, region.split(b"\n"))) > self._event_cap:
            raise too_large("one line", self._event_cap)
        return [("", line) for line in region.split(b"\n") if line and not line.isspace()]

    def finish(self) -> list[Frame]:
        """Return a last line without newline as a frame, if it ends like a complete object."""
        line = self.unterminated.strip()
        if not line.endswith(b"}"):
            return []
        self._tail = []
        return [("", line)]

    @property
    def unterminated(self) -> bytes:
        """The bytes after the last newline."""
        return b"".join(self._tail)

    def _keep(self, rest: bytes) -> None:
        if rest:
            self._tail.append(rest)
            self._tail_size += len(rest)
            if self._tail_size > self._event_cap:
                raise too_large("one line", self._event_cap)
