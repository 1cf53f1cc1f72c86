"""Fetches the model lists of the providers and of models.dev and caches them. The program works without them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from tui import __version__
from tui.catalog.facts import ProviderFacts
from tui.domain.errors import ConfigError, ErrorKind, PonderError, ProviderError
from tui.providers.http.address import checked_url
from tui.providers.http.deadlines import RequestLimits
from tui.providers.http.request import HttpRequest, http_request, other_header, with_version
from tui.providers.key_wait import in_thread
from tui.providers.keys import FoundKey, Keys
from tui.providers.model_lists import MODELS_DEV, ListCache, ModelList, Rows, models_dev_rows, rows_from
from tui.providers.server_details import with_details
from tui.wires.errors.classify import refusal_of
from tui.wires.json_text import loads, text
from tui.wires.wire import EncodedRequest, ErrorResponse

if TYPE_CHECKING:
    from tui.providers.http.transport import Transport

LARGEST_LIST = 16 * 1024 * 1024
MOST_PAGES = 20
_PATHS = {
    "anthropic": "/v1/models?limit=1000",
    "openai": "/models",
    "openrouter": "/models",
    "gemini": "/models?pageSize=1000",
    "ollama": "/api/tags",
}
_LIMITS = RequestLimits(header_s=20.0, private_header_s=5.0, idle_s=20.0, total_s=60.0, stream_bytes=LARGEST_LIST)


class Discovery:
    """Fetches and caches the providers' own model lists."""

    def __init__(
        self, keys: Keys, make_transport: Callable[[], Transport], cache: ListCache, now: Callable[[], float]
    ) -> None:
        self._keys = keys
        self._make_transport = make_transport
        self._cache = cache
        self._now = now

    def cached(self, provider: ProviderFacts) -> ModelList | None:
        """Return the cached list of any age. Reads a file: call it in a thread."""
        return self._cache.read(provider.id)

    async def ask(self, provider: ProviderFacts) -> ModelList:
        """Fetch and cache a provider's list; raises ProviderError if it has none or does not answer."""
        if provider.discovery is None:
            raise ProviderError(ErrorKind.NOT_FOUND, f"{provider.title} has no model list to request.")
        transport = self._make_transport()
        try:
            provider = self._keys.with_variables(provider)
            key = await in_thread(self._keys.require, provider)
            rows = await self._rows_or_versioned(transport, provider, key)
        except ProviderError as error:
            self._keys.redactor.clean_error(error)
            raise
        except ConfigError as error:
            raise ProviderError(ErrorKind.NO_KEY, error.message, advice=error.advice) from None
        finally:
            await transport.aclose()
        listing = ModelList(source=provider.id, at=self._now(), rows={provider.id: rows})
        await asyncio.to_thread(self._cache.save, listing)
        return listing

    async def try_key(self, provider: ProviderFacts) -> tuple[int, bool]:
        """Return how many models the key lists, and whether the list requires a key. Raises ProviderError."""
        transport = self._make_transport()
        try:
            provider = self._keys.with_variables(provider)
            rows = await self._rows_or_versioned(
                transport, provider, await asyncio.to_thread(self._keys.find, provider)
            )
            try:
                await self._rows_or_versioned(transport, provider, None)
            except ProviderError:
                return len(rows), True
            return len(rows), False
        except ProviderError as error:
            self._keys.redactor.clean_error(error)
            raise
        finally:
            await transport.aclose()

    async def ask_all(self, providers: Iterable[ProviderFacts]) -> dict[str, ModelList | PonderError]:
        """Fetch many lists at once; returns a list or an error per provider id."""

        async def one(provider: ProviderFacts) -> ModelList | PonderError:
            try:
                return await self.ask(provider)
            except ProviderError as error:
                return error

        asked = [provider for provider in providers if provider.discovery is not None]
        answers = await asyncio.gather(*(one(provider) for provider in asked))
        return {provider.id: answer for provider, answer in zip(asked, answers, strict=True)}

    async def _rows_or_versioned(self, transport: Transport, provider: ProviderFacts, key: FoundKey | None) -> Rows:
        """Return the rows; if the address is not found, try the other likely addresses and headers."""
        asked = [provider, *_elsewhere(provider)]
        status = None
        while asked:
            candidate = asked.pop(0)
            try:
                return await self._rows(transport, candidate, key)
            except ProviderError as error:
                other = (
                    other_header(candidate)
                    if error.kind is ErrorKind.AUTH and candidate.auth is provider.auth
                    else None
                )
                if other is not None:
                    asked.insert(0, other)
                elif error.status not in (404, 405):
                    raise
                status = error.status
        sentence = f"{provider.title} has no model list at the expected address."
        raise ProviderError(ErrorKind.NOT_FOUND, sentence, status=status)

    async def _rows(self, transport: Transport, provider: ProviderFacts, key: FoundKey | None) -> Rows:
        kind = provider.discovery or "openai"
        path = provider.paths.get("models", _PATHS[kind])
        rows: Rows = {}
        mark = ""
        for _ in range(MOST_PAGES):
            body = await self._get(transport, provider, key, path + mark)
            rows |= rows_from(kind, body)
            mark = _next_page(kind, body)
            if not mark:
                break
        address = checked_url(provider.base_url)
        if kind == "ollama" or provider.local or address.private:
            top = urlunsplit((*urlsplit(address.url)[:2], "", "", ""))
            asked = provider if kind == "ollama" else replace(provider, base_url=top)

            async def get(path: str, body: Mapping[str, object] | None) -> object:
                return await self._get(transport, asked, key, path, body)

            rows = await with_details(kind, rows, get, sends_window=provider.quirks.send_num_ctx)
        return rows

    async def _get(
        self,
        transport: Transport,
        provider: ProviderFacts,
        key: FoundKey | None,
        path: str,
        body: Mapping[str, object] | None = None,
    ) -> object:
        plain = replace(provider, paths={})
        request = http_request(plain, EncodedRequest(path=path, body=body or {}, method="POST" if body else "GET"), key)
        if body is None:
            request = HttpRequest(url=request.url, headers=_versioned(request.headers, provider), method="GET")
        async with transport.open(request, limits=_LIMITS) as answer:
            content = await answer.read_all(LARGEST_LIST)
            if not 200 <= answer.status < 300:
                raise refusal_of(ErrorResponse(status=answer.status, headers=answer.headers, body=content))
        return loads(content)


def _elsewhere(provider: ProviderFacts) -> Iterator[ProviderFacts]:
    """Yield other addresses of the list: with a version, and, for gateways with several wires, OpenAI's path."""
    versioned = with_version(provider)
    if versioned is not None:
        yield versioned
    if provider.discovery != "openai" and provider.resells and "models" not in provider.paths:
        bare = re.sub(r"/v\d\w*$", "", provider.base_url.rstrip("/"))
        yield replace(provider, base_url=f"{bare}/v1", discovery="openai")


def _versioned(headers: object, provider: ProviderFacts) -> dict[str, str]:
    given = dict(headers) if isinstance(headers, dict) else {}
    if provider.discovery == "anthropic":
        given.setdefault("anthropic-version", provider.quirks.version)
    return given


def _next_page(kind: str, body: object) -> str:
    """Return the query to append for the next page, or "" after the last page."""
    if kind == "gemini" and (token := text(body, "nextPageToken")) and token.isalnum():
        return f"&pageToken={token}"
    if kind == "anthropic" and isinstance(body, dict) and body.get("has_more") is True:
        last = text(body, "last_id")
        return f"&after_id={last}" if last and last.replace("-", "").isalnum() else ""
    return ""


MODELS_DEV_URL = "https://models.dev/api.json"
LARGEST_MODELS_DEV = 32 * 1024 * 1024
_MODELS_DEV_LIMITS = RequestLimits(header_s=20.0, idle_s=20.0, total_s=120.0, stream_bytes=LARGEST_MODELS_DEV)


async def refresh_models_dev(
    transport: Transport,
    cache: ListCache,
    providers: frozenset[str],
    now: Callable[[], float],
    *,
    url: str = MODELS_DEV_URL,
) -> ModelList:
    """Fetch and cache the models.dev catalogue for these providers; raises ProviderError if that fails."""
    request = HttpRequest(url=url, headers={"user-agent": f"ponder/{__version__}"}, method="GET")
    async with transport.open(request, limits=_MODELS_DEV_LIMITS) as answer:
        content = await answer.read_all(LARGEST_MODELS_DEV)
        if answer.status != 200:
            raise ProviderError(ErrorKind.SERVER, f"models.dev answered with HTTP status {answer.status}.")
    rows = models_dev_rows(await asyncio.to_thread(loads, content), providers)
    if not rows:
        raise ProviderError(ErrorKind.NOT_A_STREAM, "models.dev sent no catalogue; the old one is kept.")
    listing = ModelList(source=MODELS_DEV, at=now(), rows=rows)
    await asyncio.to_thread(cache.save, listing)
    return listing
