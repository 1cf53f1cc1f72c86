"""Encodes a script as a streamed response in each wire format."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Literal, Protocol

from tui.domain.digests import sha256
from tui.domain.fast_dataclass import dataclass
from tui.wires.json_text import dumps, loads

_SIGNING_KEY = b"the demo's own ink, not a secret"


def sign(thinking: str) -> str:
    """Return the signature of a text."""
    return base64.b64encode(sha256(_SIGNING_KEY + thinking.encode("utf-8", "replace"))).decode()


def is_signed(thinking: str, signature: str) -> bool:
    """Whether the signature is the one of this text."""
    return sign(thinking) == signature


def encrypted(thinking: str) -> str:
    """Return thinking as an opaque blob that contains its own signature."""
    return base64.b64encode(f"{sign(thinking)}:{thinking}".encode("utf-8", "replace")).decode()


def is_encrypted(blob: str) -> bool:
    """Whether a blob was made by ``locked`` and is unchanged."""
    try:
        signature, colon, thinking = base64.b64decode(blob, validate=True).decode().partition(":")
    except ValueError:
        return False
    return bool(colon) and is_signed(thinking, signature)


@dataclass(frozen=True, slots=True)
class Think:
    """Thinking, signed at its end."""

    text: str


@dataclass(frozen=True, slots=True)
class Say:
    """Text of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call; ``arguments`` is JSON text."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Break:
    """A failure at this point of the stream."""

    how: Literal["cut", "overloaded"]


Piece = Think | Say | Call | Break


@dataclass(frozen=True, slots=True)
class Refusal:
    """An HTTP error instead of an answer."""

    status: int
    kind: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Script:
    """The pieces of a response, or the error sent instead."""

    pieces: tuple[Piece, ...] = ()
    refusal: Refusal | None = None
    slowness: float = 1.0


@dataclass(frozen=True, slots=True)
class DemoUsage:
    """The token usage of a response."""

    input: int
    thinking: int
    answer: int


def tokens(text: str) -> int:
    """Return the tokens of a text: one for four characters."""
    return (len(text) + 3) // 4


_DELTA = re.compile(r"\s*\S{1,7}|\s+")


def deltas(text: str) -> Iterator[str]:
    """Split text into small pieces, as models send it."""
    return (found[0] for found in _DELTA.finditer(text))


Frames = Iterator[bytes]


class Encoder(Protocol):
    """Encodes one response in one wire format."""

    def begin(self, bill: DemoUsage) -> Frames:
        """Yield the first frames."""
        ...

    def piece(self, piece: Piece) -> Frames:
        """Yield the frames of one piece of the script."""
        ...

    def end(self, bill: DemoUsage, *, calls: bool) -> Frames:
        """Yield the last frames."""
        ...


def sse(event: Mapping[str, object], name: str = "") -> bytes:
    """Return one server-sent event."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {dumps(event)}\n\n".encode()


class AnthropicEncoder:
    """Encodes Anthropic Messages with signed thinking."""

    def __init__(self, model: str, stem: str) -> None:
        self._model, self._stem, self._index = model, stem, 0

    def begin(self, bill: DemoUsage) -> Frames:
        """Yield ``message_start`` and a ping, as the real API does."""
        usage = {"input_tokens": bill.input, "output_tokens": 1, "cache_read_input_tokens": 0}
        message = {"id": f"msg_{self._stem}", "type": "message", "role": "assistant", "model": self._model}
        yield self._event("message_start", message={**message, "content": [], "stop_reason": None, "usage": usage})
        yield self._event("ping")

    def _event(self, kind: str, **fields: object) -> bytes:
        return sse({"type": kind, **fields}, kind)

    def piece(self, piece: Piece) -> Frames:
        """Yield one content block."""
        match piece:
            case Think(text):
                signed = [{"type": "signature_delta", "signature": sign(text)}]
                parts = [{"type": "thinking_delta", "thinking": part} for part in deltas(text)]
                yield from self._block({"type": "thinking", "thinking": "", "signature": ""}, [*parts, *signed])
            case Say(text):
                parts = [{"type": "text_delta", "text": part} for part in deltas(text)]
                yield from self._block({"type": "text", "text": ""}, parts)
            case Call(name, arguments):
                start = {"type": "tool_use", "id": f"toolu_{self._stem}{self._index}", "name": name, "input": {}}
                parts = [{"type": "input_json_delta", "partial_json": part} for part in deltas(arguments)]
                yield from self._block(start, parts)
            case Break("overloaded"):
                yield self._event("error", error={"type": "overloaded_error", "message": "Overloaded"})

    def _block(self, start: Mapping[str, object], parts: list[dict[str, str]]) -> Frames:
        yield self._event("content_block_start", index=self._index, content_block=start)
        for part in parts:
            yield self._event("content_block_delta", index=self._index, delta=part)
        yield self._event("content_block_stop", index=self._index)
        self._index += 1

    def end(self, bill: DemoUsage, *, calls: bool) -> Frames:
        """Yield ``message_delta`` with the usage, and ``message_stop``."""
        usage = {
            "output_tokens": bill.thinking + bill.answer,
            "output_tokens_details": {"thinking_tokens": bill.thinking},
        }
        reason = "tool_use" if calls else "end_turn"
        yield self._event("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage=usage)
        yield self._event("message_stop")


class ResponsesEncoder:
    """Encodes OpenAI Responses with encrypted reasoning items."""

    def __init__(self, model: str, stem: str) -> None:
        self._model, self._stem = model, stem
        self._number = 0
        self._output: list[Mapping[str, object]] = []

    def _event(self, kind: str, **fields: object) -> bytes:
        self._number += 1
        return sse({"type": kind, **fields, "sequence_number": self._number}, kind)

    def _response(self, status: str) -> dict[str, object]:
        return {"id": f"resp_{self._stem}", "object": "response", "model": self._model, "status": status}

    def begin(self, bill: DemoUsage) -> Frames:
        """Yield ``response.created``."""
        yield self._event("response.created", response=self._response("in_progress"))

    def piece(self, piece: Piece) -> Frames:
        """Yield one output item."""
        at, id_ = len(self._output), f"{self._stem}{len(self._output)}"
        match piece:
            case Think(text):
                summary = [{"type": "summary_text", "text": text}]
                item = {
                    "type": "reasoning",
                    "id": f"rs_{id_}",
                    "summary": summary,
                    "encrypted_content": encrypted(text),
                }
                yield self._added(at, {**item, "summary": [], "encrypted_content": ""})
                place = {"item_id": item["id"], "output_index": at, "summary_index": 0}
                yield self._event("response.reasoning_summary_part.added", **place, part={**summary[0], "text": ""})
                for part in deltas(text):
                    yield self._event("response.reasoning_summary_text.delta", **place, delta=part)
                yield self._event("response.reasoning_summary_text.done", **place, text=text)
            case Say(text):
                content = [{"type": "output_text", "text": text, "annotations": []}]
                item = {"type": "message", "id": f"msg_{id_}", "role": "assistant", "content": content}
                yield self._added(at, {**item, "content": []})
                place = {"item_id": item["id"], "output_index": at, "content_index": 0}
                yield self._event("response.content_part.added", **place, part={**content[0], "text": ""})
                for part in deltas(text):
                    yield self._event("response.output_text.delta", **place, delta=part)
                yield self._event("response.output_text.done", **place, text=text)
            case Call(name, arguments):
                item = {"type": "function_call", "id": f"fc_{id_}", "call_id": f"call_{id_}", "name": name}
                item["arguments"] = arguments
                yield self._added(at, {**item, "arguments": ""})
                place = {"item_id": item["id"], "output_index": at}
                for part in deltas(arguments):
                    yield self._event("response.function_call_arguments.delta", **place, delta=part)
                yield self._event("response.function_call_arguments.done", **place, arguments=arguments)
            case Break(how):
                if how == "overloaded":
                    yield self._event("error", code="server_is_overloaded", message="Overloaded", param=None)
                return
        self._output.append({**item, "status": "completed"})
        yield self._event("response.output_item.done", output_index=at, item=self._output[-1])

    def _added(self, at: int, item: Mapping[str, object]) -> bytes:
        return self._event("response.output_item.added", output_index=at, item={**item, "status": "in_progress"})

    def end(self, bill: DemoUsage, *, calls: bool) -> Frames:
        """Yield ``response.completed`` with the usage."""
        usage = {
            "input_tokens": bill.input,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": bill.thinking + bill.answer,
            "output_tokens_details": {"reasoning_tokens": bill.thinking},
            "total_tokens": bill.input + bill.thinking + bill.answer,
        }
        whole = {**self._response("completed"), "output": self._output, "usage": usage}
        yield self._event("response.completed", response=whole)


class ChatEncoder:
    """Encodes Chat Completions with thinking in ``reasoning_content``."""

    def __init__(self, model: str, stem: str) -> None:
        self._base = {"id": f"chatcmpl-{stem}", "object": "chat.completion.chunk", "created": 1, "model": model}
        self._stem, self._calls = stem, 0

    def _delta(self, delta: Mapping[str, object], reason: str | None = None) -> bytes:
        return sse({**self._base, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

    def begin(self, bill: DemoUsage) -> Frames:
        """Yield the role."""
        yield self._delta({"role": "assistant", "content": None})

    def piece(self, piece: Piece) -> Frames:
        """Yield deltas of one kind."""
        match piece:
            case Think(text):
                yield from (self._delta({"reasoning_content": part}) for part in deltas(text))
            case Say(text):
                yield from (self._delta({"content": part}) for part in deltas(text))
            case Call(name, arguments):
                at, id_ = self._calls, f"call_{self._stem}{self._calls}"
                self._calls += 1
                start = {"index": at, "id": id_, "type": "function", "function": {"name": name, "arguments": ""}}
                yield self._delta({"tool_calls": [start]})
                for part in deltas(arguments):
                    yield self._delta({"tool_calls": [{"index": at, "function": {"arguments": part}}]})
            case Break("overloaded"):
                yield sse({"error": {"message": "Overloaded", "type": "server_error", "code": 503}})

    def end(self, bill: DemoUsage, *, calls: bool) -> Frames:
        """Yield the finish reason, the usage and ``[DONE]``."""
        yield self._delta({}, "tool_calls" if calls else "stop")
        usage = {
            "prompt_tokens": bill.input,
            "completion_tokens": bill.thinking + bill.answer,
            "total_tokens": bill.input + bill.thinking + bill.answer,
            "completion_tokens_details": {"reasoning_tokens": bill.thinking},
        }
        yield sse({**self._base, "choices": [], "usage": usage})
        yield b"data: [DONE]\n\n"


class GeminiEncoder:
    """Encodes Gemini responses with signatures on the parts that follow the thinking."""

    def __init__(self, model: str, stem: str) -> None:
        self._model, self._stem = model, stem
        self._signature: str | None = None

    def _part(self, part: Mapping[str, object]) -> bytes:
        return self._chunk({"content": {"role": "model", "parts": [part]}, "index": 0})

    def _chunk(self, candidate: Mapping[str, object], **fields: object) -> bytes:
        whole = {"candidates": [candidate], "modelVersion": self._model, "responseId": self._stem, **fields}
        return sse(whole).replace(b"\n", b"\r\n")

    def begin(self, bill: DemoUsage) -> Frames:
        """Yield nothing: the stream starts with the first part."""
        return iter(())

    def piece(self, piece: Piece) -> Frames:
        """Yield parts of one kind; a call has the signature of the thinking before it."""
        match piece:
            case Think(text):
                self._signature = encrypted(text)
                yield from (self._part({"text": part, "thought": True}) for part in deltas(text))
            case Say(text):
                yield from (self._part({"text": part}) for part in deltas(text))
            case Call(name, arguments):
                signed = {"thoughtSignature": self._signature} if self._signature else {}
                self._signature = None
                yield self._part({"functionCall": {"name": name, "args": loads(arguments)}, **signed})
            case Break("overloaded"):
                error = {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}
                yield sse({"error": error}).replace(b"\n", b"\r\n")

    def end(self, bill: DemoUsage, *, calls: bool) -> Frames:
        """Yield finish reason and usage; an unused signature of the thinking is sent on an empty part."""
        usage = {
            "promptTokenCount": bill.input,
            "candidatesTokenCount": bill.answer,
            "thoughtsTokenCount": bill.thinking,
            "totalTokenCount": bill.input + bill.answer + bill.thinking,
        }
        signed = {"thoughtSignature": self._signature} if self._signature else {}
        content = {"role": "model", "parts": [{"text": "", **signed}]}
        yield self._chunk({"content": content, "index": 0, "finishReason": "STOP"}, usageMetadata=usage)
