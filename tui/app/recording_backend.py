"""A backend that records the last exchange of each session for the inspector: request, events and duration."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import field, replace
from typing import TYPE_CHECKING

from tui.catalog.catalog import effective_quirks
from tui.catalog.facts import AuthStyle, Target
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.fast_dataclass import dataclass
from tui.domain.request import ChatRequest
from tui.domain.stream import ImageData, StreamEvent, TextDelta, ThinkingDelta, ToolArgsDelta
from tui.providers.http.deadlines import RequestLimits

if TYPE_CHECKING:
    from tui.providers.backend import ProviderBackend
    from tui.providers.keys import Keys

MOST_EVENTS = 2_000
"""Events recorded of one answer; the earliest are dropped first."""
LONGEST = 400
"""Characters kept of one event: as many as the inspector shows of one."""
FEW = 64
"""Events in a batch of which any may be long: a batch comes from one read of the socket."""


@dataclass(slots=True)
class RecordedExchange:
    """One recorded request and its events."""

    target: Target
    request: ChatRequest
    began: float
    seconds: float | None = None
    _batches: deque[tuple[float, Sequence[StreamEvent]]] = field(default_factory=deque)
    _kept: int = 0

    @property
    def events(self) -> list[tuple[float, StreamEvent]]:
        """The latest events, each with seconds since the start."""
        kept = [(after, event) for after, batch in list(self._batches) for event in batch]
        return kept[-MOST_EVENTS:]

    def record(self, batch: Sequence[StreamEvent]) -> None:
        """Record a batch. Not all events of a large batch are inspected: this runs for every batch."""
        if len(batch) <= FEW or _shortened(batch[0]) is not batch[0] or _shortened(batch[-1]) is not batch[-1]:
            batch = tuple(map(_shortened, batch))
        self._batches.append((time.monotonic() - self.began, batch))
        self._kept += len(batch)
        while self._kept - len(self._batches[0][1]) >= MOST_EVENTS:
            self._kept -= len(self._batches.popleft()[1])


def _shortened(event: StreamEvent) -> StreamEvent:
    match event:
        case TextDelta(text=text) | ThinkingDelta(text=text) | ToolArgsDelta(text=text) if len(text) > LONGEST:
            return replace(event, text=text[:LONGEST])
        case ImageData(data=str(data)) if len(data) > LONGEST:
            return replace(event, data=data[:LONGEST])
        case _:
            return event


class RecordingBackend:
    """Implements ``Backend``: forwards to the real one and records the last exchange of each session."""

    def __init__(self, open_backend: Callable[[], ProviderBackend], limits: Callable[[], RequestLimits]) -> None:
        """``open_backend`` is called with the first request, so that wires and transport load late.

        ``limits`` returns the current ``network`` limits; a request uses those in force when it starts.
        """
        self._open_backend = open_backend
        self._limits = limits
        self._opened: ProviderBackend | None = None
        self._last: dict[str, RecordedExchange] = {}
        """By session; "" has requests that belong to none, such as summaries."""
        self.choices: Callable[[Target, ProviderError], str] | None = None
        """Returns the advice for a missing or refused key; called in a thread."""

    def get_ready(self, target: Target) -> None:
        """Load the modules a request to this target needs."""
        self._backend.get_ready(target)

    @property
    def _backend(self) -> ProviderBackend:
        """The real backend; used on the engine thread only."""
        if self._opened is None:
            self._opened = self._open_backend()
        self._opened.limits = self._limits()
        return self._opened

    async def stream(self, target: Target, request: ChatRequest) -> AsyncGenerator[Sequence[StreamEvent], None]:
        """Forward the stream and record it."""
        exchange = self._last[request.cache_key or ""] = RecordedExchange(target, request, time.monotonic())
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

    def last_of(self, session: str) -> RecordedExchange | None:
        """The last exchange of a session; None if there was none."""
        found = [self._last[name] for name in (session, "") if name in self._last]
        return max(found, key=lambda exchange: exchange.began, default=None)

    def forget(self, session: str) -> None:
        """Drop what was recorded of a session that was closed."""
        self._last.pop(session, None)

    async def count(self, target: Target, request: ChatRequest) -> int | None:
        return await self._backend.count(target, request)

    async def end_thinking(self, target: Target, request: ChatRequest, response_id: str) -> bool:
        return await self._backend.end_thinking(target, request, response_id)

    async def aclose(self) -> None:
        if self._opened is not None:
            await self._opened.aclose()


def on_the_wire(target: Target, request: ChatRequest, keys: Keys | None = None) -> Mapping[str, object]:
    """A request as it is sent, with key and other secrets masked; without ``keys`` as a key would be sent."""
    from tui.providers.http.request import http_request, public_headers
    from tui.providers.redacted_request import shown_request
    from tui.wires.wire import wire_named

    encoded = wire_named(target.facts.wire).encode(request, effective_quirks(target.provider, target.facts))
    provider = replace(target.provider, base_url=target.provider.base_url_for(target.facts.wire))
    sent = http_request(provider, encoded, None)
    if keys is not None and provider.cloud is not None and not keys.has_key(provider):
        provider = replace(provider, auth=AuthStyle.BEARER)  # a login
    return shown_request(
        provider,
        method=sent.method,
        url=sent.url,
        headers=public_headers(provider, encoded),
        body=encoded.body,
        redactor=None if keys is None else keys.redactor,
    )
