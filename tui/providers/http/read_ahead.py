"""Reads a body in a background task and returns all bytes received so far at once.

The HTTP library returns one piece per HTTP chunk, and providers send one chunk per word. Waiting, deadlines and
decoding cost the same for one piece as for hundreds, so pieces are joined. A deadline can also end a wait without
cancelling a task of the caller.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable

from tui.providers.http.connection import transport_errors
from tui.providers.http.deadlines import Deadlines, Waiting

MOST_AHEAD = 256 * 1024
"""Bytes held for a busy caller; reading pauses above this."""


class ReadAhead:
    """Reads one body. Call ``take`` until it returns None, then ``aclose``, from one task at a time."""

    def __init__(self, stream: AsyncIterable[bytes], deadlines: Deadlines) -> None:
        self._stream = stream
        self._deadlines = deadlines
        self._loop = asyncio.get_running_loop()
        self._pieces: list[bytes] = []
        self._size = 0
        self._waiting: Waiting | None = None
        self._taken = asyncio.Event()
        self._reading: asyncio.Task[Exception | None] | None = None

    async def take(self) -> bytes | None:
        """Return all bytes received, waiting for at least one; None at the end. Raises what the HTTP library raised."""
        if self._reading is None:
            # No TaskGroup: it may not stay open across the yields of a generator. It is not needed: the task's
            # exception is raised below, and aclose() ends the task.
            self._reading = self._loop.create_task(self._read())
            self._reading.add_done_callback(self._wake)
        while not self._pieces:
            if self._reading.done():
                fault = self._reading.result()
                if fault is not None:
                    raise fault
                return None
            await self._wait_for_bytes()
        taken = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self._size = 0
        self._taken.set()
        return taken

    async def aclose(self) -> None:
        """Stop reading; afterwards the stream can be closed."""
        self._deadlines.rest()
        if self._reading is not None and not self._reading.done():
            self._reading.cancel()
            await asyncio.wait((self._reading,))

    async def _wait_for_bytes(self) -> None:
        self._waiting = waiting = self._loop.create_future()
        self._deadlines.watch(waiting)
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
