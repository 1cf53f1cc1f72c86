"""Real time."""

from __future__ import annotations

import asyncio
import time


class SystemClock:
    """Implements the engine's ``Clock``."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that only go forward."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)
