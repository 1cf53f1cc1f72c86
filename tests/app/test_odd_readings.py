"""Bytes as odd servers sent them, read by the whole program: nothing is doubled or lost, errors are quoted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.app.stage import config, house
from tests.fakes.stage import spoken
from tests.faultserver.player import Step
from tests.faultserver.server import FaultServer
from tests.narrow import expect_some
from tui.domain.events import TurnFailed, TurnFinished
from tui.domain.messages import Role

SIGNATURE = {"google": {"thought_signature": "CtMBsealed=="}}
CHAT_ANSWER: list[Step] = [{"say": "text", "text": "Fine."}, {"end": 1}]


def own_server(home: Path, wire: str, url: str) -> None:
    config(home, f'[providers.mine]\nwire = "{wire}"\nauth = "none"\nbase_url = "{url}/v1"\n')


def events(*values: dict[str, object]) -> list[Step]:
    """One scripted answer: these objects as server-sent events, as they are."""
    body = "".join(f"event: {value['type']}\ndata: {json.dumps(value)}\n\n" for value in values)
    return [{"status": 200, "body": body.encode(), "ct": "text/event-stream"}]


def chunks(*values: object, tail: bytes = b"data: [DONE]\n\n") -> list[Step]:
    body = b"".join(f"data: {json.dumps(value)}\n\n".encode() for value in values)
    return [{"status": 200, "body": body + tail, "ct": "text/event-stream"}]


def chunk(delta: dict[str, object], finish: str | None = None, **more: Any) -> dict[str, object]:
    return {"id": "c1", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


@pytest.mark.parametrize("opened_at_zero", [False, True])
async def test_a_part_streamed_under_another_index_is_not_doubled(tmp_path: Path, *, opened_at_zero: bool) -> None:
    place = {"item_id": "msg_1", "output_index": 0}
    words = {"type": "output_text", "text": "It is 42.", "annotations": []}
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [words]}
    empty = {"type": "response.content_part.added", **place, "content_index": 0, "part": {**words, "text": ""}}
    delta = {"type": "response.output_text.delta", **place, "content_index": 1}
    answer = events(
        {"type": "response.created", "response": {"id": "r1", "model": "gpt-oss", "status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        *([empty] if opened_at_zero else []),
        {**delta, "delta": "It is "},
        {**delta, "delta": "42."},
        {"type": "response.output_text.done", **place, "content_index": 1, "text": "It is 42."},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "r1", "status": "completed", "output": [item]}},
    )
    async with FaultServer([answer, answer], "openai-responses") as server:
        own_server(tmp_path, "openai-responses", server.url)
        async with house(tmp_path, model="mine/gpt-oss") as h:
            heard = await h.say("What is it?")
            await h.say("Again?")
        assert isinstance(heard[-1], TurnFinished)
        assert spoken(heard[-1].turn.messages[-1]) == "It is 42."
        [back] = [item for item in server.seen[-1].json["input"] if item["role"] == "assistant"]
        assert "".join(part["text"] for part in back["content"]) == "It is 42."


async def test_usage_beside_an_error_in_a_stream_is_kept_with_the_answer(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 120, "completion_tokens": 30, "total_tokens": 150, "cost": 0.25}
    error = {"code": 400, "message": "Upstream broke.", "metadata": {"error_type": "provider"}}
    failed = chunk({"content": ""}, "error", error=error, usage=usage)
    async with FaultServer([chunks(chunk({"content": "Half of it"}), failed)], "openai-chat") as server:
        own_server(tmp_path, "openai-chat", server.url)
        async with house(tmp_path, model="mine/m") as h:
            heard = await h.say("Go")
    assert isinstance(heard[-1], TurnFailed)
    assert "Upstream broke." in heard[-1].error.message
    [answer] = [message for message in heard[-1].turn.messages if message.role is Role.ASSISTANT]
    kept = expect_some(answer.usage)
    assert (spoken(answer), kept.input, kept.output, kept.cost) == ("Half of it", 120, 30, 0.25)


@pytest.mark.parametrize("calls", [False, True])
async def test_a_signature_on_the_message_goes_back_on_the_message(tmp_path: Path, *, calls: bool) -> None:
    function = {"name": "list_dir", "arguments": '{"path": "."}'}
    call = {"index": 0, "id": "call_1", "function": function, "extra_content": {"google": {"thought_signature": "own"}}}
    said: dict[str, object] = {"tool_calls": [call]} if calls else {"content": "It is 42."}
    signed = chunks(chunk(said), chunk({"extra_content": SIGNATURE}), chunk({}, "tool_calls" if calls else "stop"))
    async with FaultServer([signed, CHAT_ANSWER], "openai-chat") as server:
        own_server(tmp_path, "openai-chat", server.url)
        async with house(tmp_path, model="mine/gemini", tools=calls) as h:
            await h.say("What is it?")
            await h.say("Again?")
        [back, *_] = [message for message in server.seen[-1].json["messages"] if message["role"] == "assistant"]
        assert back["extra_content"] == SIGNATURE
        if calls:
            assert back["tool_calls"][0]["extra_content"] == {"google": {"thought_signature": "own"}}
            assert "message" not in back["tool_calls"][0]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("end", [b"", b"\n", b"\n\n"])
async def test_a_bare_error_line_at_the_end_of_a_stream_is_quoted(tmp_path: Path, end: bytes) -> None:
    line = b'error: {"code":500,"message":"Failed to parse input at position 7","type":"server_error"}'
    broken = chunks(chunk({"content": "Half"}), tail=line + end)
    async with FaultServer([broken], "openai-chat") as server:
        own_server(tmp_path, "openai-chat", server.url)
        async with house(tmp_path, model="mine/m") as h:
            heard = await h.say("Go")
    assert isinstance(heard[-1], TurnFailed)
    assert "Failed to parse input at position 7" in heard[-1].error.message
