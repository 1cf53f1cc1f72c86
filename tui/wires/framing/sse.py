"""Splits server-sent events into frames by the WHATWG rules, incrementally and in linear time.

The ``retry`` and ``id`` fields are ignored: no model server resumes a stream.
"""

from __future__ import annotations

from collections.abc import Iterable

from tui.domain.errors import ErrorKind, ProviderError
from tui.wires.wire import Frame

EVENT_CAP = 16 * 1024 * 1024
"""Largest event, line or array element in bytes; a larger one is an attack or a bug."""
STREAM_CAP = 64 * 1024 * 1024
"""Largest response body in bytes, after decompression."""
STRAY_CAP = 64 * 1024
"""Bytes kept of text between events that is not an event."""
KNOWN_NAMES_CAP = 256
"""Event names stored for the fast path. With more names, decoding is slower but correct."""
ONE_EVENT = 16 * 1024
"""Largest chunk in bytes that is tried as a single event first; larger chunks usually contain several."""
BOM = b"\xef\xbb\xbf"


def too_large(what: str, cap: int) -> ProviderError:
    """Return the error for input above a size limit."""
    return ProviderError(
        ErrorKind.TOO_LARGE, f"The server sent {what} of more than {cap // (1024 * 1024)} MB; the rest was not read."
    )


class SseFramer:
    """Returns complete events as frames. Chunks may be split anywhere.

    Only CR, LF and CRLF end a line. A block without a data field is not an event. Neither is an event without its
    blank line, but ``unterminated`` returns it for error detection.
    """

    def __init__(self, *, event_cap: int = EVENT_CAP, stream_cap: int = STREAM_CAP) -> None:
        self._event_cap = event_cap
        self._stream_cap = stream_cap
        self._seen = 0
        self._start: bytes | None = b""
        self._after_cr = False
        self._held_newline = False
        self._tail: list[bytes] = []
        self._tail_size = 0
        self._between = False
        """Whether the next byte starts an event: no partial event, line end or byte order mark is held."""
        self._names: dict[bytes, str] = {}
        self.stray = b""
        """Blocks of plain JSON between the events: some servers report errors this way."""

    def feed(self, chunk: bytes) -> list[Frame]:
        """Return the frames that this chunk completes."""
        size = len(chunk)
        self._seen += size
        if self._seen > self._stream_cap:
            raise too_large("an answer", self._stream_cap)
        if self._between and size <= ONE_EVENT and (frame := self._one(chunk)):
            return [frame]
        frames = self._feed_any(chunk)
        self._between = not (self._tail or self._held_newline or self._after_cr or self._start is not None)
        return frames

    def _one(self, chunk: bytes) -> Frame | None:
        """Fast path: return the frame of a chunk that is exactly one usual event (most chunks of a slow stream)."""
        name = ""
        if chunk[:6] == b"data: ":
            data = chunk[6:]
        else:
            head, _, data = chunk.partition(b"\ndata: ")
            known = self._names.get(head)
            if known is None:
                return None
            name = known
        end = data.find(b"\n")
        rest = data[end:]
        if rest == b"\n\n" and b"\r" not in data:
            return name, data[:end]
        if rest == b"\n\r\n" and data.find(b"\r") == end - 1:
            return name, data[: end - 1]
        return None

    def _feed_any(self, chunk: bytes) -> list[Frame]:
        if self._start is not None:
            chunk = self._without_bom(chunk)
        if self._after_cr and chunk:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" not in chunk:
            return self._feed_lines(chunk)
        end = -1 if self._held_newline else chunk.rfind(b"\r\n\r\n")
        if end < 0:
            return self._feed_lines(self._with_newlines(chunk))
        frames = self._crlf_frames(self._region(chunk[:end]))
        if rest := chunk[end + 4 :]:
            frames += self._feed_lines(self._with_newlines(rest))
        return frames

    def finish(self) -> list[Frame]:
        """Return no frames: an event without its blank line is discarded."""
        return []

    @property
    def unterminated(self) -> bytes:
        """The bytes after the last complete event."""
        return b"".join(self._tail) + (self._start or b"")

    def _without_bom(self, chunk: bytes) -> bytes:
        start = (self._start or b"") + chunk
        if len(start) < len(BOM) and BOM.startswith(start):
            self._start = start
            return b""
        self._start = None
        return start.removeprefix(BOM)

    def _with_newlines(self, chunk: bytes) -> bytes:
        """Replace line ends by LF. A CR at the end of a chunk ends its line; an LF right after it is dropped."""
        self._after_cr = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _feed_lines(self, chunk: bytes) -> list[Frame]:
        """Return the frames of a chunk whose lines all end with LF."""
        if self._held_newline and chunk:
            self._held_newline = False
            chunk = b"\n" + chunk
        end = chunk.rfind(b"\n\n")
        if end < 0:
            self._keep(chunk)
            return []
        region = self._region(chunk[:end])
        self._keep(chunk[end + 2 :])
        return self._frames(region)

    def _region(self, chunk: bytes) -> bytes:
        """Return the held bytes and the chunk: a whole number of events."""
        if not self._tail:
            return chunk
        region = b"".join((*self._tail, chunk))
        self._tail = []
        self._tail_size = 0
        return region

    def _keep(self, rest: bytes) -> None:
        if rest.endswith(b"\n"):
            self._held_newline = True
            rest = rest[:-1]
        if rest:
            self._tail.append(rest)
            self._tail_size += len(rest)
            if self._tail_size > self._event_cap:
                raise too_large("one event", self._event_cap)

    def _crlf_frames(self, region: bytes) -> list[Frame]:
        """Fast path for CRLF streams of plain data events, as Gemini sends them; others take the general path."""
        lines = region.split(b"\n")
        *data, last = lines[::2]
        count = len(data)
        if (
            len(region) <= self._event_cap
            and len(lines) == 2 * count + 1
            and lines[1::2].count(b"\r") == count
            and region.count(b"\r") == 2 * count
            and last[:6] == b"data: "
        ):
            frames = [("", line[6:-1]) for line in data if line[:6] == b"data: " and line[-1:] == b"\r"]
            if len(frames) == count:
                frames.append(("", last[6:]))
                return frames
        return self._frames(region.replace(b"\r\n", b"\n").replace(b"\r", b"\n"))

    def _frames(self, region: bytes) -> list[Frame]:
        if len(region) <= self._event_cap:
            lines = region.split(b"\n")
            first = 0
            while first < len(lines) and lines[first][:1] == b":" and lines[first + 1 : first + 2] == [b""]:
                first += 2
            lines = lines[first:] if first else lines
            frames = self._regular(lines) if lines else []
            if frames is not None:
                return frames
        return self._irregular(region)

    def _regular(self, lines: list[bytes]) -> list[Frame] | None:
        """Fast path: return the frames if all events are one data line, or all are an event line and a data line.

        Most decoding time is spent here, so each line is visited once, in one comprehension. None for other streams.
        """
        names = self._names
        if lines[0][:6] == b"data: ":
            data = lines[::2]
            if len(lines) != 2 * len(data) - 1 or lines[1::2].count(b"") != len(data) - 1:
                return None
            frames = [("", line[6:]) for line in data if line[:6] == b"data: "]
        else:
            heads, data = lines[::3], lines[1::3]
            if len(lines) != 3 * len(heads) - 1 or lines[2::3].count(b"") != len(heads) - 1:
                return None
            self._learn(set(heads).difference(names))
            pairs = zip(heads, data, strict=True)
            frames = [(names[head], line[6:]) for head, line in pairs if head in names and line[:6] == b"data: "]
        return frames if len(frames) == len(data) else None

    def _irregular(self, region: bytes) -> list[Frame]:
        """Return the frames of a mixed stream, one event at a time; usual events still take one step each."""
        frames: list[Frame] = []
        names = self._names
        for block in region.split(b"\n\n"):
            if len(block) > self._event_cap:
                raise too_large("one event", self._event_cap)
            if block[:6] == b"data: ":
                head, _, rest = block.partition(b"\n")
                frame = ("", head[6:]) if not rest else self._unusual(block)
            else:
                head, found, data = block.partition(b"\ndata: ")
                usual = found and head in names and b"\n" not in data
                frame = (names[head], data) if usual else self._unusual(block)
            if frame is not None:
                frames.append(frame)
        return frames

    def _unusual(self, block: bytes) -> Frame | None:
        """Parse any block line by line."""
        name = ""
        data: list[bytes] = []
        error = b""
        for line in block.split(b"\n"):
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if field == b"data":
                data.append(value)
            elif field == b"event":
                name = value.decode("utf-8", "replace")
            elif field == b"error" and value[:1] == b"{":
                error = value
        if error and not data:
            return "error", error  # servers like llama.cpp end a failed stream with this line
        if not data:
            self._notice(block)
            return None
        self._learn((block.partition(b"\n")[0],))
        return name, b"\n".join(data)

    def _learn(self, heads: Iterable[bytes]) -> None:
        """Store event lines for the fast path."""
        for head in heads:
            if head.startswith(b"event:") and len(self._names) < KNOWN_NAMES_CAP:
                self._names[head] = head[6:].removeprefix(b" ").decode("utf-8", "replace")

    def _notice(self, block: bytes) -> None:
        if block.lstrip()[:1] in (b"{", b"[") and len(self.stray) + len(block) <= STRAY_CAP:
            self.stray += block
