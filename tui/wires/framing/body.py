"""Reads a response body in any framing and passes its frames to a decoder.

The first bytes decide the framing. The content type only breaks ties, because servers often send a wrong one.
The charset is ignored: all these formats are UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.lazy_regex import lazy_regex
from tui.domain.stream import StreamEvent
from tui.wires.errors.body import error_frame
from tui.wires.framing.json_frames import JsonArrayFramer, NdjsonFramer
from tui.wires.framing.sse import BOM, STRAY_CAP, STREAM_CAP, SseFramer, too_large
from tui.wires.json_text import NotJSON, dumps, loads_leniently
from tui.wires.wire import Decoder, Frame, Wire

DONE = b"[DONE]"


def unseparated_events(unterminated: bytes) -> list[Frame]:
    """Return the events of an SSE stream without blank lines between them; none if it is at most one event."""
    frames: list[Frame] = []
    name = ""
    if b"\ndata:" not in unterminated:
        return frames
    for line in unterminated.splitlines():
        field, _, value = line.partition(b":")
        if field == b"event":
            name = value.strip().decode("utf-8", "replace")
        elif field == b"data":
            frames.append((name, value.strip()))
            name = ""
    whole = [frame for frame in frames if _is_json(frame[1])]
    # A stream that was cut off ends with a single data line, so one line is not enough. Only the last may be cut.
    return whole if len(frames) > 1 and len(whole) >= len(frames) - 1 and whole == frames[: len(whole)] else []


def bare_lines(body: bytes) -> list[Frame]:
    """Return the frames of a body with one JSON object per line; none for any other body."""
    lines = [line.strip() for line in body.splitlines() if line.strip()]
    return [("", line) for line in lines] if len(lines) > 1 and all(map(_is_json, lines)) else []


def _is_json(text: bytes) -> bool:
    if text == DONE:
        return True
    try:
        return isinstance(loads_leniently(text), dict)
    except NotJSON:
        return False


SSE_FIELD = lazy_regex(rb"(?:data|event|id|retry)?:|error: ?\{|(?:data|event|id|retry)[\r\n]")
SSE_FIELD_CUT = lazy_regex(rb"d|da|dat|data|e|ev|eve|even|event|i|id|r|re|ret|retr|retry")
TITLE = lazy_regex(rb"<title[^>]{0,200}>(.{0,400}?)</title", re.IGNORECASE | re.DOTALL)
PAGE_CAP = 64 * 1024
"""Bytes of an HTML page that are kept to find its title."""
SHOWN = 200
"""Characters of an unexpected page that are shown."""

Framer = SseFramer | NdjsonFramer | JsonArrayFramer
Feed = Callable[["BodyReader", bytes], list[StreamEvent]]
Finish = Callable[["BodyReader"], list[StreamEvent]]


class BodyReader:
    """Decodes a body. Call ``feed`` with chunks split anywhere, then ``finish`` once.

    Events before a fault are not lost: ``feed`` returns them and stores the fault in ``fault``; the next call of
    ``feed`` or ``finish`` raises it. Every fault is a ProviderError.
    """

    def __init__(self, wire: Wire, decoder: Decoder, content_type: str | None = None) -> None:
        self._decoder = decoder
        self._line_by_line = wire.framing == "ndjson"
        self._says_sse = "event-stream" in (content_type or "").lower()
        self._held: list[bytes] = []
        self._held_size = 0
        self._framer: Framer | None = None
        # Functions of the class: a bound method would be a reference to itself, which only the collector frees.
        self._feed: Feed = BodyReader._sniff
        self._finish: Finish = BodyReader._finish_frames
        self.fault: ProviderError | None = None
        """The error that follows the events returned last."""

    def feed(self, chunk: bytes) -> Sequence[StreamEvent]:
        """Return the events of the next chunk."""
        if self.fault is not None:
            raise self.fault
        try:
            if self._framer is None:
                return self._feed(self, chunk)
            frames = self._framer.feed(chunk)
            if len(frames) == 1:
                return self._decoder.feed(frames[0])
        except ProviderError as fault:
            self.fault = fault
            return []
        return self._decode(frames)

    def finish(self) -> list[StreamEvent]:
        """Return the closing events; raises ProviderError if the body ended early."""
        if self.fault is not None:
            raise self.fault
        events = self._finish(self)
        if self.fault is not None:
            raise self.fault
        return events

    def _sniff(self, chunk: bytes) -> list[StreamEvent]:
        """Wait for the first byte that is not white space: servers send blank lines to keep the connection open."""
        self._hold(chunk)
        body = self._body()
        if BOM.startswith(body):
            return []
        lead = body.removeprefix(BOM)
        if lead.isspace() and len(lead) < PAGE_CAP:
            self._held = [lead[max(lead.rfind(b"\n"), lead.rfind(b"\r")) + 1 :]]
            return []
        return self._settle(body, lead)

    def _settle(self, body: bytes, lead: bytes) -> list[StreamEvent]:
        first = lead.lstrip()[:1]
        if first == b"{":
            feed = BodyReader._probe_lines if self._line_by_line else BodyReader._gather_whole
            return self._become(feed, BodyReader._finish_whole)
        if first == b"[":
            return self._become_framed(JsonArrayFramer(), lead)
        line = lead.lstrip(b"\r\n")
        if first != b"<" and (self._says_sse or SSE_FIELD.match(line)):
            return self._become_framed(SseFramer(), body)
        if SSE_FIELD_CUT.fullmatch(line):
            return []
        return self._become(BodyReader._gather_page, BodyReader._finish_page)

    def _become(self, feed: Feed, finish: Finish) -> list[StreamEvent]:
        self._feed, self._finish = feed, finish
        body, self._held, self._held_size = self._body(), [], 0
        return feed(self, body.removeprefix(BOM))

    def _become_framed(self, framer: Framer, body: bytes) -> list[StreamEvent]:
        self._framer = framer
        self._finish = BodyReader._finish_frames
        self._held, self._held_size = [], 0
        return self._decode(framer.feed(body))

    def _decode(self, frames: Iterable[Frame]) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        feed = self._decoder.feed
        try:
            for frame in frames:
                events += feed(frame)
        except ProviderError as fault:
            self.fault = fault
        return events

    def _finish_frames(self) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        if self._framer is not None:
            events = self._decode(self._framer.finish())
            if isinstance(self._framer, SseFramer) and not self._decoder.complete:
                events += self._decode(_error_between_events(self._framer))
            if isinstance(self._framer, SseFramer) and not self._decoder.complete and self._framer.unterminated:
                events += self._decode(unseparated_events(self._framer.unterminated))
        if self.fault is None:
            events += self._decoder.finish()
        return events

    def _probe_lines(self, chunk: bytes) -> list[StreamEvent]:
        """Choose between NDJSON and one JSON body over several lines: the first line is valid JSON only in NDJSON."""
        self._hold(chunk)
        if b"\n" not in chunk:
            return []
        body = self._body()
        first, _, _ = body.lstrip().partition(b"\n")
        try:
            loads_leniently(first)
        except NotJSON:
            self._feed = BodyReader._gather_whole
            return []
        return self._become_framed(NdjsonFramer(), body)

    def _gather_whole(self, chunk: bytes) -> list[StreamEvent]:
        self._hold(chunk)
        return []

    def _finish_whole(self) -> list[StreamEvent]:
        try:
            return list(self._decoder.feed_whole(self._body()))
        except NotJSON:
            if (error := error_frame(("", self._body()))) is not None:
                return list(self._decoder.feed_whole(dumps(error).encode()))
            frames = bare_lines(self._body())
            if not frames:
                raise
        return [*self._decode(frames), *self._decoder.finish()]

    def _gather_page(self, chunk: bytes) -> list[StreamEvent]:
        self._hold(chunk)
        if self._held_size >= PAGE_CAP:
            raise no_answer(self._body())
        return []

    def _finish_page(self) -> list[StreamEvent]:
        raise no_answer(self._body())

    def _hold(self, chunk: bytes) -> None:
        self._held.append(chunk)
        self._held_size += len(chunk)
        if self._held_size > STREAM_CAP:
            raise too_large("an answer", STREAM_CAP)

    def _body(self) -> bytes:
        body = b"".join(self._held)
        self._held = [body]
        return body


def no_answer(page: bytes) -> ProviderError:
    """Return the error for the page of a proxy, gateway or captive portal, with its title or its first characters."""
    page = page[:PAGE_CAP]
    titled = TITLE.search(page)
    from html import unescape

    page_text = unescape((titled.group(1) if titled else page).decode("utf-8", "replace"))
    shown = " ".join("".join(mark if mark.isprintable() else " " for mark in page_text[: 2 * SHOWN]).split())[:SHOWN]
    what = "a web page" if page.lstrip().startswith(b"<") else "something that is not an answer"
    return ProviderError(ErrorKind.NOT_A_STREAM, f"The server sent {what}: {shown}")


def _error_between_events(framer: SseFramer) -> list[Frame]:
    """Return an error that a failing server wrote as plain JSON between events or as an unterminated last event."""
    last = framer.unterminated
    if last.startswith(b"error:"):
        return [("error", last[6:].strip())]
    for candidate in (framer.stray, last[last.rfind(b"data:") + 5 :] if b"data:" in last[:STRAY_CAP] else last):
        if len(candidate) > STRAY_CAP or not candidate.lstrip().startswith(b"{"):
            continue
        try:
            value = loads_leniently(candidate)
        except NotJSON:
            continue
        if isinstance(value, dict) and "error" in value:
            return [("", candidate)]
    return []
