from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.narrow import expect_type, state_of, text_of
from tests.wires.responses.streams import (
    added,
    blocks,
    call,
    completed,
    done,
    event,
    fed,
    message,
    reasoning,
    words,
)
from tui.catalog.facts import Quirks
from tui.domain.blocks import OpaqueBlock, ProviderState, TextBlock, ThinkingBlock, ToolCallBlock
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.stream import (
    BlockFinished,
    BlockStarted,
    CitationsReceived,
    Finish,
    ProviderStateReceived,
    ResponseFinished,
    ResponseStarted,
    Stop,
    TextDelta,
    ThinkingBreak,
    ThinkingDelta,
    ToolArgsDelta,
    UsageReported,
)
from tui.domain.thinking import ThinkingForm
from tui.domain.usage import Usage
from tui.domain.web_search import WebSearch
from tui.wires.json_text import dumps
from tui.wires.openai_responses import WIRE


def summary(piece: str, part: int = 0) -> dict[str, object]:
    return event("reasoning_summary_text.delta", output_index=0, summary_index=part, delta=piece)


def test_a_response_tells_its_story_in_order() -> None:
    thought = reasoning("Ab", "c", encrypted_content="gAAA")
    asked = call('{"p":1}')
    usage = {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 1},
        "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 3},
        "total_tokens": 17,
    }
    decoder, events = fed(
        event("created", response={"id": "resp_1", "model": "gpt-x", "status": "in_progress"}),
        event("in_progress", response={"id": "resp_1", "model": "gpt-x"}),
        added({"type": "reasoning", "id": "rs_1", "summary": []}),
        summary("A"),
        summary("b"),
        summary("c", 1),
        done(thought),
        added(call(""), 1),
        event("function_call_arguments.delta", output_index=1, delta='{"p"', obfuscation="xx"),
        event("function_call_arguments.done", output_index=1, arguments='{"p":1}'),
        done(asked, 1),
        event("something.new", sequence_number=9),
        completed(thought, asked, usage=usage),
    )
    assert events == [
        ResponseStarted("gpt-x", "resp_1"),
        BlockStarted(0, "thinking", form=ThinkingForm.SUMMARY),
        ThinkingDelta(0, "A"),
        ThinkingDelta(0, "b"),
        ThinkingBreak(0),
        ThinkingDelta(0, "c"),
        ProviderStateReceived(0, ProviderState(id="rs_1", encrypted="gAAA", raw=dumps(thought))),
        BlockFinished(0),
        BlockStarted(1, "tool_call", name="read", call_id="call_1"),
        ToolArgsDelta(1, '{"p"'),
        ToolArgsDelta(1, ":1}"),
        ProviderStateReceived(1, ProviderState(id="fc_1")),
        BlockFinished(1),
        UsageReported(Usage(input=10, cache_read=4, cache_write=1, output=7, thinking=3, total=17)),
        ResponseFinished(Stop(Finish.TOOL_USE, "completed")),
    ]
    assert (decoder.complete, decoder.usage_raw, list(decoder.finish())) == (True, usage, [])


def test_hidden_thinking_keeps_its_seal() -> None:
    item = reasoning(encrypted_content="gAAA")
    assert blocks(added(reasoning()), done(item)) == (
        ThinkingBlock(
            text="",
            form=ThinkingForm.HIDDEN,
            provider_state=ProviderState(id="rs_1", encrypted="gAAA", raw=dumps(item)),
        ),
    )


def test_open_reasoning_is_full_and_follows_the_summary() -> None:
    item = reasoning("s", content=[{"type": "reasoning_text", "text": "raw"}])
    (block,) = blocks(
        added(reasoning()),
        event("content_part.added", output_index=0, content_index=0, part={"type": "reasoning_text", "text": ""}),
        summary("s"),
        event("reasoning_text.delta", output_index=0, content_index=0, delta="raw"),
        done(item),
    )
    assert block == ThinkingBlock(
        text="s\n\nraw", form=ThinkingForm.FULL, provider_state=ProviderState(id="rs_1", raw=dumps(item))
    )


def test_encrypted_thinking_may_come_with_the_final_response_only() -> None:
    final = reasoning("s", encrypted_content="late")
    (block,) = blocks(added(reasoning()), summary("s"), done(reasoning("s")), completed(final))
    assert state_of(block) == ProviderState(id="rs_1", encrypted="late", raw=dumps(final))


def test_each_content_part_is_a_block_with_the_seal_of_its_message() -> None:
    provider_state = ProviderState(id="msg_1", raw='{"phase":"commentary"}')
    assert blocks(words("a"), words("b", part=1), done(message("a", "b", phase="commentary"))) == (
        TextBlock(text="a", provider_state=provider_state),
        TextBlock(text="b", provider_state=provider_state),
    )


def test_a_refusal_is_marked_and_ends_the_response_as_one() -> None:
    item = message(content=[{"type": "refusal", "refusal": "No."}])
    _, events = fed(event("refusal.delta", output_index=0, content_index=0, delta="No"), done(item), completed(item))
    assert events[0] == BlockStarted(0, "refusal")
    assert events[-1] == ResponseFinished(Stop(Finish.REFUSAL, "completed"))
    assert blocks(done(item)) == (TextBlock(text="No.", refusal=True, provider_state=ProviderState(id="msg_1")),)


def test_a_finished_item_adds_only_what_is_missing() -> None:
    _, events = fed(
        words("Hel"), event("output_text.done", output_index=0, content_index=0, text="Hello"), done(message("Hello!"))
    )
    assert [made for made in events if isinstance(made, TextDelta)] == [
        TextDelta(0, "Hel"),
        TextDelta(0, "lo"),
        TextDelta(0, "!"),
    ]


@pytest.mark.parametrize("announced", [False, True])
@pytest.mark.parametrize("restarted", [False, True])
def test_a_call_that_is_sent_again_at_another_place_is_one_call(announced: bool, restarted: bool) -> None:
    once, other = call("{}"), call("{}", id="fc_2", call_id="call_2")
    story: list[dict[str, object]] = []
    for place, item in enumerate((once, once, other)):
        if announced:
            story.append(added({**item, "arguments": ""}, place))
            story.append(event("function_call_arguments.delta", output_index=place, delta="{}"))
        story.append(done(item, place))
    if restarted:
        story += [words("The end", 3), done(message("The middle and the end"), 3)]
    story.append(completed(once, once, other))
    calls = [block for block in blocks(*story) if isinstance(block, ToolCallBlock)]
    assert [(block.call_id, block.arguments) for block in calls] == [("call_1", "{}"), ("call_2", "{}")]


def test_a_finished_item_replaces_deltas_it_contradicts() -> None:
    story = (done(reasoning("s")), words("The end", 1), done(message("The middle and the end"), 1), words("x", 1))
    assert ResponseStarted(None, None, restarted=True) in fed(*story)[1]
    thought = reasoning("s")
    assert blocks(*story) == (
        ThinkingBlock(text="s", form=ThinkingForm.SUMMARY, provider_state=ProviderState(id="rs_1", raw=dumps(thought))),
        TextBlock(text="The middle and the end", provider_state=ProviderState(id="msg_1")),
    )


def test_an_empty_finished_item_takes_nothing_back() -> None:
    assert [text_of(block) for block in blocks(words("kept"), done(message()))] == ["kept"]


@pytest.mark.parametrize("told", [(), (completed(message("Hi"), call("{}")),)])
def test_items_without_deltas_still_say_all(told: tuple[dict[str, object], ...]) -> None:
    items = () if told else (done(message("Hi")), done(call("{}"), 1))
    assert blocks(*items, *told) == (
        TextBlock(text="Hi", provider_state=ProviderState(id="msg_1")),
        ToolCallBlock(call_id="call_1", name="read", arguments="{}", provider_state=ProviderState(id="fc_1")),
    )


def test_a_call_that_never_finished_stays_partial() -> None:
    pieces = (added(call("")), event("function_call_arguments.delta", output_index=0, delta='{"a":'))
    stopped = event(
        "incomplete", response={"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    )
    (block,) = blocks(*pieces, stopped)
    assert block == ToolCallBlock(call_id="call_1", name="read", arguments='{"a":', partial=True)
    assert fed(*pieces, stopped)[1][-1] == ResponseFinished(Stop(Finish.LENGTH, "max_output_tokens"))


@pytest.mark.parametrize("output", [[], [call('{"a":1}', status="incomplete")]])
def test_an_incomplete_response_finishes_no_call(output: list[dict[str, object]]) -> None:
    ended = {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}, "output": output}
    (block,) = blocks(added(call("")), event("incomplete", response=ended))
    assert expect_type(ToolCallBlock, block).partial


def test_fields_of_a_call_we_do_not_model_are_kept() -> None:
    (block,) = blocks(done(call("{}", namespace="n", status="completed")))
    assert state_of(block) == ProviderState(id="fc_1", raw='{"namespace":"n"}')


def test_a_custom_call_is_shown_but_never_run() -> None:
    item: dict[str, object] = {
        "type": "custom_tool_call",
        "id": "ct_1",
        "call_id": "call_1",
        "name": "sql",
        "input": "SELECT 1",
    }
    _, events = fed(
        added({**item, "input": ""}),
        event("custom_tool_call_input.delta", output_index=0, delta="SELECT"),
        done(item),
        completed(item),
    )
    assert events == [
        BlockStarted(0, "tool_call", name="sql", call_id="call_1"),
        ToolArgsDelta(0, "SELECT"),
        ToolArgsDelta(0, " 1"),
        ProviderStateReceived(0, ProviderState(id="ct_1", raw=dumps(item))),
        ResponseStarted(None, None),
        ResponseFinished(Stop(Finish.STOP, "completed")),
    ]


def test_items_of_other_kinds_are_kept_whole_and_in_place() -> None:
    item: dict[str, object] = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "q"}}
    assert blocks(added({"type": "web_search_call"}), done(item), words("x", 1), done(message("x"), 1)) == (
        OpaqueBlock(label="web_search_call", raw=dumps(item), search=WebSearch(id="ws_1", queries=("q",), done=True)),
        TextBlock(text="x", provider_state=ProviderState(id="msg_1")),
    )


def test_ids_that_change_from_event_to_event_do_not_matter() -> None:
    final = message("Hi", id="msg_9")
    assert len(blocks(added(message(id="a")), words("Hi"), done(message("Hi", id="b")), completed(final))) == 1


@pytest.mark.parametrize(
    ("raw", "usage"),
    [
        (
            {"input_tokens": 5, "input_tokens_details": {"cached_tokens": 20}, "output_tokens": 2, "total_tokens": 7},
            Usage(input=25, cache_read=20, output=2, total=27),
        ),
        ({"input_tokens": 5, "output_tokens": -1}, Usage(input=5)),
    ],
)
def test_usage_is_inclusive_and_never_guessed(raw: dict[str, object], usage: Usage) -> None:
    assert UsageReported(usage) in fed(completed(usage=raw))[1]


@pytest.mark.parametrize("ending", ["response.done", "response.completed"])
def test_both_endings_end(ending: str) -> None:
    decoder, events = fed({"type": ending, "response": {"status": "completed", "output": []}}, words("late"))
    assert (decoder.complete, events[-1]) == (True, ResponseFinished(Stop(Finish.STOP, "completed")))


@pytest.mark.parametrize(
    "error",
    [
        {"type": "error", "code": "server_is_overloaded", "message": "m", "param": None},
        {"type": "error", "error": {"code": "server_is_overloaded", "message": "m"}},
        {"error": {"code": "server_is_overloaded", "message": "m"}},
    ],
)
def test_an_error_event_is_an_error_at_the_next_frame_or_the_end(error: dict[str, object]) -> None:
    decoder, _ = fed(error)
    with pytest.raises(ProviderError) as at_end:
        decoder.finish()
    with pytest.raises(ProviderError) as at_next:
        decoder.feed(("", b'{"type":"response.created"}'))
    for fault in (at_end.value, at_next.value):
        assert (fault.kind, fault.message, fault.finish_raw) == (ErrorKind.OVERLOADED, "m", None)


def test_a_failed_response_is_an_error_with_its_hint() -> None:
    decoder, _ = fed({"type": "error", "error": {"message": "first"}})
    said = {"code": "rate_limit_exceeded", "message": "Please try again in 11s."}
    with pytest.raises(ProviderError) as caught:
        decoder.feed(("", json.dumps(event("failed", response={"status": "failed", "error": said})).encode()))
    fault = caught.value
    assert (fault.kind, fault.retry_after_s, fault.finish_raw) == (ErrorKind.RATE_LIMIT, 11.0, "failed")
    assert decoder.complete


def test_a_stream_without_its_end_is_cut() -> None:
    decoder, _ = fed(words("half"))
    with pytest.raises(ProviderError) as caught:
        decoder.finish()
    assert caught.value.kind is ErrorKind.TRUNCATED


def test_a_frame_that_is_not_json_counts_only_without_an_end() -> None:
    decoder = WIRE.decoder(Quirks())
    assert list(decoder.feed(("", b"{oops"))) == []
    with pytest.raises(ProviderError) as caught:
        decoder.finish()
    assert caught.value.kind is ErrorKind.BAD_FRAME
    decoder.feed(("", b'{"type":"response.completed","response":{}}'))
    assert list(decoder.finish()) == []


def test_a_whole_response_is_one_stream_at_once() -> None:
    body = {
        "id": "r",
        "object": "response",
        "model": "m",
        "status": "completed",
        "output": [message("Hi")],
        "error": None,
    }
    assert list(WIRE.decoder(Quirks()).feed_whole(json.dumps(body).encode())) == [
        ResponseStarted("m", "r"),
        BlockStarted(0, "text"),
        TextDelta(0, "Hi"),
        ProviderStateReceived(0, ProviderState(id="msg_1")),
        BlockFinished(0),
        ResponseFinished(Stop(Finish.STOP, "completed")),
    ]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"error":{"code":"insufficient_quota","message":"m"}}', ErrorKind.BILLING),
        (b'{"status":"failed","error":{"code":"server_error","message":"m"},"output":[]}', ErrorKind.SERVER),
        (b'{"hello":1}', ErrorKind.NOT_A_STREAM),
        (b"[1]", ErrorKind.NOT_A_STREAM),
        (b"{", ErrorKind.BAD_FRAME),
    ],
)
def test_a_whole_body_that_is_no_answer_is_an_error(body: bytes, kind: ErrorKind) -> None:
    with pytest.raises(ProviderError) as caught:
        WIRE.decoder(Quirks()).feed_whole(body)
    assert caught.value.kind is kind


ODD = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 2) | st.text(max_size=3), lambda inner: st.lists(inner, max_size=2)
)
ITEM = st.fixed_dictionaries(
    {"type": st.sampled_from(["reasoning", "message", "function_call", "custom_tool_call", "x"]) | ODD},
    optional=dict.fromkeys(("id", "summary", "content", "arguments", "input", "name", "call_id", "status"), ODD),
)
EVENT = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            [
                *("response." + kind for kind in (
                    "output_text.delta", "output_text.done", "refusal.delta", "reasoning_summary_text.delta",
                    "reasoning_text.delta", "function_call_arguments.delta", "function_call_arguments.done",
                    "custom_tool_call_input.delta", "output_item.added", "output_item.done", "content_part.added",
                    "completed", "incomplete", "failed", "created",
                )),
                "error",
            ]
        )
    },
    optional={
        "output_index": ODD, "content_index": ODD, "summary_index": ODD, "delta": ODD, "text": ODD, "arguments": ODD,
        "item": ITEM | ODD, "part": ODD, "error": ODD,
        "response": ODD | st.fixed_dictionaries({}, optional={"output": st.lists(ITEM, max_size=3), "usage": ODD}),
    },
)  # fmt: skip


@given(st.lists(EVENT, max_size=12))
def test_no_order_or_shape_of_events_raises_anything_of_another_class(events: list[dict[str, object]]) -> None:
    decoder = WIRE.decoder(Quirks())
    try:
        for one in events:
            decoder.feed(("", dumps(one).encode()))
        decoder.finish()
    except ProviderError:
        pass


PIECES = st.sampled_from(
    [
        words("a"), words("b", 0, 1), words("c", 2), words(""),
        event("refusal.delta", output_index=0, content_index=2, delta="no"),
        summary("s"), summary("t", 1), {**summary("u"), "output_index": 1},
        event("reasoning_text.delta", output_index=1, content_index=0, delta="r"),
        event("function_call_arguments.delta", output_index=3, delta="{"),
        event("function_call_arguments.delta", output_index=4, delta="}"),
        done(message("ab", "b")), done(reasoning("u"), 1), done(call("{}"), 3), done(message("other"), 2),
        completed(), {"type": "error", "message": "m"},
    ]
)  # fmt: skip


@given(st.lists(PIECES, max_size=14))
def test_the_short_way_and_the_long_way_agree(pieces: list[dict[str, object]]) -> None:
    told: list[list[object]] = []
    for pad in ("", "\ufeff"):
        decoder = WIRE.decoder(Quirks())
        said: list[object] = []
        try:
            for piece in pieces:
                said += decoder.feed(("", (pad + dumps(piece)).encode()))
        except ProviderError as fault:
            said.append(fault.kind)
        told.append(said)
    assert told[0] == told[1]


@pytest.mark.long
def test_very_many_sources_are_not_all_told_with_each_one():
    source = {"type": "url_citation", "url": "https://a.example", "title": "a", "start_index": 0, "end_index": 1}
    kind = "output_text.annotation.added"
    annotated = [event(kind, output_index=0, content_index=0, annotation=source) for _ in range(2_000)]
    _, events = fed(added(message()), words("hello"), *annotated)
    told = [made for made in events if isinstance(made, CitationsReceived)]
    assert [len(made.citations) for made in told[:16]] == list(range(1, 17))
    assert len(told) < 150
    part = {"type": "output_text", "text": "hello", "annotations": [source] * 2_000}
    _, events = fed(added(message()), words("hello"), *annotated, done(message(content=[part])))
    assert [len(made.citations) for made in events if isinstance(made, CitationsReceived)][-1] == 2_000


def test_a_server_that_contradicts_itself_again_and_again_is_refused():
    stream = [
        one
        for at in range(40)
        for one in (added(message(), at), words(f"hello {at}", at), done(message("bye", id=f"m{at}"), at))
    ]
    with pytest.raises(ProviderError, match="again and again") as refused:
        fed(*stream)
    assert not refused.value.retryable


@pytest.mark.long
def test_thousands_of_calls_are_not_compared_with_each_other():
    """Compared with each other, they would take an hour."""
    finished = [done(call("{}", id=f"fc_{at}", call_id=f"call_{at}"), at) for at in range(60_000)]
    _, events = fed(*finished, done(call("{}", id="fc_7", call_id="call_7"), 60_000))
    assert sum(isinstance(made, BlockFinished) for made in events) == 60_000
