"""Reads a body as fast as it comes and hands over all that is there at once.

The HTTP stack gives one piece for each HTTP chunk, and providers send one chunk for each word. Waiting, deadlines and
decoding cost the same for one piece as for hundreds, so they are paid per read of the network, not per piece. It also
lets a deadline end the wait by itself: no task of the caller's is ever cancelled from here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable

from tui.providers.http.connection import transport_errors
from tui.providers.http.deadlines import Deadlines, Waiting

MOST_AHEAD = 256 * 1024
"""Bytes held for a caller that is busy elsewhere; the server is not read from beyond that."""


class ReadAhead:
    """One body. ``take`` until None, then ``aclose``; both from one task at a time."""

    def __init__(self, stream: AsyncIterable[bytes], patience: Deadlines) -> None:
        self._stream = stream
        self._patience = patience
        self._loop = asyncio.get_running_loop()
        self._pieces: list[bytes] = []
        self._size = 0
        self._waiting: Waiting | None = None
        self._taken = asyncio.Event()
        self._reading: asyncio.Task[Exception | None] | None = None

    async def take(self) -> bytes | None:
        """All that has come; waits while that is nothing. None is the end. Raises what the HTTP stack raised."""
        if self._reading is None:
            # No TaskGroup: it may not stay open across the yields of a generator. Nothing is lost without one:
            # what the task ends with is raised below, and aclose() ends the task.
            self._reading = self._loop.create_task(self._read())
            self._reading.add_done_callback(self._wake)
        while not self._pieces:
            if self._reading.done():
                fault = self._reading.result()
                if fault is not None:
                    raise fault
                return None
            await self._something()
        taken = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self._size = 0
        self._taken.set()
        return taken

    async def aclose(self) -> None:
        """Stop reading; the stream is at rest afterwards and may be closed."""
        self._patience.rest()
        if self._reading is not None and not self._reading.done():
            self._reading.cancel()
            await asyncio.wait((self._reading,))

    async def _something(self) -> None:
        self._waiting = waiting = self._loop.create_future()
        self._patience.watch(waiting)
        overdue = await waiting
        if overdue is not None:
            raise overdue

    async def _read(self) -> Exception | None:
        add = self._pieces.append
        try:
            async for piece in self._stream:
                add(piece)
                self._size += len(piece)
                if self._waiting is not None:
                    self._wake()
                if self._size > MOST_AHEAD:
                    self._taken.clear()
                    await self._taken.wait()
        except transport_errors() as fault:
            return fault
        return None

    def _wake(self, _: object = None) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not waiting.done():
            waiting.set_result(None)
