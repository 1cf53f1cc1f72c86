"""Ways to read one response. Each runs alone in a process and says what it saw, so that nobody wins by not looking."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

CHUNK = 64 * 1024
PATHS = {
    "anthropic": "/v1/messages",
    "openai-responses": "/v1/responses",
    "openai-chat": "/v1/chat/completions",
    "openrouter": "/openrouter/v1/chat/completions",
    "gemini": "/v1beta/models/gemini-4-argon:streamGenerateContent",
    "ollama": "/api/chat",
}
ENDS = {
    "anthropic": "/v1/messages",
    "openai-responses": "/responses",
    "openai-chat": "/chat/completions",
    "gemini": "/models/gemini-4-argon:streamGenerateContent",
    "ollama": "/api/chat",
}
"""What the wire itself puts behind the base URL."""
DIALECT_OF = {"openrouter": "openai-chat"}
"""Streams that are another's wire."""


@dataclass
class Seen:
    """Characters of each kind; -1 where a contender is a limit that looks at nothing."""

    thinking: int = 0
    text: int = 0
    args: int = 0


NOTHING = Seen(-1, -1, -1)
FromMemory = Callable[[bytes, str], Seen]
Read = Callable[[], Awaitable[Seen]]
FromNetwork = Callable[[str, str], Read]
HELLO = [{"role": "user", "content": "hi"}]


# from memory


def bare(body: bytes, wire: str) -> Seen:
    """The limit: cut the bytes at event ends, parse each event's JSON, look at nothing."""
    import orjson

    loads = orjson.loads
    end = {"gemini": b"\r\n\r\n", "ollama": b"\n"}.get(wire, b"\n\n")
    rest = b""
    for start in range(0, len(body), CHUNK):
        *events, rest = (rest + body[start : start + CHUNK]).split(end)
        for event in events:
            at = event.find(b"{")
            if at >= 0:
                loads(event[at:])
    return NOTHING


def _reader(wire: str):
    from tui.catalog.facts import Quirks
    from tui.wires.framing.body import BodyReader
    from tui.wires.wire import wire_named

    named = wire_named(DIALECT_OF.get(wire, wire))
    return BodyReader(named, named.decoder(Quirks()))


def _looker() -> tuple[Seen, Callable[[Iterable[object]], None]]:
    from tui.domain.stream import TextDelta, ThinkingDelta, ToolArgsDelta

    seen = Seen()

    def look(events: Iterable[object]) -> None:
        for event in events:
            if isinstance(event, ThinkingDelta):
                seen.thinking += len(event.text)
            elif isinstance(event, TextDelta):
                seen.text += len(event.text)
            elif isinstance(event, ToolArgsDelta):
                seen.args += len(event.text)

    return seen, look


def ours_from_memory(body: bytes, wire: str) -> Seen:
    """Bytes to typed events, each looked at."""
    reader = _reader(wire)
    seen, look = _looker()
    for start in range(0, len(body), CHUNK):
        look(reader.feed(body[start : start + CHUNK]))
    look(reader.finish())
    return seen


# over a loopback connection: what is made before the clock starts, and what then reads one answer


def httpx_raw(url: str, wire: str) -> Read:
    """The limit with httpx: take the bytes, look at nothing."""
    import httpx

    client = httpx.AsyncClient(timeout=60)

    async def read() -> Seen:
        async with client.stream("POST", url + PATHS[wire], json={}) as answer:
            async for _ in answer.aiter_raw():
                pass
        return NOTHING

    return read


def ours(url: str, wire: str) -> Read:
    """Our reader on the same bytes, taken as the transport takes them, each event looked at."""
    import httpx

    client = httpx.AsyncClient(timeout=60)

    async def read() -> Seen:
        reader = _reader(wire)
        seen, look = _looker()
        async with client.stream("POST", url + PATHS[wire], json={}) as answer:
            assert isinstance(answer.stream, httpx.AsyncByteStream)
            async for chunk in answer.stream:
                look(reader.feed(chunk))
        look(reader.finish())
        return seen

    return read


def whole_program(url: str, wire: str) -> Read:
    """The same through the way out the program takes: its transport with all deadlines, its backend."""
    from pathlib import Path

    from tui.catalog.catalog import packaged_catalog
    from tui.catalog.facts import Target
    from tui.catalog.plan import plan
    from tui.domain.blocks import TextBlock
    from tui.domain.messages import Origin, Role, WireName
    from tui.domain.request import ChatRequest, Outgoing, OutgoingMessage
    from tui.domain.thinking import ThinkingLevel
    from tui.providers.backend import open_backend
    from tui.providers.keys import Keys

    named = DIALECT_OF.get(wire, wire)
    base = url + PATHS[wire].removesuffix(ENDS[named])
    row = {"wire": named, "base_url": base, "auth": "none", "key_optional": True}
    catalog = packaged_catalog().with_overrides({"providers": {"bench": row}})
    provider, facts = catalog.provider("bench"), catalog.find("bench", "bench")
    origin = Origin(provider="bench", wire=WireName(named), host="127.0.0.1", model="bench")
    target = Target(provider=provider, facts=facts, origin=origin)
    backend = open_backend(Keys(Path("no-such-file"), environ={}, use_keyring=False), plain_http=["127.0.0.1"])
    hello = OutgoingMessage(role=Role.USER, blocks=(TextBlock(text="hi"),))
    made = plan(target.facts, target.provider, ThinkingLevel.MED)
    request = ChatRequest(model="bench", outgoing=Outgoing(messages=(hello,)), plan=made, max_output=9)

    async def read() -> Seen:
        seen, look = _looker()
        async for batch in backend.stream(target, request):
            look(batch)
        return seen

    return read


def httpx_sse(url: str, wire: str) -> Read:
    """The usual hand-made client: httpx-sse and the standard JSON; looks at nothing but parses everything."""
    import httpx
    import httpx_sse as sse  # type: ignore[import-not-found]  # not a dependency

    client = httpx.AsyncClient(timeout=60)

    async def read() -> Seen:
        async with sse.aconnect_sse(client, "POST", url + PATHS[wire], json={}) as source:
            async for event in source.aiter_sse():
                if event.data.startswith("{"):
                    json.loads(event.data)
        return NOTHING

    return read


def sdk(url: str, wire: str) -> Read:
    """The vendor's own client, its cheapest way of streaming."""
    makers = {
        "anthropic": _anthropic,
        "openai-responses": _openai_responses,
        "openai-chat": _openai_chat,
        "openrouter": _openrouter,
        "gemini": _google,
    }
    return makers[wire](url)


def _anthropic(url: str) -> Read:
    from anthropic import AsyncAnthropic  # type: ignore[import-not-found]  # not a dependency

    client = AsyncAnthropic(api_key="x", base_url=url)

    async def read() -> Seen:
        seen = Seen()
        async for event in await client.messages.create(
            model="claude-opus-5-5", max_tokens=64000, messages=HELLO, stream=True
        ):
            if event.type == "content_block_delta":
                delta = event.delta
                if delta.type == "thinking_delta":
                    seen.thinking += len(delta.thinking)
                elif delta.type == "text_delta":
                    seen.text += len(delta.text)
                elif delta.type == "input_json_delta":
                    seen.args += len(delta.partial_json)
        return seen

    return read


def _openai_responses(url: str) -> Read:
    from openai import AsyncOpenAI  # type: ignore[import-not-found]  # not a dependency

    client = AsyncOpenAI(api_key="x", base_url=url + "/v1")

    async def read() -> Seen:
        seen = Seen()
        async for event in await client.responses.create(model="gpt-6-sol", input="hi", stream=True):
            if event.type == "response.reasoning_summary_text.delta":
                seen.thinking += len(event.delta)
            elif event.type == "response.output_text.delta":
                seen.text += len(event.delta)
            elif event.type == "response.function_call_arguments.delta":
                seen.args += len(event.delta)
        return seen

    return read


def _openai_chat(url: str) -> Read:
    from openai import AsyncOpenAI

    client = AsyncOpenAI(api_key="x", base_url=url + "/v1")

    async def read() -> Seen:
        seen = Seen()
        async for chunk in await client.chat.completions.create(model="deepseek-flash", messages=HELLO, stream=True):
            for choice in chunk.choices:
                delta = choice.delta
                seen.thinking += len(
                    getattr(delta, "reasoning_content", None) or getattr(delta, "reasoning", None) or ""
                )
                seen.text += len(delta.content or "")
                for call in delta.tool_calls or ():
                    seen.args += len((call.function and call.function.arguments) or "")
        return seen

    return read


def _openrouter(url: str) -> Read:
    return _openai_chat(f"{url}/openrouter")


def _google(url: str) -> Read:
    from google import genai  # not a dependency
    from google.genai import types  # not a dependency

    client = genai.Client(api_key="x", http_options=types.HttpOptions(base_url=url))

    async def read() -> Seen:
        seen = Seen()
        async for chunk in await client.aio.models.generate_content_stream(model="gemini-4-argon", contents="hi"):
            for part in chunk.candidates[0].content.parts or ():
                if part.thought:
                    seen.thinking += len(part.text or "")
                else:
                    seen.text += len(part.text or "")
        return seen

    return read


FROM_MEMORY: dict[str, FromMemory] = {"bare": bare, "ours": ours_from_memory}
FROM_NETWORK: dict[str, FromNetwork] = {
    "net-raw": httpx_raw,
    "net-ours": ours,
    "net-backend": whole_program,
    "net-httpx-sse": httpx_sse,
    "net-sdk": sdk,
}
NEEDS_VENDORS = frozenset({"net-httpx-sse", "net-sdk"})
IMPOSSIBLE = frozenset({("net-httpx-sse", "ollama"), ("net-sdk", "ollama")})
