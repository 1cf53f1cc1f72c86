"""Writes to the journal in order. A failed write is kept and retried while the conversation continues.

A separate task writes, so that a cancelled turn never leaves half a write and a slow disk never blocks a stream.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from tui.domain.errors import StoreError
from tui.domain.events import AppEvent, SaveFailed, SaveRecovered
from tui.engine.ports import Clock, Journal

RETRY_EVERY_S = 5.0
HOLD_EVERY_S = 30.0
"""Interval of the heartbeat to the store; after four missed ones the session counts as abandoned."""

Writing = Callable[[Journal], Awaitable[None]]


class _Write:
    """One pending write; a newer one with the same ``replaces`` key takes its place."""

    def __init__(self, writing: Writing, replaces: str | None) -> None:
        self.writing = writing
        self.replaces = replaces
        self.settled = asyncio.Event()
        """Set when it is written or has failed for now."""


class Saver:
    """Writes everything that goes to the journal."""

    def __init__(self, journal: Journal, clock: Clock, publish: Callable[[AppEvent], None]) -> None:
        self._journal = journal
        self._clock = clock
        self._publish = publish
        self._waiting: deque[_Write] = deque()
        self._work = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()
        self._failing: str | None = None

    async def save(self, writing: Writing) -> None:
        """Write and wait; returns when it is written or has failed for now."""
        write = self._post(writing, None)
        if self._failing is None:
            await write.settled.wait()

    def save_soon(self, writing: Writing, *, replaces: str) -> asyncio.Event:
        """Queue a write without waiting; it replaces a waiting one of its key. The event is set when it is written."""
        return self._post(writing, replaces).settled

    async def run(self) -> None:
        """Write queued entries until cancelled."""
        try:
            while True:
                await self._work.wait()
                self._work.clear()
                while self._waiting:
                    if not await self._write_first():
                        await self._clock.sleep(RETRY_EVERY_S)
        finally:
            # The writer has ended: whatever waits for it must not wait for ever.
            self._failing = self._failing or "stopped"
            for write in self._waiting:
                write.settled.set()

    async def keep_lease(self, session: str) -> None:
        """Send the heartbeat until cancelled, so that no other window takes the session for abandoned."""
        while True:
            await self._clock.sleep(HOLD_EVERY_S)
            self.save_soon(lambda journal: journal.still_open(session), replaces="still open")

    async def finish(self) -> None:
        """Wait until everything is written; after a failure, try once more and stop."""
        if self._failing is not None:
            while self._waiting and await self._write_first():
                pass
        while self._waiting and self._failing is None:
            await self._waiting[-1].settled.wait()
            await asyncio.sleep(0)

    def _post(self, writing: Writing, replaces: str | None) -> _Write:
        write = _Write(writing, replaces)
        if replaces is not None:
            # The first entry may be half written already, so it stays.
            kept = [w for i, w in enumerate(self._waiting) if i == 0 or w.replaces != replaces]
            self._waiting = deque(kept)
        self._waiting.append(write)
        self._work.set()
        return write

    async def _write_first(self) -> bool:
        async with self._one_at_a_time:
            if not self._waiting:
                return True
            write = self._waiting[0]
            try:
                await write.writing(self._journal)
            except StoreError as error:
                self._report_failure(error)
                return False
            self._waiting.popleft()
            write.settled.set()
            if self._failing is not None and not self._waiting:
                self._failing = None
                self._publish(SaveRecovered())
            return True

    def _report_failure(self, error: StoreError) -> None:
        if self._failing != error.message:
            self._failing = error.message
            self._publish(SaveFailed(error.message))
        for waiting in self._waiting:
            waiting.settled.set()
