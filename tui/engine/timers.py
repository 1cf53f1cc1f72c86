"""Timers of one request: silence, suspended computers, requests that never end, and the wait before a retry.

Also measures how long thinking took, once for the screen and for the store.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.format_numbers import count
from tui.domain.stream import (
    BlockFinished,
    BlockStarted,
    ModelLoading,
    ResponseFinished,
    ResponseStarted,
    StreamEvent,
    TextDelta,
    ThinkingBreak,
    ThinkingDelta,
    ToolArgsDelta,
)
from tui.engine.ports import Clock
from tui.engine.retry import RESUMED

STALL_SHOWN_AFTER_S = 15.0
SLEPT_AFTER_S = 30.0
"""Wall time that passed without monotonic time: the computer was suspended and the connection is lost."""
TICK_S = 1.0


class RequestTimer:
    """The timer of one request."""

    def __init__(self, clock: Clock, limit_s: float) -> None:
        self._clock = clock
        self._limit_s = limit_s
        self._started = self._heard = clock.monotonic()

    def received(self) -> None:
        """Record that something arrived."""
        self._heard = self._clock.monotonic()

    async def run(self, on_tick: Callable[[], None], stalled: Callable[[float], None]) -> None:
        """Tick until cancelled, and report silence; raises ProviderError if the request must end."""
        wall, steady = self._clock.now(), self._clock.monotonic()
        while True:
            await self._clock.sleep(TICK_S)
            on_tick()
            now_wall, now_steady = self._clock.now(), self._clock.monotonic()
            slept_s = (now_wall - wall) - (now_steady - steady)
            wall, steady = now_wall, now_steady
            if slept_s > SLEPT_AFTER_S:
                raise ProviderError(
                    ErrorKind.NETWORK,
                    f"The computer was suspended for {slept_s:.0f} s; the connection is lost.",
                    code=RESUMED,
                )
            if self._limit_s and now_steady - self._started > self._limit_s:
                raise ProviderError(
                    ErrorKind.TIMEOUT,
                    f"The answer was not finished after {count(round(self._limit_s / 60), 'minute')}.",
                    retryable=False,
                )
            silent_s = float(round(now_steady - self._heard))
            if silent_s >= STALL_SHOWN_AFTER_S:
                stalled(silent_s)


_ANSWERS = (BlockStarted, ThinkingDelta, TextDelta, ToolArgsDelta)


class ThinkingTimer:
    """Measures each block of thinking. The first begins with the request, as a model thinks before it sends anything.

    The same events at the same times give the same numbers.
    """

    def __init__(self, started: float) -> None:
        self.first_token_s: float | None = None
        """Seconds from the request to the first part of the answer."""
        self._asked = self._started = started
        self._since: dict[int, float] = {}
        self._took: dict[int, float] = {}
        self._running: int | None = None
        self._anything = False

    def take(self, event: StreamEvent, now: float) -> None:
        """Process an event."""
        if self.first_token_s is None and isinstance(event, _ANSWERS):
            self.first_token_s = now - self._asked
        match event:
            case ResponseStarted(restarted=True):
                self._forget()
            case BlockStarted(index, "thinking") | ThinkingDelta(index) | ThinkingBreak(index):
                self._begin(index, now)
            case BlockStarted() | TextDelta() | ToolArgsDelta():
                self._end(now)
                self._anything = True
            case BlockFinished(index) if index == self._running:
                self._end(now)
            case ResponseFinished():
                self._end(now)
            case ModelLoading():
                self._started = now
            case _:
                pass

    def of(self, index: int, now: float) -> float | None:
        """Seconds of one block so far, by its number in the stream; None if it is no thinking block."""
        since = self._since.get(index)
        return None if since is None else self._took.get(index, now - since)

    def all(self, now: float) -> list[float]:
        """Seconds of every block, in the order they began."""
        return [self._took.get(index, now - since) for index, since in self._since.items()]

    def _forget(self) -> None:
        """Reset: the server started the answer again."""
        self._since.clear()
        self._took.clear()
        self._running, self._anything = None, False

    def _begin(self, index: int, now: float) -> None:
        if index in self._since:
            return
        self._end(now)
        self._since[index] = now if self._anything else self._started
        self._running = index
        self._anything = True

    def _end(self, now: float) -> None:
        running, self._running = self._running, None
        if running is not None:
            self._took[running] = now - self._since[running]


class RetryWait:
    """The wait before a retry: it can be skipped, and a long one needs the user's consent."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._skipped = asyncio.Event()
        self._spoken = asyncio.Event()
        self._agreed = False
        self.is_waiting = False

    def skip(self) -> None:
        """Continue now."""
        self._agreed = True
        self._skipped.set()
        self._spoken.set()

    def answer(self, *, agree: bool) -> None:
        """The user's answer about a long wait."""
        self._agreed = agree
        self._spoken.set()

    async def wait(self, seconds: float, *, needs_consent: bool) -> bool:
        """Wait; False if the user does not consent."""
        self.is_waiting = True
        try:
            return await self._wait(seconds, needs_consent=needs_consent)
        finally:
            self.is_waiting = False

    async def _wait(self, seconds: float, *, needs_consent: bool) -> bool:
        self._skipped.clear()
        self._spoken.clear()
        self._agreed = False
        until = self._clock.monotonic() + seconds
        if needs_consent:
            await self._spoken.wait()
            if not self._agreed:
                return False
        left = until - self._clock.monotonic()
        if left > 0 and not self._skipped.is_set():
            await self._sleep(left)
        return True

    async def _sleep(self, seconds: float) -> None:
        async with asyncio.TaskGroup() as tasks:
            sleeping = tasks.create_task(self._clock.sleep(seconds))
            skipping = tasks.create_task(self._skipped.wait())
            await asyncio.wait({sleeping, skipping}, return_when=asyncio.FIRST_COMPLETED)
            sleeping.cancel()
            skipping.cancel()
