"""Faults of meaning inside a stream: every row W of the fault catalogue, through the real client."""
# ruff: noqa: N802 - the names carry the rows of the fault catalogue

from __future__ import annotations

import json

import pytest

from tests.faultserver.player import Step
from tests.faultserver.server import FaultServer
from tests.providers.conftest import WIRES, Client
from tests.providers.test_faults_framing import chat, delta
from tui.domain.blocks import TextBlock, ThinkingBlock, ToolCallBlock
from tui.domain.errors import ErrorKind
from tui.domain.stream import Finish

wires = pytest.mark.parametrize("wire", WIRES)
SAY: Step = {"say": "text", "text": "partial words"}


def gemini(*parts: object, **candidate: object) -> list[Step]:
    """One Gemini chunk."""
    content = {"role": "model", "parts": list(parts)}
    whole = {"candidates": [{"content": content, "index": 0, **candidate}], "modelVersion": "m"}
    return [{"raw": f"data: {json.dumps(whole)}\r\n\r\n"}]


@wires
@pytest.mark.parametrize("before", [0, 1])
async def test_W01_an_error_inside_a_good_stream_is_an_error(client: Client, wire: str, before: int) -> None:
    script: list[Step] = [*[SAY] * before, {"error": 1}]
    if wire == "gemini-array":
        error = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}
        script = [*[SAY] * before, {"raw": ("," if before else "[") + json.dumps(error) + "]"}]
    async with FaultServer([script], wire) as server:
        outcome = await client.ask(server, wire)
    assert outcome.error is not None
    assert (outcome.error.kind, outcome.error.retryable, outcome.complete) == (ErrorKind.OVERLOADED, True, False)
    assert outcome.text == ("partial words" if before else "")


async def test_W02_an_error_as_finish_reason_is_an_error(client: Client) -> None:
    async with FaultServer([chat(delta(content="x"), delta("error"))], "openai-chat") as server:
        outcome = await client.ask(server, "openai-chat")
    assert (outcome.error is not None, outcome.complete) == (True, False)


async def test_W03_an_empty_finish_reason_ends_nothing(client: Client) -> None:
    script = chat(delta("", content="a"), delta("", content="b"), delta("stop"))
    async with FaultServer([script, chat(delta("", content="a"), done="")], "openai-chat") as server:
        backend = client.backend()
        whole = await client.ask(server, "openai-chat", backend=backend)
        cut = await client.ask(server, "openai-chat", backend=backend)
    assert (whole.error, whole.text) == (None, "ab")
    assert cut.error is not None
    assert cut.error.kind is ErrorKind.TRUNCATED


@pytest.mark.parametrize("reason", ["length", "tool_calls"])
async def test_W04_cut_arguments_are_never_made_up(client: Client, reason: str) -> None:
    whole = '{"path":"/tmp/x","mode":"all"}'
    scripts = []
    for at in range(len(whole)):
        call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "rm", "arguments": whole[:at]}}
        scripts.append(chat(delta(tool_calls=[call]), delta(reason)))
    async with FaultServer(scripts, "openai-chat") as server:
        backend = client.backend()
        outcomes = [await client.ask(server, "openai-chat", backend=backend) for _ in scripts]
    for at, outcome in enumerate(outcomes):
        if outcome.error is None:
            calls = [block for block in outcome.blocks.blocks() if isinstance(block, ToolCallBlock)]
            assert [(call.arguments, call.partial) for call in calls] == [(whole[:at], reason == "length")]


async def test_W05_arguments_are_kept_as_they_came_character_by_character(client: Client) -> None:
    text = '{"command":"rm -rf /tmp/x/build","n":1}'
    pieces = [delta(tool_calls=[{"index": 0, "function": {"arguments": letter}}]) for letter in text]
    start = delta(
        tool_calls=[{"index": 0, "id": "c1", "type": "function", "function": {"name": "sh", "arguments": ""}}]
    )
    async with FaultServer([chat(start, *pieces, delta("tool_calls"))], "openai-chat") as server:
        outcome = await client.ask(server, "openai-chat")
    assert outcome.blocks.blocks() == (ToolCallBlock(call_id="c1", name="sh", arguments=text),)


def call(arguments: object, **fields: object) -> dict[str, object]:
    """A piece of a call: its arguments, and an index, id or name where given."""
    name = {"name": fields.pop("name")} if "name" in fields else {}
    return {**fields, "function": {**name, "arguments": arguments}}


@pytest.mark.parametrize(
    "pieces",
    [
        [call('{"x"', index=0, id="a", name="f"), call(":1}", index=0)],
        [call('{"x"', id="a", name="f"), call(":1}", id="a")],
        [call('{"x"', id="a", name="f"), call(":1}")],
        [call("", index=0, id="a", name="f"), call('{"x":1}', index=0, id="a", name="f")],
        [{"index": 0, "id": "a", "function": {"name": "f"}}, call('{"x":1}', index=0, id="", name="")],
        [call(None, index=0, id="a", name="f"), call('{"x":1}', index=0, id=None)],
    ],
    ids=["usual", "no index", "id only first", "name repeated", "empty id", "nulls"],
)
async def test_W06_pieces_of_a_call_find_each_other(client: Client, pieces: list[dict[str, object]]) -> None:
    script = chat(*(delta(tool_calls=[piece]) for piece in pieces), delta("tool_calls"))
    async with FaultServer([script], "openai-chat") as server:
        outcome = await client.ask(server, "openai-chat")
    assert outcome.blocks.blocks() == (ToolCallBlock(call_id="a", name="f", arguments='{"x":1}'),)


async def test_W06_calls_may_come_in_any_order_of_index(client: Client) -> None:
    two = [
        {"index": index, "id": f"c{index}", "function": {"name": f"f{index}", "arguments": "{}"}} for index in (1, 0)
    ]
    script = chat(*(delta(tool_calls=[call]) for call in two), delta("tool_calls"))
    async with FaultServer([script], "openai-chat") as server:
        outcome = await client.ask(server, "openai-chat")
    names = {block.name: block.call_id for block in outcome.blocks.blocks() if isinstance(block, ToolCallBlock)}
    assert names == {"f0": "c0", "f1": "c1"}


@pytest.mark.parametrize(
    ("arguments", "kept"), [("", ""), (None, ""), ("null", "null"), ("[]", "[]"), ({"x": 1}, '{"x":1}')]
)
async def test_W07_odd_arguments_do_not_break_the_stream(client: Client, arguments: object, kept: str) -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "f", "arguments": arguments}}
    async with FaultServer([chat(delta(tool_calls=[call]), delta("tool_calls"))], "openai-chat") as server:
        outcome = await client.ask(server, "openai-chat")
    assert outcome.error is None
    (made,) = outcome.blocks.blocks()
    assert isinstance(made, ToolCallBlock)
    assert made.arguments == kept


async def test_W08_a_done_event_repeats_nothing(client: Client) -> None:
    async with FaultServer([[SAY, {"end": 1}]], "openai-responses") as server:
        outcome = await client.ask(server, "openai-responses")
    assert outcome.text == "partial words"
    message = {"index": 0, "message": {"role": "assistant", "content": "ab"}, "delta": {}, "finish_reason": "stop"}
    script = chat(delta(content="a"), delta(content="b"), {"id": "1", "model": "m", "choices": [message]})
    async with FaultServer([script], "openai-chat") as server:
        outcome = await client.ask(server, "openai-chat")
    assert outcome.text == "ab"


async def test_W10_blocks_out_of_order_still_give_their_text(client: Client) -> None:
    events = [
        {"type": "content_block_delta", "index": 3, "delta": {"type": "text_delta", "text": "orphan"}},
        {"type": "content_block_stop", "index": 3},
        {"type": "content_block_stop", "index": 3},
        {"type": "content_block_stop", "index": 9},
        {"type": "message_start", "message": {"id": "m", "model": "m", "usage": {"input_tokens": 1}}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ]
    async with FaultServer([[{"sse": events}]]) as server:
        outcome = await client.ask(server)
    assert (outcome.error, outcome.text, outcome.complete) == (None, "orphan", True)


async def test_W11_signatures_are_kept_byte_for_byte_with_and_without_text(client: Client) -> None:
    def block(index: int, start: dict[str, object], *deltas: dict[str, object]) -> list[dict[str, object]]:
        made = [{"type": "content_block_delta", "index": index, "delta": one} for one in deltas]
        begin = {"type": "content_block_start", "index": index, "content_block": start}
        return [begin, *made, {"type": "content_block_stop", "index": index}]

    events = [
        {"type": "message_start", "message": {"id": "m", "model": "m", "usage": {"input_tokens": 1}}},
        *block(0, {"type": "thinking", "thinking": ""}, {"type": "signature_delta", "signature": "AB+/=="}),
        *block(1, {"type": "redacted_thinking", "data": "c2VjcmV0"}),
        *block(2, {"type": "text", "text": ""}, {"type": "text_delta", "text": "x"}),
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ]
    async with FaultServer([[{"sse": events}]]) as server:
        outcome = await client.ask(server)
    signed, redacted, text = outcome.blocks.blocks()
    assert isinstance(signed, ThinkingBlock)
    assert isinstance(redacted, ThinkingBlock)
    assert (signed.text, signed.provider_state and signed.provider_state.signature) == ("", "AB+/==")
    assert redacted.provider_state is not None
    assert redacted.provider_state.encrypted == "c2VjcmV0"
    assert text == TextBlock(text="x")


async def test_W12_think_tags_are_found_at_every_cut(client: Client) -> None:
    whole = "<think>deep</think>answer"
    scripts = [chat(delta(content=whole[:at]), delta(content=whole[at:]), delta("stop")) for at in range(1, len(whole))]
    async with FaultServer(scripts, "openai-chat") as server:
        backend = client.backend()
        outcomes = [await client.ask(server, "openai-chat", backend=backend) for _ in scripts]
    assert {(outcome.thinking.strip(), outcome.text.strip()) for outcome in outcomes} == {("deep", "answer")}


async def test_W12_an_unclosed_tag_is_thinking(client: Client) -> None:
    async with FaultServer([chat(delta(content="<think>never closed"), delta("stop"))], "openai-chat") as server:
        outcome = await client.ask(server, "openai-chat")
    assert (outcome.thinking.strip(), outcome.text) == ("never closed", "")


async def test_W13_the_same_thinking_in_two_fields_counts_once(client: Client) -> None:
    script = chat(delta(reasoning="same", reasoning_content="same"), delta(content="x"), delta("stop"))
    async with FaultServer([script], "openai-chat") as server:
        outcome = await client.ask(server, "openai-chat")
    assert (outcome.thinking, outcome.text) == ("same", "x")


@pytest.mark.parametrize(
    ("usage", "known"),
    [({}, (None, None)), (None, (None, None)), ({"prompt_tokens": 5, "completion_tokens": 7}, (5, 7)),
     ({"prompt_tokens": -5, "completion_tokens": -1}, (None, None)),
     ({"prompt_tokens": 1e308, "completion_tokens": 10**390}, (None, None))],
)  # fmt: skip
async def test_W14_usage_that_is_missing_or_absurd_is_unknown(
    client: Client, usage: object, known: tuple[int | None, int | None]
) -> None:
    last = {"id": "1", "model": "m", "choices": [], "usage": usage}
    async with FaultServer([chat(delta(content="x"), delta("stop"), last)], "openai-chat") as server:
        outcome = await client.ask(server, "openai-chat")
    found = outcome.blocks.usage
    assert (found.input if found else None, found.output if found else None) == known


@pytest.mark.parametrize(
    ("cost", "known"), [(0.25, 0.25), (0, 0), (-3, None), (1e308, None), (1e7, None), ("NaN", None), (True, None)]
)
async def test_W14_a_cost_that_is_negative_or_absurd_is_unknown(
    client: Client, cost: object, known: float | None
) -> None:
    last = {"id": "1", "model": "m", "choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "cost": cost}}
    async with FaultServer([chat(delta(content="x"), delta("stop"), last)], "openai-chat") as server:
        outcome = await client.ask(server, "openai-chat")
    assert outcome.blocks.usage is not None
    assert outcome.blocks.usage.cost == known


@pytest.mark.parametrize("reason", ["SAFETY", "RECITATION", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII"])
async def test_W15_a_filter_is_final_and_named(client: Client, reason: str) -> None:
    async with FaultServer([gemini({"text": "x"}, finishReason=reason)], "gemini") as server:
        outcome = await client.ask(server, "gemini")
    assert outcome.error is None
    assert outcome.blocks.stop is not None
    assert (outcome.blocks.stop.finish, outcome.blocks.stop.raw) == (Finish.FILTER, reason)


async def test_W15_a_blocked_prompt_is_final(client: Client) -> None:
    raw = 'data: {"promptFeedback":{"blockReason":"SAFETY"}}\r\n\r\n'
    async with FaultServer([[{"raw": raw}]], "gemini") as server:
        outcome = await client.ask(server, "gemini")
    assert outcome.complete
    assert outcome.blocks.stop is not None
    assert (outcome.blocks.stop.finish, outcome.blocks.stop.raw) == (Finish.REFUSAL, "SAFETY")


async def test_W16_an_empty_answer_is_seen_as_empty(client: Client) -> None:
    async with FaultServer([gemini({"text": ""}, finishReason="STOP")], "gemini") as server:
        outcome = await client.ask(server, "gemini")
    assert (outcome.error, outcome.text, outcome.complete) == (None, "", True)


@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"])
async def test_W17_a_malformed_call_is_worth_one_more_try(client: Client, reason: str) -> None:
    async with FaultServer([gemini({"text": ""}, finishReason=reason)], "gemini") as server:
        outcome = await client.ask(server, "gemini")
    stop = outcome.blocks.stop
    assert stop.finish is Finish.MALFORMED_CALL if stop else outcome.error is not None and outcome.error.retryable


async def test_W18_incomplete_is_an_end_with_the_text_kept(client: Client) -> None:
    incomplete = {
        "type": "response.incomplete",
        "response": {"id": "r", "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
    }
    async with FaultServer([[SAY, {"sse": [incomplete]}]], "openai-responses") as server:
        outcome = await client.ask(server, "openai-responses")
    assert (outcome.error, outcome.text) == (None, "partial words")
    assert outcome.blocks.stop is not None
    assert outcome.blocks.stop.finish is Finish.LENGTH


@wires
async def test_W19_the_model_that_answered_is_told(client: Client, wire: str) -> None:
    async with FaultServer([[SAY, {"end": 1}]], wire) as server:
        outcome = await client.ask(server, wire)
    assert outcome.blocks.model == "served-model"


async def test_W20_a_loop_of_text_streams_without_slowing_down(client: Client) -> None:
    line = json.dumps(delta(content="and again and again and again and again and again "))
    script: list[Step] = [{"raw": f"data: {line}\n\n" * 5000}, *chat(delta("stop"))]
    async with FaultServer([script], "openai-chat") as server:
        outcome = await client.ask(server, "openai-chat")
    assert (outcome.error, len(outcome.text)) == (None, 250_000)
