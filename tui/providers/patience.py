"""How long one answer may take: without a byte, without meaning, in all, and when the machine was asleep meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.value import dataclass

SLEEP_JUMP_S = 30.0
"""Wall clock ahead of the monotonic one by this much: the machine slept, and the connection is dead."""
RESUMED = "resumed"
"""Code of the error for it: worth another try at once."""
LOOK_EVERY_S = 5.0
"""How often the two clocks are compared while nothing comes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long and how much; 0 seconds is no limit."""

    connect_s: float = 10.0
    write_s: float = 30.0
    pool_s: float = 5.0
    header_s: float = 120.0
    private_header_s: float = 600.0
    """On our own network: a local server may load a model first."""
    idle_s: float = 120.0
    """Without a byte."""
    meaning_s: float = 300.0
    """Without an event other than pings."""
    total_s: float = 3600.0
    after_end_s: float = 3.0
    """How long the end of bytes may take after the wire's own end."""
    stream_bytes: int = 64 * 1024 * 1024
    error_bytes: int = 64 * 1024


class Over(Exception):
    """The wire's own end was seen and nothing more came: the answer is complete."""


class Patience:
    """The deadlines of one attempt, from the moment its head has come."""

    def __init__(
        self, limits: Limits, server: str, *, wall: Callable[[], float] = time.time, look_every_s: float = LOOK_EVERY_S
    ) -> None:
        self._limits = limits
        self._server = server
        self._wall = wall
        self._look_every_s = look_every_s
        self._loop = asyncio.get_running_loop()
        self._began = self._meant = self._loop.time()
        self._drift = wall() - self._began
        self._closing_s: float | None = None
        self._slept = False

    def meaning_came(self) -> None:
        """An event came that was no ping."""
        self._meant = self._loop.time()

    def end_came(self, within_s: float) -> None:
        """The wire's own end came: what may follow it is waited for no longer than this."""
        self._closing_s = within_s

    def _nearest(self) -> tuple[float | None, str]:
        limits, now = self._limits, self._loop.time()
        if self._closing_s is not None:
            return now + self._closing_s, "end"
        deadlines = [
            (now + limits.idle_s, "idle") if limits.idle_s else None,
            (self._meant + limits.meaning_s, "meaning") if limits.meaning_s else None,
            (self._began + limits.total_s, "total") if limits.total_s else None,
        ]
        return min((deadline for deadline in deadlines if deadline), default=(None, ""))

    @asynccontextmanager
    async def waiting(self) -> AsyncIterator[None]:
        """Wait inside for the next bytes; the nearest deadline ends it with a ProviderError (or Over)."""
        deadline, why = self._nearest()
        watch = asyncio.timeout_at(deadline)
        self._next_look = self._loop.call_later(self._look_every_s, self._look, watch)
        try:
            async with watch:
                try:
                    yield
                finally:
                    self._next_look.cancel()
        except TimeoutError:
            if not watch.expired():
                raise
            raise self._fault(why) from None

    def _look(self, watch: asyncio.Timeout) -> None:
        if self._wall() - self._loop.time() - self._drift > SLEEP_JUMP_S:
            self._slept = True
            watch.reschedule(self._loop.time())
        elif not watch.expired():
            self._next_look = self._loop.call_later(self._look_every_s, self._look, watch)

    def _fault(self, why: str) -> Exception:
        limits = self._limits
        if self._slept:
            return ProviderError(
                ErrorKind.NETWORK, f"This machine slept: the connection to {self._server} is gone.", code=RESUMED
            )
        if why == "end":
            return Over()
        if why == "total":
            return ProviderError(
                ErrorKind.TIMEOUT, f"{self._server} was not done after {limits.total_s / 60:g} min.", retryable=False
            )
        if why == "meaning":
            return ProviderError(
                ErrorKind.STALLED, f"{self._server} keeps the line open but said nothing for {limits.meaning_s:g} s."
            )
        return ProviderError(ErrorKind.STALLED, f"Nothing came from {self._server} for {limits.idle_s:g} s.")
