"""Watches one request from beside it: tells of silence, notices that the computer slept, ends what never ends."""

from __future__ import annotations

from collections.abc import Callable

from tui.domain.errors import ErrorKind, ProviderError
from tui.engine.ports import Clock
from tui.engine.retry import RESUMED

STALL_SHOWN_AFTER_S = 15.0
SLEPT_AFTER_S = 30.0
"""Wall time that passed without monotonic time: the computer slept, and the connection with it."""
TICK_S = 1.0


class Watch:
    """One request's clock."""

    def __init__(self, clock: Clock, limit_s: float, stalled: Callable[[float], None]) -> None:
        self._clock = clock
        self._limit_s = limit_s
        self._stalled = stalled
        self._started = self._heard = clock.monotonic()

    def heard(self) -> None:
        """Something came."""
        self._heard = self._clock.monotonic()

    async def run(self) -> None:
        """Tick until cancelled; raises ProviderError when the request must end."""
        wall, steady = self._clock.now(), self._clock.monotonic()
        while True:
            await self._clock.sleep(TICK_S)
            now_wall, now_steady = self._clock.now(), self._clock.monotonic()
            slept_s = (now_wall - wall) - (now_steady - steady)
            wall, steady = now_wall, now_steady
            if slept_s > SLEPT_AFTER_S:
                raise ProviderError(
                    ErrorKind.NETWORK,
                    f"The computer slept for {slept_s:.0f} s; the connection is gone.",
                    code=RESUMED,
                )
            if self._limit_s and now_steady - self._started > self._limit_s:
                raise ProviderError(
                    ErrorKind.TIMEOUT,
                    f"The answer was not finished after {self._limit_s / 60:.0f} minutes.",
                    retryable=False,
                )
            silent_s = float(round(now_steady - self._heard))
            if silent_s >= STALL_SHOWN_AFTER_S:
                self._stalled(silent_s)
