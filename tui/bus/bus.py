"""The event bus: publishing never waits and never drops; whoever is late gets merged events instead.

One lock orders everything, so all subscribers see the same order. ``publish`` may be called from any thread;
``drain`` and ``batches`` belong to the subscriber's thread.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Generic, TypeVar

E = TypeVar("E")

Fold = Callable[[list[E]], list[E]]
"""Makes an equal but shorter list of events; must not change the events it is given."""


class Subscription(Generic[E]):
    """One subscriber's mailbox."""

    def __init__(self, lock: threading.Lock, fold: Fold[E], leave: Callable[[Subscription[E]], None]) -> None:
        self._lock = lock
        self._fold = fold
        self._leave = leave
        self._mailbox: list[E] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._arrived: asyncio.Event | None = None
        self._woken = False
        self._closed = False

    def drain(self) -> list[E]:
        """Everything that came since the last time, folded."""
        with self._lock:
            taken, self._mailbox = self._mailbox, []
            self._woken = False
        return self._fold(taken) if len(taken) > 1 else taken

    async def batches(
        self, interval_s: float, pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> AsyncIterator[list[E]]:
        """The first event after idleness at once, then at most one batch per interval; ends when closed."""
        arrived = asyncio.Event()
        with self._lock:
            self._loop, self._arrived = asyncio.get_running_loop(), arrived
            self._woken = bool(self._mailbox) or self._closed
            if self._woken:
                arrived.set()
        while True:
            await arrived.wait()
            arrived.clear()
            if batch := self.drain():
                yield batch
            if self._closed and not self._mailbox:
                return
            if interval_s > 0:
                await pause(interval_s)

    def close(self) -> None:
        """Take no more; what is in the mailbox can still be drained."""
        self._leave(self)
        with self._lock:
            self._closed = True
            self._wake()

    def post(self, event: E) -> None:
        """Put an event into the mailbox. The bus calls this, holding the lock."""
        self._mailbox.append(event)
        if not self._woken:
            self._wake()

    def _wake(self) -> None:
        if self._loop is None or self._arrived is None:
            return
        self._woken = True
        try:
            self._loop.call_soon_threadsafe(self._arrived.set)
        except RuntimeError:  # the subscriber's loop has ended without closing the subscription
            self._loop = self._arrived = None


class Bus(Generic[E]):
    """Hands every event to every subscriber."""

    def __init__(self, fold: Fold[E]) -> None:
        self._fold = fold
        self._lock = threading.Lock()
        self._subscriptions: tuple[Subscription[E], ...] = ()

    def publish(self, event: E) -> None:
        """Give an event to all subscribers; returns at once."""
        with self._lock:
            for subscription in self._subscriptions:
                subscription.post(event)

    def subscribe(self) -> Subscription[E]:
        """A mailbox that gets everything published from now on."""
        subscription: Subscription[E] = Subscription(self._lock, self._fold, self._remove)
        with self._lock:
            self._subscriptions = (*self._subscriptions, subscription)
        return subscription

    def _remove(self, gone: Subscription[E]) -> None:
        with self._lock:
            self._subscriptions = tuple(kept for kept in self._subscriptions if kept is not gone)
