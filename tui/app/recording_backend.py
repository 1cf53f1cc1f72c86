"""A backend that remembers the last exchange, for the inspector: what was asked, what came, how long it took."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import field, replace
from typing import TYPE_CHECKING

from tui.catalog.catalog import effective_quirks
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.fast_dataclass import dataclass
from tui.domain.request import ChatRequest
from tui.domain.stream import StreamEvent
from tui.engine.ports import Target
from tui.providers.http.deadlines import Limits

if TYPE_CHECKING:
    from tui.providers.backend import ProviderBackend
    from tui.providers.redaction import Redactor

MOST_EVENTS = 2_000
"""Events remembered of one answer; the earliest go first."""


@dataclass(slots=True)
class RecordedExchange:
    """One exchange as it was exchange."""

    target: Target
    request: ChatRequest
    began: float
    seconds: float | None = None
    _batches: deque[tuple[float, Sequence[StreamEvent]]] = field(default_factory=deque)
    _kept: int = 0

    @property
    def events(self) -> list[tuple[float, StreamEvent]]:
        """The latest events, each with the seconds after which it came."""
        kept = [(after, event) for after, batch in list(self._batches) for event in batch]
        return kept[-MOST_EVENTS:]

    def record(self, batch: Sequence[StreamEvent]) -> None:
        """Remember a batch as it is: its events are only looked at when somebody asks."""
        self._batches.append((time.monotonic() - self.began, batch))
        self._kept += len(batch)
        while self._kept - len(self._batches[0][1]) >= MOST_EVENTS:
            self._kept -= len(self._batches.popleft()[1])


class RecordingBackend:
    """Implements the engine's ``Backend`` over the real one."""

    def __init__(self, open_backend: Callable[[], ProviderBackend], limits: Callable[[], Limits]) -> None:
        """``open_backend`` makes the real one with the first request: wires and transport need not be loaded before.

        ``limits`` gives the settings of ``network`` at the moment; every request obeys those of its own start.
        """
        self._open_backend = open_backend
        self._limits = limits
        self._opened: ProviderBackend | None = None
        self.last: RecordedExchange | None = None
        self.choices: Callable[[Target, ProviderError], str] | None = None
        """What to advise where a key is missing or refused; called in a thread."""

    def get_ready(self, target: Target) -> None:
        """Load what a request there needs, while something else has to be waited for anyway."""
        self._backend.get_ready(target)

    @property
    def _backend(self) -> ProviderBackend:
        """The real one, of the engine's thread."""
        if self._opened is None:
            self._opened = self._open_backend()
        self._opened.limits = self._limits()
        return self._opened

    async def stream(self, target: Target, request: ChatRequest) -> AsyncGenerator[Sequence[StreamEvent], None]:
        """Pass everything on, and remember it."""
        exchange = self.last = RecordedExchange(target, request, time.monotonic())
        try:
            async with aclosing(self._backend.stream(target, request)) as batches:
                async for batch in batches:
                    exchange.record(batch)
                    yield batch
        except ProviderError as error:
            if self.choices is not None and error.kind in (ErrorKind.NO_KEY, ErrorKind.AUTH):
                error.advice = await asyncio.to_thread(self.choices, target, error)
            raise
        finally:
            exchange.seconds = time.monotonic() - exchange.began

    async def count(self, target: Target, request: ChatRequest) -> int | None:
        """The provider's own count."""
        return await self._backend.count(target, request)

    async def aclose(self) -> None:
        """Close connections."""
        if self._opened is not None:
            await self._opened.aclose()


def on_the_wire(target: Target, request: ChatRequest, redactor: Redactor | None = None) -> Mapping[str, object]:
    """A request as it goes on the wire, its key and what else is secret in it masked."""
    from tui.providers.http.request import http_request, public_headers
    from tui.providers.redacted_request import shown_request
    from tui.wires.registry import wire_named

    encoded = wire_named(target.facts.wire).encode(request, effective_quirks(target.provider, target.facts))
    provider = replace(target.provider, base_url=target.provider.base_url_for(target.facts.wire))
    sent = http_request(provider, encoded, None)
    return shown_request(
        provider,
        method=sent.method,
        url=sent.url,
        headers=public_headers(provider, encoded),
        body=encoded.body,
        redactor=redactor,
    )
