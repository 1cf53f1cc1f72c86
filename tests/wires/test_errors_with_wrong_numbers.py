"""An error inside a stream is told also if a number in its JSON is one that JSON does not have."""

from __future__ import annotations

import pytest

from tui.catalog.facts import Quirks
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.stream import StreamEvent, TextDelta
from tui.wires.framing.body import BodyReader
from tui.wires.wire import ErrorResponse, wire_named

NUMBERS = ("NaN", "Infinity", "-Infinity", "1e999", "-1e999", "9" * 500)
SAID = "Too many people ask, try later"

BEGUN = {
    "anthropic": (
        'event: message_start\ndata: {"type":"message_start","message":{"id":"m","model":"m"}}\n\n'
        'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
        '"delta":{"type":"text_delta","text":"Hi"}}\n\n'
    ),
    "openai-chat": 'data: {"model":"m","choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n',
    "openai-responses": (
        'data: {"type":"response.created","response":{"id":"r","model":"m"}}\n\n'
        'data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"Hi"}\n\n'
    ),
    "gemini": 'data: {"candidates":[{"content":{"parts":[{"text":"Hi"}]}}]}\n\n',
    "ollama": '{"model":"m","message":{"role":"assistant","content":"Hi"},"done":false}\n',
}
"""The beginning of a stream of each wire, with one word of the answer."""

ERRORS = {
    "anthropic": ('{"type":"error","error":{"type":"overloaded_error","message":"%s","retry":%s}}',),
    "openai-chat": (
        '{"error":{"code":503,"message":"%s"},"load":%s}',
        '{"choices":[{"index":0,"delta":{},"finish_reason":"error","error":{"code":503,"message":"%s","wait":%s}}]}',
        '{"object":"error","message":"%s","wait":%s}',
    ),
    "openai-responses": (
        '{"type":"error","code":"server_error","message":"%s","sequence_number":%s}',
        '{"type":"response.failed","response":{"error":{"code":"server_error","message":"%s"},"created_at":%s}}',
    ),
    "gemini": (
        '{"error":{"code":503,"status":"UNAVAILABLE","message":"%s","wait":%s}}',
        '[{"error":{"code":503,"status":"UNAVAILABLE","message":"%s","wait":%s}}]',
    ),
    "ollama": ('{"error":"%s","load":%s}',),
}
CASES = [(wire, error) for wire, errors in ERRORS.items() for error in errors]


def _read(wire: str, body: str, content_type: str) -> tuple[str, ProviderError]:
    named = wire_named(wire)
    reader = BodyReader(named, named.decoder(Quirks()), content_type)
    events: list[StreamEvent] = []
    data = body.encode()
    try:
        for place in range(0, len(data), 40):
            events += reader.feed(data[place : place + 40])
        events += reader.finish()
    except ProviderError as fault:
        return "".join(event.text for event in events if isinstance(event, TextDelta)), fault
    pytest.fail("nothing was raised")


def _framed(wire: str, event: str, name: str = "") -> str:
    return f"{event}\n" if wire == "ollama" else f"{f'event: {name}' + chr(10) if name else ''}data: {event}\n\n"


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(("wire", "error"), CASES)
def test_the_error_is_told_and_the_words_before_it_are_kept(wire: str, error: str, number: str) -> None:
    words, fault = _read(wire, BEGUN[wire] + _framed(wire, error % (SAID, number)), "text/event-stream")
    assert (words, fault.message, fault.kind is ErrorKind.BAD_FRAME) == ("Hi", SAID, False)


@pytest.mark.parametrize(("wire", "error"), CASES)
def test_it_is_told_as_the_same_error_as_with_a_right_number(wire: str, error: str) -> None:
    right, wrong = (_read(wire, BEGUN[wire] + _framed(wire, error % (SAID, n)), "")[1] for n in ("7", "NaN"))
    assert (wrong.kind, wrong.retryable, wrong.advice) == (right.kind, right.retryable, right.advice)


@pytest.mark.parametrize(("wire", "error"), CASES)
def test_also_instead_of_a_stream(wire: str, error: str) -> None:
    body = error % (SAID, "1e999")
    right, wrong = (_read(wire, error % (SAID, n), "application/json")[1] for n in ("7", "1e999"))
    assert (wrong.message, wrong.kind) == (right.message, right.kind), body


@pytest.mark.parametrize("wire", [wire for wire in BEGUN if wire != "ollama"])
def test_also_between_events_and_in_one_that_was_not_ended(wire: str) -> None:
    error = f'{{"error":{{"message":"{SAID}","wait":NaN}}}}'
    for end in (f"{error}\n", f"data: {error}"):
        assert _read(wire, BEGUN[wire] + end, "text/event-stream")[1].message == SAID


@pytest.mark.parametrize("wire", [wire for wire in BEGUN if wire != "ollama"])
def test_also_in_an_event_that_is_called_error(wire: str) -> None:
    error = ERRORS[wire][0] % (SAID, "Infinity")
    assert _read(wire, BEGUN[wire] + _framed(wire, error, "error"), "text/event-stream")[1].message == SAID


@pytest.mark.parametrize("wire", BEGUN)
def test_also_in_the_body_of_a_refusal(wire: str) -> None:
    body = f'{{"error":{{"message":"{SAID}","wait":NaN}},"request_id":"req_1"}}'.encode()
    fault = wire_named(wire).refusal(ErrorResponse(status=503, headers={}, body=body))
    assert fault.message == SAID
    assert fault.request_id == ("req_1" if wire == "anthropic" else None)


OTHERS = {
    "anthropic": '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"lost"},"n":NaN}',
    "openai-chat": '{"choices":[{"index":0,"delta":{"content":"lost"}}],"n":NaN}',
    "openai-responses": (
        '{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"lost","n":NaN}'
    ),
    "gemini": '{"candidates":[{"content":{"parts":[{"text":"lost"}]}}],"n":NaN}',
    "ollama": '{"message":{"role":"assistant","content":"lost"},"done":false,"n":NaN}',
}


@pytest.mark.parametrize("wire", OTHERS)
def test_a_frame_of_the_answer_with_such_a_number_stays_a_bad_one(wire: str) -> None:
    words, fault = _read(wire, BEGUN[wire] + _framed(wire, OTHERS[wire]), "text/event-stream")
    assert (words, fault.kind) == ("Hi", ErrorKind.BAD_FRAME)


@pytest.mark.parametrize("wire", OTHERS)
def test_an_error_that_is_nested_absurdly_is_a_bad_frame(wire: str) -> None:
    deep = "[" * 100_000 + "]" * 100_000
    words, fault = _read(wire, BEGUN[wire] + _framed(wire, f'{{"error":{{"message":"x","d":{deep}}}}}'), "")
    assert (words, fault.kind) == ("Hi", ErrorKind.BAD_FRAME)
