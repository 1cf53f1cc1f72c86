"""Anthropic events to ours: blocks, seals, ends, and everything servers do that they should not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.narrow import expect_type
from tests.wires.anthropic.spoken import STOPPED, assembled, block, delta, ended, events_of, frame, start, stop
from tui.catalog.facts import Quirks
from tui.domain.blocks import OpaqueBlock, ProviderState, TextBlock, ThinkingBlock, ToolCallBlock
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.stream import (
    BlockFinished,
    BlockStarted,
    Finish,
    ProviderRemark,
    ProviderStateReceived,
    ResponseFinished,
    ResponseStarted,
    Stop,
    TextDelta,
)
from tui.domain.thinking import ThinkingForm
from tui.domain.usage import Usage
from tui.domain.web_search import WebSearch
from tui.wires.anthropic import WIRE


def test_thinking_text_and_a_call_become_blocks_in_order():
    answer = assembled(
        [
            start(usage={"input_tokens": 5}),
            block(0, type="thinking", thinking="", signature=""),
            delta(0, "thinking_delta", thinking="Let me "),
            delta(0, "thinking_delta", thinking="look."),
            delta(0, "signature_delta", signature="c2ln"),
            stop(0),
            block(1, type="text", text=""),
            delta(1, "text_delta", text="I look."),
            stop(1),
            block(2, type="tool_use", id="toolu_1", name="read", input={}),
            delta(2, "input_json_delta", partial_json=""),
            delta(2, "input_json_delta", partial_json='{"path":'),
            delta(2, "input_json_delta", partial_json=' "a"}'),
            stop(2),
            ended("tool_use"),
            STOPPED,
        ]
    )
    assert answer.blocks() == (
        ThinkingBlock(text="Let me look.", form=ThinkingForm.FULL, provider_state=ProviderState(signature="c2ln")),
        TextBlock(text="I look."),
        ToolCallBlock(call_id="toolu_1", name="read", arguments='{"path": "a"}'),
    )
    assert (answer.model, answer.response_id, answer.stop) == ("claude", "msg_1", Stop(Finish.TOOL_USE, "tool_use"))


def test_hidden_thinking_keeps_its_seal():
    answer = assembled(
        [
            start(),
            block(0, type="thinking", thinking="", signature="c2ln"),
            stop(0),
            block(1, type="redacted_thinking", data="ZGF0YQ=="),
            stop(1),
            ended("end_turn"),
            STOPPED,
        ]
    )
    assert answer.blocks() == (
        ThinkingBlock(text="", form=ThinkingForm.HIDDEN, provider_state=ProviderState(signature="c2ln")),
        ThinkingBlock(text="", form=ThinkingForm.HIDDEN, provider_state=ProviderState(encrypted="ZGF0YQ==")),
    )


def test_a_signature_in_many_pieces_is_told_once_and_whole():
    pieces = [delta(0, "signature_delta", signature="c2ln") for _ in range(500)]
    stream = [
        start(),
        block(0, type="thinking", thinking="", signature=""),
        *pieces,
        stop(0),
        ended("end_turn"),
        STOPPED,
    ]
    told = [event for event in events_of(stream) if isinstance(event, ProviderStateReceived)]
    assert told == [ProviderStateReceived(0, ProviderState(signature="c2ln" * 500))]


def test_a_field_of_an_unknown_block_in_many_pieces_is_joined():
    pieces = [delta(0, "odd_delta", blob="ab") for _ in range(500)]
    stream = [start(), block(0, type="odd", blob="x"), *pieces, stop(0), ended("end_turn"), STOPPED]
    (kept,) = assembled(stream).blocks()
    assert json.loads(expect_type(OpaqueBlock, kept).raw)["blob"] == "x" + "ab" * 500


@pytest.mark.parametrize(("quirk", "provider_state"), [(True, ProviderState(signature="")), (False, None)])
def test_an_empty_signature_is_a_seal_only_where_servers_give_no_other(quirk, provider_state):
    answer = assembled(
        [start(), block(0, type="thinking", thinking="hm"), stop(0), ended("end_turn"), STOPPED],
        Quirks(empty_signatures=quirk),
    )
    assert answer.blocks() == (ThinkingBlock(text="hm", form=ThinkingForm.FULL, provider_state=provider_state),)


def test_items_we_do_not_model_are_kept_as_they_would_have_come_whole():
    answer = assembled(
        [
            start(),
            block(0, type="server_tool_use", id="srv_1", name="web_search", input={}),
            delta(0, "input_json_delta", partial_json='{"query"'),
            delta(0, "input_json_delta", partial_json=':"x"}'),
            stop(0),
            block(1, type="compaction", content=None),
            delta(1, "compaction_delta", content="a summary"),
            delta(1, "compaction_delta", content=" of it"),
            stop(1),
            ended("end_turn"),
            STOPPED,
        ]
    )
    first, second = answer.blocks()
    assert isinstance(first, OpaqueBlock)
    assert isinstance(second, OpaqueBlock)
    assert (first.label, json.loads(first.raw)) == (
        "server_tool_use",
        {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "x"}},
    )
    assert json.loads(second.raw) == {"type": "compaction", "content": "a summary of it"}


def test_a_fallback_to_another_model_is_said():
    events = events_of([start(), block(0, type="fallback", **{"from": {"model": "a"}, "to": {"model": "b"}}), STOPPED])
    assert ProviderRemark("fallback", "b answers in place of a") in events


def test_dropped_thinking_is_said_once():
    dropped = [{"type": "thinking_dropped", "path": "messages.1.content.0", "reason": "prefix_binding_mismatch"}]
    events = events_of(
        [start(input_transformations=dropped), {**ended("end_turn"), "input_transformations": dropped}, STOPPED]
    )
    assert [event for event in events if isinstance(event, ProviderRemark)] == [
        ProviderRemark("thinking_dropped", "messages.1.content.0: prefix_binding_mismatch")
    ]


def test_usage_is_overlaid_key_by_key_and_summed_inclusively():
    answer = assembled(
        [
            start(usage={"input_tokens": 10, "cache_read_input_tokens": 100, "output_tokens": 1}),
            {
                **ended("end_turn"),
                "usage": {
                    "input_tokens": None,
                    "cache_creation_input_tokens": 5,
                    "output_tokens": 7,
                    "output_tokens_details": {"thinking_tokens": 3},
                },
            },
            STOPPED,
        ]
    )
    assert answer.usage == Usage(input=115, cache_read=100, cache_write=5, output=7, thinking=3, total=122)


def test_a_second_message_start_voids_what_came_before():
    events = [start(), block(0, type="text", text="first"), start(id="msg_2"), block(0, type="text", text="second")]
    answer = assembled([*events, stop(0), ended("end_turn"), STOPPED])
    assert (answer.blocks(), answer.response_id) == ((TextBlock(text="second"),), "msg_2")
    assert ResponseStarted("claude", "msg_2", restarted=True) in events_of([*events, STOPPED])


@pytest.mark.parametrize(
    ("reason", "said", "finish"),
    [
        ("end_turn", {}, Stop(Finish.STOP, "end_turn")),
        ("stop_sequence", {"stop_sequence": "END"}, Stop(Finish.STOP, "stop_sequence", "END")),
        ("max_tokens", {}, Stop(Finish.LENGTH, "max_tokens")),
        ("pause_turn", {}, Stop(Finish.PAUSE, "pause_turn")),
        (
            "refusal",
            {"stop_details": {"category": "cyber", "explanation": "Not this."}},
            Stop(Finish.REFUSAL, "refusal", "cyber: Not this."),
        ),
        ("model_context_window_exceeded", {}, Stop(Finish.CONTEXT_FULL, "model_context_window_exceeded")),
        ("something_new", {}, Stop(Finish.OTHER, "something_new")),
        (None, {}, Stop(Finish.STOP)),
    ],
)
def test_every_stop_reason_has_its_word(reason, said, finish):
    assert assembled([start(), ended(reason, **said), STOPPED]).stop == finish


@pytest.mark.parametrize(("reason", "partial"), [("max_tokens", True), ("tool_use", False)])
def test_a_call_cut_by_the_output_limit_never_finishes_but_a_misspelt_one_does(reason, partial):
    call = [block(0, type="tool_use", id="t", name="run"), delta(0, "input_json_delta", partial_json='{"a"'), stop(0)]
    answer = assembled([start(), *call, ended(reason), STOPPED])
    assert answer.blocks() == (ToolCallBlock(call_id="t", name="run", arguments='{"a"', partial=partial),)


def test_a_call_made_by_server_run_code_remembers_its_caller():
    caller = {"type": "code_execution_20250825", "tool_id": "srv_1"}
    call = {"type": "tool_use", "id": "t", "name": "run", "input": {"a": 1}, "caller": caller}
    answer = assembled([start(content=[call], stop_reason="tool_use"), STOPPED])
    assert answer.blocks() == (
        ToolCallBlock(
            call_id="t",
            name="run",
            arguments='{"a":1}',
            provider_state=ProviderState(raw=json.dumps({"caller": caller}, separators=(",", ":"))),
        ),
    )


def test_the_tolerant_reader_passes_over_what_it_does_not_know():
    noise = [
        {"type": "ping"},
        {"type": "content_block_future", "index": 0},
        delta(0, "future_delta", future="x"),
        delta(9, "future_delta", future="x"),
        {"type": "content_block_delta", "index": [0], "delta": {"type": "text_delta", "text": "x"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": 5}},
        {"type": ["message_stop"]},
        stop(7),
        [1],
        None,
    ]
    told = [
        start(),
        block(0, type="text", text=""),
        delta(0, "text_delta", text="a"),
        stop(0),
        ended("end_turn"),
        STOPPED,
    ]
    noisy = [each for event in told for each in (event, *noise)]
    assert events_of(noisy) == events_of(told)


def test_a_delta_without_a_start_opens_its_block():
    events = events_of([start(), delta(3, "text_delta", text="a"), ended("end_turn"), STOPPED])
    assert events[1:] == [
        BlockStarted(0, "text"),
        TextDelta(0, "a"),
        BlockFinished(0),
        ResponseFinished(Stop(Finish.STOP, "end_turn")),
    ]


def test_nothing_after_the_end_counts():
    decoder = WIRE.decoder(Quirks())
    decoder.feed(frame(start()))
    decoder.feed(frame(STOPPED))
    assert [list(decoder.feed(frame(each))) for each in (b"[DONE]", start(), delta(0, "text_delta", text="x"))] == [
        []
    ] * 3
    assert (decoder.complete, list(decoder.finish())) == (True, [])


@pytest.mark.parametrize(
    ("kind", "expected", "retryable"),
    [
        ("overloaded_error", ErrorKind.OVERLOADED, True),
        ("rate_limit_error", ErrorKind.RATE_LIMIT, True),
        ("api_error", ErrorKind.SERVER, True),
        ("billing_error", ErrorKind.BILLING, False),
        ("invalid_request_error", ErrorKind.INVALID_REQUEST, False),
    ],
)
def test_an_error_inside_the_stream_means_what_it_means_outside(kind, expected, retryable):
    decoder = WIRE.decoder(Quirks())
    decoder.feed(frame(start()))
    with pytest.raises(ProviderError) as caught:
        decoder.feed(frame({"type": "error", "error": {"type": kind, "message": "Sorry"}}))
    assert (caught.value.kind, caught.value.retryable, caught.value.message) == (expected, retryable, "Sorry")


@pytest.mark.parametrize(
    ("frames", "kind"),
    [
        ([], ErrorKind.TRUNCATED),
        ([start(), block(0, type="text", text="a"), ended("end_turn")], ErrorKind.TRUNCATED),
        ([start(), b"{oops"], ErrorKind.BAD_FRAME),
    ],
)
def test_without_its_end_a_message_is_a_fault(frames, kind):
    with pytest.raises(ProviderError) as caught:
        events_of(frames)
    assert caught.value.kind is kind


def test_a_bad_frame_is_forgiven_when_the_end_comes():
    assert events_of([start(), b"{oops", STOPPED])[-1] == ResponseFinished(Stop(Finish.STOP))


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"{}", b'{"error":"no"}', b'{"error":{"type":"api_error"}}'])
def test_a_whole_body_that_is_no_message_is_a_fault(body):
    with pytest.raises(ProviderError):
        WIRE.decoder(Quirks()).feed_whole(body)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "index",
                    "delta",
                    "content_block",
                    "message",
                    "usage",
                    "stop_reason",
                    "text",
                    "thinking",
                    "signature",
                    "partial_json",
                    "data",
                    "error",
                    "input",
                    "id",
                    "name",
                    "content",
                    "citation",
                    "input_transformations",
                    "stop_details",
                    "caller",
                ]
            ),
            inner
            | st.sampled_from(["message_start", "content_block_start", "content_block_delta", "message_delta", "text"]),
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(st.lists(JSON, max_size=6))
def test_whatever_the_json_only_our_errors_come_out(values):
    decoder = WIRE.decoder(Quirks())
    try:
        for value in values:
            decoder.feed(frame(value))
            WIRE.decoder(Quirks()).feed_whole(json.dumps(value).encode())
        decoder.finish()
    except ProviderError:
        pass


def test_citations_are_kept_with_their_text():
    answer = assembled(
        [
            start(),
            block(0, type="text", text="a", citations=[{"n": 1}]),
            delta(0, "citations_delta", citation={"n": 2}),
            stop(0),
            STOPPED,
        ]
    )
    assert answer.blocks() == (
        TextBlock(text="a", provider_state=ProviderState(raw='{"citations":[{"n":1},{"n":2}]}')),
    )


def test_a_call_whose_start_was_lost_keeps_its_arguments():
    answer = assembled([start(), delta(0, "input_json_delta", partial_json="{}"), stop(0), STOPPED])
    assert answer.blocks() == (ToolCallBlock(call_id="call_0", name="", arguments="{}"),)


def test_an_item_whose_input_was_cut_is_kept_without_it():
    item = block(0, type="server_tool_use", id="s", name="web_search")
    answer = assembled([start(), item, delta(0, "input_json_delta", partial_json='{"q'), STOPPED])
    raw = '{"type":"server_tool_use","id":"s","name":"web_search","input":{}}'
    assert answer.blocks() == (OpaqueBlock(label="server_tool_use", raw=raw, search=WebSearch(id="s")),)
