"""Reads an answer of very short pieces a few at a time.

A fast model sends 200 words a second and more, each in a packet of its own. To wait for one, to read it and to take it
out of the HTTP framing costs the same for one word as for ten, and the screen is drawn 25 times a second. So when
pieces come in a run of this kind, the socket is left alone for a moment after each reading.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from anyio.abc import ByteStream

BETWEEN_S = 0.02
"""Least time between two readings of a run; half of a frame of the screen."""
RUN = 8
"""Readings that follow each other this closely before there is a run: headers and a handshake are none."""
SHORT = 16 * 1024
"""Bytes; who sends more at a time sends faster than is read so, and is read without a pause."""


class PacedStream(ByteStream):
    """Leaves time between short readings that follow each other closely."""

    def __init__(self, stream: ByteStream) -> None:
        self._inner = stream
        self._clock = asyncio.get_running_loop().time
        self._read_at = 0.0
        self._close_readings = 0

    @property
    def extra_attributes(self) -> Mapping[Any, Callable[[], Any]]:
        """Those of the socket."""
        return self._inner.extra_attributes

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """Return received bytes."""
        if self._close_readings >= RUN:
            wait = self._read_at + BETWEEN_S - self._clock()
            if wait > 0:
                await asyncio.sleep(wait)
        asked_at = self._clock()
        received = await self._inner.receive(max_bytes)
        now = self._clock()
        close = len(received) < SHORT and now - max(asked_at, self._read_at) < BETWEEN_S
        self._close_readings = self._close_readings + 1 if close else 0
        self._read_at = now
        return received

    async def send(self, item: bytes) -> None:
        """Send bytes."""
        await self._inner.send(item)

    async def send_eof(self) -> None:
        """Close the sending side."""
        await self._inner.send_eof()

    async def aclose(self) -> None:
        """Close the connection."""
        await self._inner.aclose()
