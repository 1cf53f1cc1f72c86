"""The real clock, and ids that sort by it; everything else in the engine gets time as an argument."""

from __future__ import annotations

import asyncio
import os
import threading
import time

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


class SystemClock:
    """The machine's time."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that only go forward. Stands still while the computer sleeps, on Linux and macOS."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


class Ulids:
    """Makes ids of 26 characters: milliseconds, then chance; each is greater than the one before."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def __call__(self) -> str:
        """The next id."""
        with self._lock:
            fresh = int(time.time() * 1000) << 80 | int.from_bytes(os.urandom(10))
            self._last = max(fresh, self._last + 1)
            return _spelled(self._last)


def _spelled(number: int) -> str:
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))
