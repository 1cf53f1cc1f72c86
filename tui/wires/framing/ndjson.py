"""Splits a stream with one JSON value per line into frames, incrementally and in linear time."""

from __future__ import annotations

from tui.wires.framing.sse import EVENT_CAP, STREAM_CAP, too_large
from tui.wires.wire import Frame


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
