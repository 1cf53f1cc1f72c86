"""The models.dev catalogue: fetched only on request and cached like the other lists."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from tui.domain.errors import ErrorKind, ProviderError
from tui.providers.http.deadlines import Limits
from tui.providers.http.request import HttpRequest
from tui.providers.models.list_cache import ListCache, Listing
from tui.providers.models.listings import models_dev_rows
from tui.version import __version__
from tui.wires.json_text import loads

if TYPE_CHECKING:
    from tui.providers.http.transport import Transport

SOURCE = "models.dev"
URL = "https://models.dev/api.json"
LARGEST = 32 * 1024 * 1024
_LIMITS = Limits(header_s=20.0, idle_s=20.0, total_s=120.0, stream_bytes=LARGEST)


def cached(cache: ListCache) -> Listing | None:
    """Return the cached catalogue, or None."""
    return cache.read(SOURCE)


async def refresh(
    transport: Transport, cache: ListCache, providers: frozenset[str], now: Callable[[], float], *, url: str = URL
) -> Listing:
    """Fetch and cache the catalogue for these providers; raises ProviderError if that fails."""
    request = HttpRequest(url=url, headers={"user-agent": f"ponder/{__version__}"}, method="GET")
    async with transport.open(request, limits=_LIMITS) as answer:
        content = await answer.whole(LARGEST)
        if answer.status != 200:
            raise ProviderError(ErrorKind.SERVER, f"models.dev answered with HTTP status {answer.status}.")
    rows = models_dev_rows(await asyncio.to_thread(loads, content), providers)
    if not rows:
        raise ProviderError(ErrorKind.NOT_A_STREAM, "What models.dev sent is no catalogue; the old one is kept.")
    listing = Listing(source=SOURCE, at=now(), rows=rows)
    await asyncio.to_thread(cache.keep, listing)
    return listing
