"""How answers end: finish reasons, errors inside a 200, streams that break off."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.narrow import text_of
from tests.wires.chat.script import DONE, assembled, chunk, events_of, frame
from tui.catalog.facts import Quirks
from tui.domain.blocks import TextBlock, ThinkingBlock
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.stream import Finish, ProviderRemark, ResponseFinished, Stop, StreamEvent
from tui.wires.openai_chat import WIRE
from tui.wires.wire import ErrorResponse

HELLO = chunk({"content": "Hello"})


def stop_of(*frames: tuple[str, bytes]) -> Stop:
    last = events_of(frames)[-1]
    assert isinstance(last, ResponseFinished)
    return last.stop


def fault_of(*frames: tuple[str, bytes]) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        events_of(frames)
    return caught.value


@pytest.mark.parametrize(
    ("raw", "finish"),
    [
        ("stop", Finish.STOP),
        ("eos", Finish.STOP),
        ("tool_calls", Finish.TOOL_USE),
        ("function_call", Finish.TOOL_USE),
        ("length", Finish.LENGTH),
        ("content_filter", Finish.FILTER),
        ("sensitive", Finish.FILTER),
        ("model_context_window_exceeded", Finish.CONTEXT_FULL),
        ("something_new", Finish.OTHER),
    ],
)
def test_a_finish_reason_in_our_words(raw, finish):
    assert stop_of(HELLO, chunk({}, raw), DONE) == Stop(finish, raw)


def test_an_empty_finish_reason_ends_nothing():
    frames = [chunk({"content": "a"}, ""), chunk({"content": "b"}, ""), chunk({}, "stop"), DONE]
    assert assembled(events_of(frames)).blocks() == (TextBlock(text="ab"),)


LATE_CALL = {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}]}


@pytest.mark.parametrize(("late", "remarks"), [({"content": " and more"}, 1), (LATE_CALL, 0)])
def test_content_after_the_finish_reason_is_left_out_and_its_words_are_told(late, remarks, caplog):
    events = events_of([HELLO, chunk({}, "stop"), chunk(late), chunk(late), DONE])
    assert assembled(events).blocks() == (TextBlock(text="Hello"),)
    told = [event.text for event in events if isinstance(event, ProviderRemark)]
    assert told == ["The server sent more after the end of its answer, left out: “and more and more”"] * remarks
    assert events[-1] == ResponseFinished(Stop(Finish.STOP, "stop"))
    assert "ignored content after the finish reason stop, in chunks: 2" in caplog.text


@pytest.mark.parametrize(
    "late", [[chunk(LATE_CALL, "tool_calls")], [chunk(LATE_CALL), chunk({}, "tool_calls")]], ids=["with", "before"]
)
def test_calls_after_the_finish_reason_are_used_with_another_finish_reason(late, caplog):
    events = events_of([HELLO, chunk({}, "stop"), *late, DONE])
    assert [block.kind for block in assembled(events).blocks()] == ["text", "tool_call"]
    assert events[-1] == ResponseFinished(Stop(Finish.TOOL_USE, "tool_calls"))
    assert not caplog.text


def test_a_signature_may_come_after_the_finish_reason():
    detail = {"type": "reasoning.encrypted", "data": "gAAA", "index": 0}
    thought = chunk({"reasoning": "Hm."})
    events = events_of([thought, HELLO, chunk({}, "stop"), chunk({"reasoning_details": [detail]}), DONE])
    block = assembled(events).blocks()[0]
    assert isinstance(block, ThinkingBlock)
    assert block.provider_state is not None
    assert "gAAA" in (block.provider_state.raw or "")


def test_a_stop_after_calls_means_the_calls():
    call = {"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}
    assert stop_of(chunk({"tool_calls": [call]}), chunk({}, "stop"), DONE) == Stop(Finish.TOOL_USE, "stop")


def test_the_first_of_several_reasons_counts_unless_tools_are_called():
    assert stop_of(HELLO, chunk({}, "length"), chunk({}, "stop"), DONE).raw == "length"
    assert stop_of(HELLO, chunk({}, "stop"), chunk({}, "tool_calls"), DONE).raw == "tool_calls"


def test_the_end_marker_may_be_missing():
    assert stop_of(HELLO, chunk({}, "stop")) == Stop(Finish.STOP, "stop")


def test_the_end_marker_alone_is_an_end():
    assert stop_of(HELLO, DONE) == Stop(Finish.STOP)


def test_nothing_comes_after_the_end():
    assert stop_of(HELLO, chunk({}, "stop"), DONE, HELLO, DONE) == Stop(Finish.STOP, "stop")


def test_a_stream_without_any_end_is_truncated():
    assert fault_of(HELLO).kind is ErrorKind.TRUNCATED
    assert fault_of().kind is ErrorKind.TRUNCATED


def test_an_error_object_is_an_error_whatever_else_is_in_the_chunk():
    error = {"message": "Overloaded, try later", "type": "overloaded_error", "code": 503}
    for choices in ([], [{"index": 0, "delta": {"content": ""}, "finish_reason": None}]):
        fault = fault_of(HELLO, frame({"choices": choices, "error": error}), DONE)
        assert (fault.kind, fault.message, fault.retryable) == (ErrorKind.OVERLOADED, "Overloaded, try later", True)


def test_openrouter_reports_the_failure_and_its_finish_reason():
    failed = frame(
        {"error": {"code": 502, "message": "Upstream broke"}, "choices": [{"index": 0, "finish_reason": "error"}]}
    )
    decoder = WIRE.decoder(Quirks())
    with pytest.raises(ProviderError) as caught:
        decoder.feed(failed)
    assert (caught.value.kind, caught.value.status, caught.value.finish_raw) == (ErrorKind.SERVER, 502, "error")
    assert decoder.complete


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("error", ErrorKind.SERVER),
        ("network_error", ErrorKind.SERVER),
        ("aborted", ErrorKind.SERVER),
        ("insufficient_system_resource", ErrorKind.OVERLOADED),
    ],
)
def test_some_finish_reasons_are_failures(reason, kind):
    fault = fault_of(HELLO, chunk({}, reason), DONE)
    assert (fault.kind, fault.finish_raw, fault.retryable) == (kind, reason, True)


def test_words_in_the_frame_of_a_failure_are_kept():
    decoder = WIRE.decoder(Quirks())
    assert text_of(assembled(decoder.feed(chunk({"content": "so far"}, "error"))).blocks()[0]) == "so far"
    with pytest.raises(ProviderError):
        decoder.finish()


@pytest.mark.parametrize(
    ("value", "name", "kind"),
    [
        ({"object": "error", "message": "Rate limit reached", "type": "rate_limit_error"}, "", ErrorKind.RATE_LIMIT),
        (
            {"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}, "choices": None},
            "",
            ErrorKind.BILLING,
        ),
        ({"why": "no idea"}, "error", ErrorKind.OTHER),
    ],
)
def test_other_shapes_of_errors_in_a_stream(value, name, kind):
    assert fault_of(HELLO, frame(value, name)).kind is kind


def test_an_error_event_may_be_plain_words():
    assert "went wrong" in fault_of(HELLO, ("error", b"something went wrong")).message


def test_a_broken_frame_is_forgiven_once_the_end_came():
    broken = ("", b'{"choices": [{"del')
    assert fault_of(HELLO, broken).kind is ErrorKind.BAD_FRAME
    assert stop_of(HELLO, broken, chunk({}, "stop"), DONE) == Stop(Finish.STOP, "stop")
    assert fault_of(HELLO, chunk({}, "stop"), broken).kind is ErrorKind.BAD_FRAME


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"error": {"message": "Rate limit", "code": "rate_limit_exceeded"}}, ErrorKind.RATE_LIMIT),
        ({"base_resp": {"status_code": 1004, "status_msg": "login fail"}, "choices": []}, ErrorKind.AUTH),
        ({"hello": "world"}, ErrorKind.NOT_A_STREAM),
        ([1, 2], ErrorKind.NOT_A_STREAM),
    ],
)
def test_a_whole_body_without_an_answer_is_an_error(body, kind):
    with pytest.raises(ProviderError) as caught:
        WIRE.decoder(Quirks()).feed_whole(json.dumps(body).encode())
    assert caught.value.kind is kind


def test_a_refusal_is_classified_by_its_body():
    body = b'{"error":{"message":"No such model","type":"invalid_request_error","code":"model_not_found"}}'
    refused = WIRE.refusal(ErrorResponse(status=404, headers={"x-request-id": "r1"}, body=body))
    assert (refused.kind, refused.status, refused.request_id) == (ErrorKind.NOT_FOUND, 404, "r1")


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "delta",
                    "message",
                    "content",
                    "index",
                    "finish_reason",
                    "tool_calls",
                    "function",
                    "name",
                    "arguments",
                    "id",
                    "type",
                    "text",
                    "reasoning",
                    "reasoning_content",
                    "reasoning_details",
                    "reasoning_opaque",
                    "refusal",
                    "images",
                    "usage",
                    "error",
                    "model",
                    "prompt_tokens",
                    "completion_tokens",
                    "total_tokens",
                    "thinking",
                    "image_url",
                    "url",
                    "format",
                    "signature",
                    "summary",
                    "completion_tokens_details",
                    "x_groq",
                    "cost",
                    "extra_content",
                    "function_call",
                    "detail",
                    "base_resp",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)


def wrapped(value: object) -> st.SearchStrategy[object]:
    return st.sampled_from(
        [
            value,
            {"choices": value},
            {"choices": [value]},
            {"choices": [{"delta": value}]},
            {"choices": [{"message": value, "usage": value}]},
            {"choices": [{"delta": {"tool_calls": [value], "reasoning_details": [value], "content": [value]}}]},
            {"choices": [{"delta": {"content": value, "reasoning": value}, "finish_reason": value}], "usage": value},
        ]
    )


@given(st.lists(ODD.flatmap(wrapped), max_size=6), st.sampled_from(["auto", "always", "forced_open", "never"]))
def test_stray_types_raise_nothing_but_our_errors(values, mode):
    quirks = Quirks(think_tags=mode)
    decoder = WIRE.decoder(quirks)
    events: list[StreamEvent] = []
    try:
        for value in values:
            events += decoder.feed(("", json.dumps(value).encode()))
        events += decoder.finish()
    except ProviderError:
        pass
    assembled(events).blocks()
    for value in values:
        try:
            WIRE.decoder(quirks).feed_whole(json.dumps(value).encode())
        except ProviderError:
            continue
