"""Streams framed by hand are read where every line is JSON by itself; a stream that was cut gains nothing by it."""

from __future__ import annotations

import pytest

from tui.catalog.facts import Quirks
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.stream import ResponseFinished, StreamEvent, TextDelta
from tui.wires.framing.body import BodyReader
from tui.wires.wire import wire_named

CHAT = (
    b'{"choices":[{"index":0,"delta":{"content":"H"}}]}',
    b'{"choices":[{"index":0,"delta":{"content":"i"}}]}',
    b'{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
)
CLAUDE = (
    (b"message_start", b'{"type":"message_start","message":{"id":"m","model":"m","usage":{}}}'),
    (b"content_block_delta", b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}'),
    (b"message_delta", b'{"type":"message_delta","delta":{"stop_reason":"end_turn"}}'),
    (b"message_stop", b'{"type":"message_stop"}'),
)


def _read(wire: str, body: bytes) -> tuple[list[StreamEvent], ProviderError | None]:
    named = wire_named(wire)
    reader = BodyReader(named, named.decoder(Quirks()), "text/event-stream")
    events: list[StreamEvent] = []
    try:
        for place in range(0, len(body), 7):
            events += reader.feed(body[place : place + 7])
        events += reader.finish()
    except ProviderError as error:
        return events, error
    return events, None


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
@pytest.mark.parametrize("end", [(), (b"data: [DONE]",)])
def test_events_without_a_blank_line_between_them_are_events(newline: bytes, end: tuple[bytes, ...]) -> None:
    lines = [*(b"data: " + chunk for chunk in CHAT), *end]
    events, error = _read("openai-chat", newline.join(lines) + newline)
    assert ("".join(event.text for event in events if isinstance(event, TextDelta)), error) == ("Hi", None)
    assert isinstance(events[-1], ResponseFinished)


def test_so_are_events_with_names() -> None:
    body = b"".join(b"event: %s\ndata: %s\n" % event for event in CLAUDE)
    events, error = _read("anthropic", body)
    assert ([event.text for event in events if isinstance(event, TextDelta)], error) == (["Hi"], None)


def test_chunks_on_bare_lines_are_chunks() -> None:
    events, error = _read("openai-chat", b"\n".join(CHAT))
    assert ("".join(event.text for event in events if isinstance(event, TextDelta)), error) == ("Hi", None)


@pytest.mark.parametrize("name", [b"", b"event: error\n"])
@pytest.mark.parametrize("wire", ["openai-chat", "anthropic", "openai-responses", "gemini"])
def test_an_error_without_the_end_of_its_event_is_heard(wire: str, name: bytes) -> None:
    _, error = _read(wire, name + b'data: {"error": {"message": "Out of memory", "type": "server_error"}}')
    assert error is not None
    assert error.message == "Out of memory"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"data: " + CHAT[0] + b"\n\ndata: " + CHAT[1], ErrorKind.TRUNCATED),
        (b"data: " + CHAT[0] + b"\ndata: " + CHAT[1][:20], ErrorKind.TRUNCATED),
        (b"data: " + CHAT[0][:30] + b"\ndata: " + CHAT[0][30:], ErrorKind.TRUNCATED),
        (CHAT[0] + b"\n" + CHAT[1][:20], ErrorKind.BAD_FRAME),
    ],
)
def test_a_stream_that_was_cut_stays_one(body: bytes, kind: ErrorKind) -> None:
    events, error = _read("openai-chat", body)
    assert error is not None
    assert (error.kind, any(isinstance(event, ResponseFinished) for event in events)) == (kind, False)
