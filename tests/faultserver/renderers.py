"""Semantic steps as bytes, per wire. The streams have to be right here, so that only the scripted fault is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from tui.providers.demo.responses import (
    AnthropicEncoder,
    Break,
    Call,
    ChatEncoder,
    DemoUsage,
    Encoder,
    GeminiEncoder,
    Piece,
    ResponsesEncoder,
    Say,
    Think,
    deltas,
    sse,
)

BILL = DemoUsage(input=100, thinking=20, answer=30)


class OpenRouterEncoder(ChatEncoder):
    def begin(self, bill: DemoUsage) -> Iterator[bytes]:
        yield b": OPENROUTER PROCESSING\n\n"
        yield from super().begin(bill)

    def piece(self, piece: Piece) -> Iterator[bytes]:
        if isinstance(piece, Think):
            for part in deltas(piece.text):
                detail = {"type": "reasoning.text", "text": part, "index": 0, "format": "unknown"}
                yield self._delta({"content": "", "reasoning": part, "reasoning_details": [detail]})
        elif isinstance(piece, Break):
            error = {"code": 502, "message": "Overloaded"}
            choice = {"index": 0, "delta": {"content": ""}, "finish_reason": "error"}
            yield sse({**self._base, "error": error, "choices": [choice]})
        else:
            yield from super().piece(piece)


class OllamaSpeaker:
    def __init__(self, model: str, stem: str) -> None:
        self._model = model

    def _line(self, message: dict[str, object], **more: object) -> bytes:
        whole = {"model": self._model, "message": {"role": "assistant", **message}, "done": False, **more}
        return json.dumps(whole).encode() + b"\n"

    def begin(self, bill: DemoUsage) -> Iterator[bytes]:
        return iter(())

    def piece(self, piece: Piece) -> Iterator[bytes]:
        match piece:
            case Think(text):
                yield from (self._line({"content": "", "thinking": part}) for part in deltas(text))
            case Say(text):
                yield from (self._line({"content": part}) for part in deltas(text))
            case Call(name, arguments):
                call = {"function": {"name": name, "arguments": json.loads(arguments)}}
                yield self._line({"content": "", "tool_calls": [call]})
            case Break():
                yield b'{"error":"the server is overloaded, please try again"}\n'

    def end(self, bill: DemoUsage, *, calls: bool) -> Iterator[bytes]:
        counts = {"prompt_eval_count": bill.input, "eval_count": bill.answer + bill.thinking}
        yield self._line({"content": ""}, **{"done": True, "done_reason": "stop", **counts})


class GeminiArrayEncoder(GeminiEncoder):
    """Without ``alt=sse``: one JSON array, pretty-printed, element by element."""

    def __init__(self, model: str, stem: str) -> None:
        super().__init__(model, stem)
        self._before = b"["

    def _pretty(self, frames: Iterator[bytes]) -> Iterator[bytes]:
        for frame in frames:
            value = json.loads(frame.strip().removeprefix(b"data: "))
            yield self._before + json.dumps(value, indent=2).encode()
            self._before = b"\r\n,\r\n"

    def piece(self, piece: Piece) -> Iterator[bytes]:
        return self._pretty(super().piece(piece))

    def end(self, bill: DemoUsage, *, calls: bool) -> Iterator[bytes]:
        yield from self._pretty(super().end(bill, calls=calls))
        yield b"]\n"


SPEAKERS: dict[str, tuple[Callable[[str, str], Encoder], str]] = {
    "anthropic": (AnthropicEncoder, "text/event-stream"),
    "openai-responses": (ResponsesEncoder, "text/event-stream"),
    "openai-chat": (ChatEncoder, "text/event-stream"),
    "chat-openrouter": (OpenRouterEncoder, "text/event-stream"),
    "gemini": (GeminiEncoder, "text/event-stream"),
    "gemini-array": (GeminiArrayEncoder, "application/json"),
    "ollama": (OllamaSpeaker, "application/x-ndjson"),
}
PINGS = {"anthropic": b'event: ping\ndata: {"type":"ping"}\n\n', "ollama": b"\n"}
"""What keeps a line warm without saying anything; a comment elsewhere."""
