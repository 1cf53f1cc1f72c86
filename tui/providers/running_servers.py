"""Finds running model servers on this machine by asking their usual ports, all at once and with a short timeout."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import field
from urllib.parse import SplitResult, urlsplit

from tui.catalog.facts import ProviderFacts
from tui.domain.errors import ProviderError
from tui.domain.fast_dataclass import dataclass
from tui.providers.http.address import checked_url, join_url
from tui.providers.model_lists import Rows, rows_from
from tui.providers.server_details import Get, with_details
from tui.wires.json_text import dumps, loads

LIMIT_S = 0.3
DETAILS_S = 1.0
"""Timeout for further details of a server that answered."""
LARGEST = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningServer:
    """A running model server and its models."""

    provider: str
    models: tuple[str, ...]
    rows: Rows = field(default_factory=dict)
    """Catalogue rows of its models: context window, thinking, tools, images."""


async def running_servers(providers: Iterable[ProviderFacts], *, limit_s: float = LIMIT_S) -> tuple[RunningServer, ...]:
    """Return the local servers among these providers that answer."""
    asked = [provider for provider in providers if provider.local or _is_own_server(provider)]
    answers = await asyncio.gather(*(_ask(provider, limit_s) for provider in asked))
    return tuple(answer for answer in answers if answer is not None)


def _is_own_server(provider: ProviderFacts) -> bool:
    """Whether the user configured this provider at a loopback address where its list can be read without a key."""
    from tui.catalog.provider_rows import packaged_providers

    if provider.id in packaged_providers() or provider.discovery not in ("openai", "ollama"):
        return False
    try:
        address = checked_url(provider.base_url)
    except ProviderError:
        return False
    return address.loopback and not address.secure


async def _ask(provider: ProviderFacts, limit_s: float) -> RunningServer | None:
    kind = "ollama" if provider.discovery == "ollama" else "openai"
    url = urlsplit(join_url(provider.base_url, "/api/tags" if kind == "ollama" else "/v1/models"))
    try:
        async with asyncio.timeout(limit_s):
            body = await _get(url.hostname or "localhost", url.port or 80, url.path)
        rows = rows_from(kind, body)
    except (OSError, TimeoutError, ValueError, ProviderError):
        return None
    named = isinstance(body, dict) and isinstance(body.get("data" if kind == "openai" else "models"), list)
    if not named:
        return None
    with suppress(OSError, TimeoutError, ValueError, ProviderError):
        async with asyncio.timeout(DETAILS_S):
            rows = await with_details(kind, rows, _getter(url), sends_window=provider.quirks.send_num_ctx)
    return RunningServer(provider=provider.id, models=tuple(rows), rows=rows)


def _getter(url: SplitResult) -> Get:
    async def get(path: str, body: Mapping[str, object] | None) -> object:
        return await _get(url.hostname or "localhost", url.port or 80, path, body)

    return get


async def _get(host: str, port: int, path: str, body: Mapping[str, object] | None = None) -> object:
    """Send a plain HTTP/1.0 GET, or a POST with a body, without a key and without importing the HTTP library."""
    reader, writer = await asyncio.open_connection(host, port, limit=LARGEST)
    data = b"" if body is None else dumps(body).encode()
    method = "GET" if body is None else "POST"
    extra = f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n" if data else ""
    try:
        asking = f"{method} {path} HTTP/1.0\r\nHost: {host}:{port}\r\nConnection: close\r\n{extra}\r\n"
        writer.write(asking.encode() + data)
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
