from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.catalog.facts import Quirks
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.stream import (
    BlockFinished,
    BlockStarted,
    Finish,
    ResponseFinished,
    ResponseStarted,
    Stop,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolArgsDelta,
    UsageReported,
)
from tui.domain.thinking import ThinkingForm
from tui.domain.usage import Usage
from tui.wires.ollama import WIRE
from tui.wires.wire import Decoder, ErrorResponse


def line(*, done: bool = False, message: dict[str, object] | None = None, **fields: object) -> dict[str, object]:
    said = {"role": "assistant", "content": "", **(message or {})}
    return {"model": "qwen3", "created_at": "t", "message": said, "done": done, **fields}


def fed(*lines: dict[str, object]) -> tuple[Decoder, list[StreamEvent]]:
    decoder = WIRE.decoder(Quirks())
    return decoder, [event for one in lines for event in decoder.feed(("", json.dumps(one).encode()))]


def test_an_answer_tells_its_story_in_order() -> None:
    function = {"index": 0, "name": "read", "arguments": {"p": [1]}}
    decoder, events = fed(
        line(message={"thinking": "Hm"}),
        line(message={"thinking": "."}),
        line(message={"content": "I"}),
        line(message={"content": " look"}),
        line(message={"tool_calls": [{"id": "call_1", "function": function}, {"function": {"name": "now"}}]}),
        line(
            done=True,
            done_reason="stop",
            prompt_eval_count=30,
            prompt_eval_cached_count=10,
            eval_count=5,
            total_duration=9,
        ),
    )
    assert events == [
        ResponseStarted("qwen3", None),
        BlockStarted(0, "thinking", form=ThinkingForm.FULL),
        ThinkingDelta(0, "Hm"),
        ThinkingDelta(0, "."),
        BlockFinished(0),
        BlockStarted(1, "text"),
        TextDelta(1, "I"),
        TextDelta(1, " look"),
        BlockFinished(1),
        BlockStarted(2, "tool_call", name="read", call_id="call_1"),
        ToolArgsDelta(2, '{"p":[1]}'),
        BlockFinished(2),
        BlockStarted(3, "tool_call", name="now", call_id=None),
        BlockFinished(3),
        UsageReported(Usage(input=30, cache_read=10, output=5, total=35)),
        ResponseFinished(Stop(Finish.TOOL_USE, "stop")),
    ]
    assert (decoder.complete, list(decoder.finish())) == (True, [])


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        (None, Finish.STOP),
        ("stop", Finish.STOP),
        ("length", Finish.LENGTH),
        ("load", Finish.OTHER),
        ("unload", Finish.OTHER),
    ],
)
def test_every_ending_has_its_word(reason: str | None, finish: Finish) -> None:
    told = {"done_reason": reason} if reason else {}
    _, events = fed({**line(done=True), **told})
    assert events == [ResponseStarted("qwen3", None), ResponseFinished(Stop(finish, reason))]


def test_a_prompt_that_was_not_counted_is_unknown() -> None:
    assert UsageReported(Usage(output=5)) in fed(line(done=True, eval_count=5))[1]


def test_an_error_line_is_an_error() -> None:
    with pytest.raises(ProviderError) as caught:
        fed(line(message={"content": "Yes"}), {"error": "an error was encountered while running the model"})
    assert (caught.value.kind, caught.value.message) == (
        ErrorKind.OTHER,
        "an error was encountered while running the model",
    )


def test_a_stream_that_is_never_done_is_cut() -> None:
    decoder, _ = fed(line(message={"content": "Yes"}))
    with pytest.raises(ProviderError) as caught:
        decoder.finish()
    assert caught.value.kind is ErrorKind.TRUNCATED


def test_a_whole_answer_is_one_line() -> None:
    body = json.dumps(line(done=True, message={"thinking": "Hm", "content": "Hi"})).encode()
    assert list(WIRE.decoder(Quirks()).feed_whole(body)) == [
        ResponseStarted("qwen3", None),
        BlockStarted(0, "thinking", form=ThinkingForm.FULL),
        ThinkingDelta(0, "Hm"),
        BlockFinished(0),
        BlockStarted(1, "text"),
        TextDelta(1, "Hi"),
        BlockFinished(1),
        ResponseFinished(Stop(Finish.STOP, None)),
    ]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"error":"model requires more system memory"}', ErrorKind.OTHER),
        (b'{"hello":1}', ErrorKind.NOT_A_STREAM),
        (b"[]", ErrorKind.NOT_A_STREAM),
        (b'{"message":{"content":"half"}}', ErrorKind.TRUNCATED),
        (b"{", ErrorKind.BAD_FRAME),
    ],
)
def test_a_whole_body_that_is_no_answer_is_an_error(body: bytes, kind: ErrorKind) -> None:
    with pytest.raises(ProviderError) as caught:
        WIRE.decoder(Quirks()).feed_whole(body)
    assert caught.value.kind is kind


@pytest.mark.parametrize(
    ("status", "words", "kind"),
    [
        (404, 'model "x" not found, try pulling it first', ErrorKind.NOT_FOUND),
        (400, '"gemma3" does not support thinking', ErrorKind.UNSUPPORTED),
        (500, "llama runner process has terminated", ErrorKind.SERVER),
        (503, "server busy, please try again.  maximum pending requests exceeded", ErrorKind.OVERLOADED),
    ],
)
def test_refusals_have_their_kind(status: int, words: str, kind: ErrorKind) -> None:
    error = WIRE.refusal(ErrorResponse(status=status, headers={}, body=json.dumps({"error": words}).encode()))
    assert error.kind is kind


ODD = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 2) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["function", "name", "arguments"]), inner)
    ),
)
LINE = st.fixed_dictionaries(
    {},
    optional={
        "message": ODD | st.fixed_dictionaries({}, optional=dict.fromkeys(("content", "thinking", "tool_calls"), ODD)),
        **dict.fromkeys(("model", "done", "done_reason", "error", "eval_count", "prompt_eval_count"), ODD),
    },
)


@given(st.lists(LINE, max_size=8))
def test_no_shape_of_lines_raises_anything_of_another_class(lines: list[dict[str, object]]) -> None:
    decoder = WIRE.decoder(Quirks())
    try:
        for one in lines:
            decoder.feed(("", json.dumps(one).encode()))
        decoder.finish()
    except ProviderError:
        pass
