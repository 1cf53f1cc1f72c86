"""Writes to the journal in order. What cannot be written is kept and tried again while the conversation goes on.

A worker of its own does the writing, so a cancelled turn never tears a write in half and a slow disk never
holds up a stream.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from tui.domain.errors import StoreError
from tui.domain.events import AppEvent, SaveFailed, SaveRecovered
from tui.engine.ports import Clock, Journal

RETRY_EVERY_S = 5.0
HOLD_EVERY_S = 30.0
"""How often the store is told that the session is still open; after four times this it counts as abandoned."""

Writing = Callable[[Journal], Awaitable[None]]


@dataclass(slots=True, eq=False)
class _Write:
    """One thing to be written; a newer one of the same ``replaces`` key takes its place while it waits."""

    writing: Writing
    replaces: str | None
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    """Written, or known not to be for now."""


class Saver:
    """The one way into the journal."""

    def __init__(self, journal: Journal, clock: Clock, publish: Callable[[AppEvent], None]) -> None:
        self._journal = journal
        self._clock = clock
        self._publish = publish
        self._waiting: deque[_Write] = deque()
        self._work = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()
        self._failing: str | None = None

    async def save(self, writing: Writing) -> None:
        """Returns when it is written, or when it is known that it cannot be for now."""
        write = self._post(writing, None)
        if self._failing is None:
            await write.settled.wait()

    def save_soon(self, writing: Writing, *, replaces: str) -> asyncio.Event:
        """Does not wait; of several with one key only the newest need be written. The event is set when it is."""
        return self._post(writing, replaces).settled

    async def run(self) -> None:
        """Write what comes, for ever."""
        try:
            while True:
                await self._work.wait()
                self._work.clear()
                while self._waiting:
                    if not await self._write_first():
                        await self._clock.sleep(RETRY_EVERY_S)
        finally:
            # Nobody may wait for a writer that is gone.
            self._failing = self._failing or "stopped"
            for write in self._waiting:
                write.settled.set()

    async def hold(self, session: str) -> None:
        """Keep others from taking the session for abandoned, for ever."""
        while True:
            await self._clock.sleep(HOLD_EVERY_S)
            self.save_soon(lambda journal: journal.still_open(session), replaces="still open")

    async def finish(self) -> None:
        """Wait until all is written; where writing fails, try once more and leave it."""
        if self._failing is not None:
            while self._waiting and await self._write_first():
                pass
        while self._waiting and self._failing is None:
            await self._waiting[-1].settled.wait()
            await asyncio.sleep(0)

    def _post(self, writing: Writing, replaces: str | None) -> _Write:
        write = _Write(writing, replaces)
        if replaces is not None:
            # The first in line may be half written already: it stays.
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
                self._tell_failure(error)
                return False
            self._waiting.popleft()
            write.settled.set()
            if self._failing is not None and not self._waiting:
                self._failing = None
                self._publish(SaveRecovered())
            return True

    def _tell_failure(self, error: StoreError) -> None:
        if self._failing != error.message:
            self._failing = error.message
            self._publish(SaveFailed(error.message))
        for waiting in self._waiting:
            waiting.settled.set()
