"""What a body is, is seen from its first bytes, whatever its content type says."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.wires.cuts import byte_by_byte, in_two_everywhere
from tui.catalog.facts import Quirks
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.stream import ResponseFinished, StreamEvent, TextDelta, ThinkingDelta
from tui.wires.framing.body import BodyReader
from tui.wires.wire import wire_named

BOM = b"\xef\xbb\xbf"
CHAT_SSE = (
    b'data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n'
    b'data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)
CHAT_JSON = (
    b'{"id":"c1","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},'
    b'"finish_reason":"stop"}]}'
)
GEMINI_PART = b'{"candidates":[{"content":{"parts":[{"text":"%s"}],"role":"model"}%s}]}'
GEMINI_ARRAY = (
    b"[" + GEMINI_PART % (b"H", b"") + b"\n,\r\n" + GEMINI_PART % (b"i", b',"finishReason":"STOP"') + b"\n]\n"
)
GEMINI_PRETTY = GEMINI_ARRAY.replace(b"{", b"{\n  ").replace(b",", b",\n  ")
OLLAMA_LINES = (
    b'{"model":"m","message":{"role":"assistant","content":"H"},"done":false}\n'
    b'{"model":"m","message":{"role":"assistant","content":"i"},"done":false}\n'
    b'{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}'
)
OLLAMA_WHOLE = b'{"model":"m","message":{"role":"assistant","content":"Hi"},"done":true,"done_reason":"stop"}'
OLLAMA_PRETTY = OLLAMA_WHOLE.replace(b",", b",\n").replace(b"{", b"{\n")
CONTENT_TYPES = [
    None,
    "text/event-stream",
    "text/event-stream; charset=iso-8859-1",
    "application/json",
    "application/octet-stream",
    "text/plain",
]
BODIES = {
    "sse": ("openai-chat", CHAT_SSE),
    "sse with a byte order mark": ("openai-chat", BOM + CHAT_SSE),
    "sse after a comment": ("openai-chat", b": OPENROUTER PROCESSING\n\n" + CHAT_SSE),
    "sse after blank lines": ("openai-chat", b"\r\n\r\n" + CHAT_SSE),
    "sse after an id": ("openai-chat", b"id: 7\n" + CHAT_SSE),
    "whole": ("openai-chat", CHAT_JSON),
    "whole after keep-alive lines": ("openai-chat", b"\n    \n\n   " + CHAT_JSON + b"\n"),
    "whole with a byte order mark": ("openai-chat", BOM + CHAT_JSON),
    "array": ("gemini", GEMINI_ARRAY),
    "pretty array": ("gemini", GEMINI_PRETTY),
    "array after blank lines": ("gemini", b"\n\n " + GEMINI_ARRAY),
    "lines": ("ollama", OLLAMA_LINES),
    "lines with a last line end": ("ollama", OLLAMA_LINES + b"\n"),
    "lines in crlf with blank ones": ("ollama", OLLAMA_LINES.replace(b"\n", b"\r\n\r\n")),
    "one line": ("ollama", OLLAMA_WHOLE),
    "one pretty object": ("ollama", OLLAMA_PRETTY),
}


def read(wire: str, chunks: list[bytes], content_type: str | None) -> list[StreamEvent]:
    one = wire_named(wire)
    reader = BodyReader(one, one.decoder(Quirks()), content_type)
    return [event for chunk in chunks for event in reader.feed(chunk)] + reader.finish()


def said(events: Sequence[StreamEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta | ThinkingDelta))


def refused(wire: str, body: bytes, content_type: str | None = None) -> ProviderError:
    with pytest.raises(ProviderError) as error:
        read(wire, [body], content_type)
    return error.value


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("content_type", CONTENT_TYPES)
def test_a_body_is_recognised_whatever_its_content_type(name, content_type):
    wire, body = BODIES[name]

    events = read(wire, [body], content_type)

    assert said(events) == "Hi"
    assert sum(isinstance(event, ResponseFinished) for event in events) == 1


@pytest.mark.parametrize("name", BODIES)
def test_a_body_is_recognised_however_it_is_cut(name):
    wire, body = BODIES[name]
    events = read(wire, [body], None)

    assert read(wire, byte_by_byte(body), None) == events
    for chunks in in_two_everywhere(body):
        assert read(wire, chunks, None) == events, chunks


def test_text_is_utf8_even_where_the_server_says_otherwise():
    body = CHAT_SSE.replace(b"Hi", "Hé🧠".encode())

    assert said(read("openai-chat", [body], "text/event-stream; charset=iso-8859-1")) == "Hé🧠"


def test_a_web_page_is_told_by_its_title():
    page = b"<!DOCTYPE html><html><head>\n<TITLE>502 Bad\n Gateway &amp; more</TITLE></head>" + b"x" * 100_000
    error = refused("openai-chat", page, "text/event-stream")

    assert error.kind is ErrorKind.NOT_A_STREAM
    assert error.message == "The server sent a web page: 502 Bad Gateway & more"


def test_a_page_without_a_title_is_told_by_how_it_begins_and_not_for_long():
    error = refused("anthropic", b"upstream \x1b[31mfailed " + b"y" * 10_000)

    assert error.kind is ErrorKind.NOT_A_STREAM
    assert error.message.startswith("The server sent something that is not an answer: upstream [31mfailed yyy")
    assert len(error.message) < 260
    assert "\x1b" not in error.message


def test_an_endless_page_is_not_read_to_its_end():
    one = wire_named("anthropic")
    reader = BodyReader(one, one.decoder(Quirks()), "text/html")

    for _ in range(16):
        reader.feed(b"<p>" + b"x" * 4096)

    assert reader.fault is not None
    assert reader.fault.kind is ErrorKind.NOT_A_STREAM


@pytest.mark.parametrize("body", [b"", b"\n\n", BOM, b"dat", b": nothing but comments\n\n"])
@pytest.mark.parametrize("wire", ["anthropic", "openai-chat", "ollama"])
def test_a_body_that_says_nothing_was_cut(wire, body):
    assert refused(wire, body).kind is ErrorKind.TRUNCATED


def test_events_before_a_fault_are_not_lost():
    one = wire_named("openai-chat")
    reader = BodyReader(one, one.decoder(Quirks()), None)
    first_event = CHAT_SSE.partition(b"\n\n")[0] + b"\n\n"

    events = reader.feed(first_event + b'data: {"error":{"message":"overloaded","code":503}}\n\n' + CHAT_SSE)

    assert said(events) == "Hi"
    assert reader.fault is not None
    with pytest.raises(ProviderError, match="overloaded"):
        reader.feed(b"data: x\n\n")
    with pytest.raises(ProviderError, match="overloaded"):
        reader.finish()


def test_an_error_in_plain_json_after_the_events_is_heard():
    first_event = b"data: " + GEMINI_PART % (b"Hi", b"") + b"\r\n\r\n"
    error = refused(
        "gemini", first_event + b'{\n "error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}\n}\n'
    )

    assert "busy" in error.message
    assert error.status == 503


def test_a_whole_body_cut_short_is_an_error():
    for cut in range(1, len(CHAT_JSON)):
        assert refused("openai-chat", CHAT_JSON[:cut]).retryable
