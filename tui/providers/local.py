"""Which model servers answer on this machine: asks their usual ports, all at once, and waits no longer than a blink."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from tui.catalog.facts import ProviderFacts
from tui.domain.errors import ProviderError
from tui.providers.address import joined
from tui.providers.listings import rows_from
from tui.wires.json_text import loads

LIMIT_S = 0.3
LARGEST = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalServer:
    """A server that answered like a model server, and what it serves."""

    provider: str
    models: tuple[str, ...]


async def local_servers(providers: Iterable[ProviderFacts], *, limit_s: float = LIMIT_S) -> tuple[LocalServer, ...]:
    """The local ones among these that answer."""
    asked = [provider for provider in providers if provider.local]
    answers = await asyncio.gather(*(_ask(provider, limit_s) for provider in asked))
    return tuple(answer for answer in answers if answer is not None)


async def _ask(provider: ProviderFacts, limit_s: float) -> LocalServer | None:
    kind = "ollama" if provider.discovery == "ollama" else "openai"
    url = urlsplit(joined(provider.base_url, "/api/tags" if kind == "ollama" else "/v1/models"))
    try:
        async with asyncio.timeout(limit_s):
            body = await _get(url.hostname or "localhost", url.port or 80, url.path)
        rows = rows_from(kind, body)
    except (OSError, TimeoutError, ValueError, ProviderError):
        return None
    named = isinstance(body, dict) and isinstance(body.get("data" if kind == "openai" else "models"), list)
    return LocalServer(provider=provider.id, models=tuple(rows)) if named else None


async def _get(host: str, port: int, path: str) -> object:
    """A plain HTTP/1.0 GET: no key goes along, and nothing heavy is imported for it."""
    reader, writer = await asyncio.open_connection(host, port, limit=LARGEST)
    try:
        writer.write(f"GET {path} HTTP/1.0\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode())
        await writer.drain()
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        if b" 200 " not in head.partition(b"\r\n")[0] + b" ":
            raise ValueError("no list")
        return loads(await _body(reader, head))
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        raise ValueError("not HTTP") from None
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def _body(reader: asyncio.StreamReader, head: bytes) -> bytes:
    if found := re.search(rb"\ncontent-length: *(\d{1,9})\r", head):
        return await reader.readexactly(min(int(found[1]), LARGEST))
    body = b""
    while len(body) < LARGEST and (piece := await reader.read(65536)):
        body += piece
    return b"".join(body.split(b"\r\n")[1::2]) if b"\ntransfer-encoding: chunked" in head else body
