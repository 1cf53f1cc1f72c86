"""A server in Anthropic's format with a real prompt cache, which charges for what it read, wrote and answered."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from genai_prices.data import providers as their_providers

from tests.faultserver.listener import Listener
from tests.wires.prompt_cache import CacheUsage, CachingServer
from tui.providers.demo.responses import sign

MODEL = "claude-opus-5"
MILLION = 1_000_000


@dataclass(frozen=True)
class Charge:
    """One answered request and its price."""

    body: dict[str, Any]
    usage: CacheUsage
    output: int
    dollars: float

    @property
    def input(self) -> int:
        return self.usage.read + self.usage.written + self.usage.new


def prices() -> dict[str, float]:
    """Dollars per million tokens of the model."""
    anthropic = next(provider for provider in their_providers if provider.id == "anthropic")
    model = anthropic.find_model(MODEL)
    assert model is not None
    found = model.prices
    assert not isinstance(found, list)
    names = ("input_mtok", "cache_read_mtok", "cache_write_mtok", "cache_write_1h_mtok", "output_mtok")
    return {name: float(getattr(found, name)) for name in names}


@dataclass
class BillingServer(Listener):
    """Answers with as many calls as its script says: one number per request, 0 for an answer without calls."""

    script: Sequence[int]
    refuses: str = ""
    """The parameter that is answered with an error that names it."""
    cache: CachingServer = field(default_factory=CachingServer)
    charges: list[Charge] = field(default_factory=list)
    refused: int = 0
    _prices: dict[str, float] = field(default_factory=prices)

    @property
    def dollars(self) -> float:
        """What all requests cost."""
        return sum(charge.dollars for charge in self.charges)

    @property
    def hit_rate(self) -> float:
        """The share of the tokens of each previous request that was read from the cache."""
        cacheable = sum(charge.input for charge in self.charges[:-1])
        return sum(charge.usage.read for charge in self.charges[1:]) / cacheable

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                length = head.partition("content-length:")[2].partition("\r\n")[0].strip()
                body = await reader.readexactly(int(length or 0))
                writer.write(self._reply(head.split(" ")[1], body))
                await writer.drain()

    def _reply(self, path: str, body: bytes) -> bytes:
        if path.partition("?")[0] != "/v1/messages":
            return _response("404 Not Found", "application/json", b"{}")
        asked = json.loads(body)
        if self.refuses and self.refuses.encode() in body:
            self.refused += 1
            message = f"{self.refuses}: Extra inputs are not permitted"
            error = {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
            return _response("400 Bad Request", "application/json", json.dumps(error).encode())
        calls = self.script[min(len(self.charges), len(self.script) - 1)]
        stream = b"".join(self._events(asked, calls))
        return _response("200 OK", "text/event-stream", stream)

    def _events(self, body: dict[str, Any], calls: int) -> Iterator[bytes]:
        usage, number = self.cache.answer(body), len(self.charges)
        self.cache.now += 20
        output = 40 + 60 * calls
        self._charge(body, usage, output)
        written = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0}
        written[f"ephemeral_{usage.ttl}_input_tokens"] = usage.written
        counted = {
            "input_tokens": usage.new,
            "cache_read_input_tokens": usage.read,
            "cache_creation_input_tokens": usage.written,
            "cache_creation": written,
            "output_tokens": 1,
        }
        message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": body["model"], "content": []}
        yield _event("message_start", message={**message, "stop_reason": None, "usage": counted})
        thought = f"Thought {number}."
        blocks: list[tuple[dict[str, object], dict[str, str]]] = [
            ({"type": "thinking", "thinking": "", "signature": ""}, {"type": "thinking_delta", "thinking": thought}),
            ({"type": "text", "text": ""}, {"type": "text_delta", "text": f"Answer {number}. " * 20}),
        ]
        for call in range(calls):
            start: dict[str, object] = {
                "type": "tool_use",
                "id": f"toolu_{number}_{call}",
                "name": "read_file",
                "input": {},
            }
            arguments = json.dumps({"path": f"notes{call % 3}.md", "offset": call + 1, "limit": 40})
            blocks.append((start, {"type": "input_json_delta", "partial_json": arguments}))
        for index, (beginning, delta) in enumerate(blocks):
            yield _event("content_block_start", index=index, content_block=beginning)
            yield _event("content_block_delta", index=index, delta=delta)
            if index == 0:
                signature = {"type": "signature_delta", "signature": sign(thought)}
                yield _event("content_block_delta", index=index, delta=signature)
            yield _event("content_block_stop", index=index)
        reason = "tool_use" if calls else "end_turn"
        end = {"stop_reason": reason, "stop_sequence": None}
        yield _event("message_delta", delta=end, usage={"output_tokens": output})
        yield _event("message_stop")

    def _charge(self, body: dict[str, Any], usage: CacheUsage, output: int) -> None:
        rates = self._prices
        write = rates["cache_write_1h_mtok" if usage.ttl == "1h" else "cache_write_mtok"]
        dollars = usage.new * rates["input_mtok"] + usage.read * rates["cache_read_mtok"]
        dollars += usage.written * write + output * rates["output_mtok"]
        self.charges.append(Charge(body, usage, output, dollars / MILLION))


def _event(kind: str, **fields: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def _response(status: str, kind: str, body: bytes) -> bytes:
    return f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body
