"""Made-up but lifelike streams for the decode benchmark: shapes and sizes as the providers send them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

SENTENCE = (
    "the of and to in that is was for with as on by at from this have not are which one you were all thinking token "
    "budget window provider stream delta message seal model cache request answer function schema session naïve 推理"
)
WORDS = SENTENCE.split()
PIECE = {"anthropic": 2, "openai-responses": 1, "openai-chat": 1, "openrouter": 1, "gemini": 16, "ollama": 1}
"""Words in one delta: Gemini sends few large ones, the others many small ones."""


@dataclass(frozen=True)
class Stream:
    """One response as its server would send it, and what is in it."""

    events: list[bytes]
    content_type: str
    thinking: int
    text: int
    args: int


JSON = dict[str, Any]


def text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class Maker:
    """Words in pieces, always the same ones."""

    def __init__(self, wire: str, deltas: int) -> None:
        self.chance = random.Random(7)
        size = PIECE[wire]
        make = lambda: " ".join(self.chance.choices(WORDS, k=size)) + " "  # noqa: E731
        tool = 0 if wire in ("gemini", "ollama") else deltas // 20
        self.thinking = [make() for _ in range(deltas * 11 // 20)]
        self.text = [make() for _ in range(deltas * 8 // 20)]
        self.args = ['{"text":"', *(make() for _ in range(tool)), '"}'] if tool else []
        self.provider_state = "".join(self.chance.choices("abcdefghijklmnopqrstuvwxyzABCDEFGH0123456789+/", k=700))

    def padding(self, most: int) -> str:
        return "x" * self.chance.randint(0, most)


def anthropic(make: Maker) -> Iterator[bytes]:
    def event(body: JSON) -> bytes:
        spaces = " " * make.chance.randint(0, 15)
        return f"event: {body['type']}\ndata: {text(body)[:-1]}{spaces}}}\n\n".encode()

    usage = {"input_tokens": 12, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 1}
    message = {"model": "claude-opus-5-5", "id": "msg_01QC4", "type": "message", "role": "assistant", "content": []}
    yield event({"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}})
    blocks = [
        ({"type": "thinking", "thinking": "", "signature": ""}, "thinking_delta", "thinking", make.thinking),
        ({"type": "text", "text": ""}, "text_delta", "text", make.text),
        (
            {"type": "tool_use", "id": "toolu_01A", "name": "write_file", "input": {}},
            "input_json_delta",
            "partial_json",
            make.args,
        ),
    ]
    for index, (block, kind, key, pieces) in enumerate(blocks):
        yield event({"type": "content_block_start", "index": index, "content_block": block})
        for piece in pieces:
            yield event({"type": "content_block_delta", "index": index, "delta": {"type": kind, key: piece}})
        if index == 0:
            provider_state = {"type": "signature_delta", "signature": make.provider_state}
            yield event({"type": "content_block_delta", "index": 0, "delta": provider_state})
        yield event({"type": "content_block_stop", "index": index})
    yield event({"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None}, "usage": usage})
    yield event({"type": "message_stop"})


def responses(make: Maker) -> Iterator[bytes]:
    number = -1

    def event(kind: str, **body: object) -> bytes:
        nonlocal number
        number += 1
        return f"event: {kind}\ndata: {text({'type': kind, 'sequence_number': number, **body})}\n\n".encode()

    def whole(status: str, output: list[JSON], usage: object = None) -> JSON:
        base = {"id": "resp_01830d662ab385", "object": "response", "created_at": 1765552659, "status": status}
        rest = {"model": "gpt-6-sol", "parallel_tool_calls": True, "tools": [], "metadata": {}, "error": None}
        return {**base, "incomplete_details": None, "output": output, "tool_choice": "auto", "usage": usage, **rest}

    reasoning, message, call = "rs_01830d662ab3856501693c32", "msg_01830d662ab3856501693c32", "fc_01830d662ab3856501"
    yield event("response.created", response=whole("in_progress", []))
    head = {"id": reasoning, "type": "reasoning", "encrypted_content": make.provider_state}
    place: JSON = {"item_id": reasoning, "output_index": 0, "summary_index": 0}
    yield event("response.output_item.added", output_index=0, item={**head, "summary": []})
    part: JSON = {"type": "summary_text", "text": ""}
    yield event("response.reasoning_summary_part.added", **place, part=part)
    for piece in make.thinking:
        yield event("response.reasoning_summary_text.delta", **place, delta=piece, obfuscation=make.padding(12))
    done = {**head, "summary": [{**part, "text": "".join(make.thinking)}]}
    yield event("response.output_item.done", output_index=0, item=done)

    said: JSON = {"id": message, "type": "message", "status": "in_progress", "role": "assistant", "content": []}
    place = {"item_id": message, "output_index": 1, "content_index": 0}
    part = {"type": "output_text", "annotations": [], "logprobs": [], "text": ""}
    yield event("response.output_item.added", output_index=1, item=said)
    yield event("response.content_part.added", **place, part=part)
    for piece in make.text:
        yield event("response.output_text.delta", **place, delta=piece, logprobs=[], obfuscation=make.padding(12))
    said = {**said, "status": "completed", "content": [{**part, "text": "".join(make.text)}]}
    yield event("response.output_item.done", output_index=1, item=said)

    asked: JSON = {"id": call, "type": "function_call", "status": "in_progress", "arguments": "", "call_id": "call_a"}
    asked["name"] = "write_file"
    yield event("response.output_item.added", output_index=2, item=asked)
    for piece in make.args:
        yield event("response.function_call_arguments.delta", item_id=call, output_index=2, delta=piece)
    asked = {**asked, "status": "completed", "arguments": "".join(make.args)}
    yield event("response.output_item.done", output_index=2, item=asked)
    usage: JSON = {
        "input_tokens": 9,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 99,
        "total_tokens": 108,
    }
    usage["output_tokens_details"] = {"reasoning_tokens": 50}
    yield event("response.completed", response=whole("completed", [done, said, asked], usage))


def chat(make: Maker) -> Iterator[bytes]:
    def event(delta: JSON, finish: str | None = None, usage: object = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        head = {"id": "cac7192e-e619-40c6-96b0-ed4276bc03ac", "object": "chat.completion.chunk", "created": 1764661832}
        body = {**head, "model": "deepseek-flash", "system_fingerprint": "fp_eaab8d114b_prod", "choices": [choice]}
        return f"data: {text({**body, 'usage': usage})}\n\n".encode()

    yield event({"role": "assistant", "content": None, "reasoning_content": ""})
    for piece in make.thinking:
        yield event({"content": None, "reasoning_content": piece})
    for piece in make.text:
        yield event({"content": piece, "reasoning_content": None})
    call = {"index": 0, "id": "call_a", "type": "function", "function": {"name": "write_file", "arguments": ""}}
    yield event({"tool_calls": [call]})
    for piece in make.args:
        yield event({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
    yield event({"content": ""}, "tool_calls", {"prompt_tokens": 18, "completion_tokens": 99, "total_tokens": 117})
    yield b"data: [DONE]\n\n"


def openrouter(make: Maker) -> Iterator[bytes]:
    """The dialect of Chat Completions that says every thought twice, the second time as a detail."""

    def event(delta: JSON, finish: str | None = None, **rest: object) -> bytes:
        choice = {"index": 0, "delta": {"role": "assistant", "content": "", **delta}, "finish_reason": finish}
        choice |= {"native_finish_reason": finish, "logprobs": None}
        head = {
            "id": "gen-1764661832-KqXv3wqJ0bV5o8h2c1Zt",
            "provider": "Anthropic",
            "model": "anthropic/claude-opus-5",
        }
        body = {**head, "object": "chat.completion.chunk", "created": 1764661832, "choices": [choice], **rest}
        return f"data: {text(body)}\n\n".encode()

    def detail(**words: str) -> list[JSON]:
        return [{"type": "reasoning.text", **words, "format": "anthropic-claude-v1", "index": 0}]

    yield b": OPENROUTER PROCESSING\n\n"
    for piece in make.thinking:
        yield event({"reasoning": piece, "reasoning_details": detail(text=piece)})
    yield event({"reasoning": None, "reasoning_details": detail(signature=make.provider_state)})
    for piece in make.text:
        yield event({"content": piece})
    call = {"index": 0, "id": "toolu_a", "type": "function", "function": {"name": "write_file", "arguments": ""}}
    yield event({"content": None, "tool_calls": [call]})
    for piece in make.args:
        part = {"index": 0, "type": "function", "function": {"arguments": piece}}
        yield event({"content": None, "tool_calls": [part]})
    yield event({}, "tool_calls")
    yield event({}, None, usage={"prompt_tokens": 18, "completion_tokens": 99, "total_tokens": 117, "cost": 0.01})
    yield b"data: [DONE]\n\n"


def gemini(make: Maker) -> Iterator[bytes]:
    parts: list[JSON] = [{"text": piece, "thought": True} for piece in make.thinking] + [
        {"text": piece} for piece in make.text
    ]
    parts[len(make.thinking)]["thoughtSignature"] = make.provider_state
    for number, part in enumerate(parts):
        candidate: JSON = {"content": {"parts": [part], "role": "model"}, "index": 0}
        if number == len(parts) - 1:
            candidate["finishReason"] = "STOP"
        counts: JSON = {"promptTokenCount": 34, "totalTokenCount": number + 34, "thoughtsTokenCount": number}
        counts["promptTokensDetails"] = [{"modality": "TEXT", "tokenCount": 34}]
        body = {"candidates": [candidate], "usageMetadata": counts, "modelVersion": "gemini-4-argon"}
        shown = json.dumps({**body, "responseId": "beHBaJfEMIi-qtsP3769-Q8"}, ensure_ascii=False)
        yield f"data: {shown}\r\n\r\n".encode()


def ollama(make: Maker) -> Iterator[bytes]:
    def line(message: JSON, **rest: object) -> bytes:
        head = {"model": "qwen3.8", "created_at": "2026-11-01T09:00:00.123456789Z"}
        return f"{text({**head, 'message': {'role': 'assistant', **message}, **rest})}\n".encode()

    for piece in make.thinking:
        yield line({"content": "", "thinking": piece}, done=False)
    for piece in make.text:
        yield line({"content": piece}, done=False)
    yield line({"content": ""}, done=True, done_reason="stop", prompt_eval_count=12, eval_count=99)


WRITERS = {
    "anthropic": anthropic,
    "openai-responses": responses,
    "openai-chat": chat,
    "openrouter": openrouter,
    "gemini": gemini,
    "ollama": ollama,
}


def stream(wire: str, deltas: int) -> Stream:
    """The stream of a wire with about so many deltas."""
    make = Maker(wire, deltas)
    return Stream(
        events=list(WRITERS[wire](make)),
        content_type="application/x-ndjson" if wire == "ollama" else "text/event-stream; charset=utf-8",
        thinking=sum(map(len, make.thinking)),
        text=sum(map(len, make.text)),
        args=sum(map(len, make.args)),
    )
