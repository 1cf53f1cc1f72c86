"""The event bus. Publishing never blocks and no event is lost; slow subscribers get merged events.

One lock orders all events, so every subscriber sees the same order. ``publish`` may be called from any thread,
``drain`` and ``batches`` only from the subscriber's thread.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import Generic, TypeVar

from tui.domain.events import Stamped, Streamed
from tui.domain.stream import StreamEvent, TextDelta, ThinkingDelta, ToolArgsDelta

E = TypeVar("E")

Merge = Callable[[list[E]], list[E]]
"""Returns a shorter list of events with the same content. Must not modify the events."""
Size = Callable[[E], int]
"""The size of an event in characters of text."""


def _nothing(event: E) -> int:
    return 0


class Subscription(Generic[E]):
    """The mailbox of one subscriber."""

    def __init__(
        self, lock: threading.Lock, merge: Merge[E], size: Size[E], leave: Callable[[Subscription[E]], None]
    ) -> None:
        self._lock = lock
        self._merge = merge
        self._size = size
        self._leave = leave
        self._mailbox: list[E] = []
        self.waiting = 0
        """Total size of the events in the mailbox."""
        self.taken_count = 0
        """Number of ``drain`` calls. It stops growing if the subscriber hangs."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._arrived: asyncio.Event | None = None
        self._woken = False
        self._closed = False

    def drain(self, at_most: int | None = None) -> list[E]:
        """Take all events since the last call, merged. With a limit, take events until their size reaches it."""
        with self._lock:
            self.taken_count += 1
            if at_most is None or self.waiting <= at_most:
                taken, self._mailbox = self._mailbox, []
                self.waiting = 0
                self._woken = False
            else:
                taken = self._take_some(at_most)
        return self._merge(taken) if len(taken) > 1 else taken

    def _take_some(self, at_most: int) -> list[E]:
        taken_size = count = 0
        for event in self._mailbox:
            if taken_size >= at_most:
                break
            taken_size += self._size(event)
            count += 1
        taken = self._mailbox[:count]
        del self._mailbox[:count]
        self.waiting -= taken_size
        self._woken = bool(self._mailbox)
        if self._woken:
            self._wake()
        return taken

    async def batches(
        self,
        interval_s: float,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        *,
        at_most: int | None = None,
    ) -> AsyncIterator[list[E]]:
        """Yield the first event after an idle period at once, then one batch per interval, until closed.

        ``at_most`` limits the size of a batch, for subscribers that must not work long on one batch.
        """
        arrived = asyncio.Event()
        with self._lock:
            self._loop, self._arrived = asyncio.get_running_loop(), arrived
            self._woken = bool(self._mailbox) or self._closed
            if self._woken:
                arrived.set()
        while True:
            await arrived.wait()
            arrived.clear()
            if batch := self.drain(at_most):
                yield batch
            if self._closed and not self._mailbox:
                return
            if interval_s > 0:
                await pause(interval_s)

    def close(self) -> None:
        """Stop receiving events. Events in the mailbox can still be drained."""
        self._leave(self)
        with self._lock:
            self._closed = True
            self._wake()

    def post(self, events: Sequence[E], size: int) -> None:
        """Add events to the mailbox. The bus calls this while it holds the lock."""
        self._mailbox.extend(events)
        self.waiting += size
        if not self._woken:
            self._wake()

    def _wake(self) -> None:
        if self._loop is None or self._arrived is None:
            return
        self._woken = True
        try:
            self._loop.call_soon_threadsafe(self._arrived.set)
        except RuntimeError:  # the subscriber's loop ended before the subscription was closed
            self._loop = self._arrived = None


class Bus(Generic[E]):
    """Delivers every event to every subscriber."""

    def __init__(self, merge: Merge[E], size: Size[E] = _nothing) -> None:
        self._merge = merge
        self._size = size
        self._lock = threading.Lock()
        self._subscriptions: tuple[Subscription[E], ...] = ()

    def publish(self, *events: E) -> None:
        """Deliver events to all subscribers. Does not block."""
        size = sum(map(self._size, events))
        with self._lock:
            for subscription in self._subscriptions:
                subscription.post(events, size)

    def subscriptions(self) -> tuple[Subscription[E], ...]:
        """Return the current subscriptions."""
        return self._subscriptions

    def subscribe(self) -> Subscription[E]:
        """Return a mailbox that receives all events published from now on."""
        subscription: Subscription[E] = Subscription(self._lock, self._merge, self._size, self._remove)
        with self._lock:
            self._subscriptions = (*self._subscriptions, subscription)
        return subscription

    def _remove(self, gone: Subscription[E]) -> None:
        with self._lock:
            self._subscriptions = tuple(kept for kept in self._subscriptions if kept is not gone)


Delta = TextDelta | ThinkingDelta | ToolArgsDelta
DELTAS = (TextDelta, ThinkingDelta, ToolArgsDelta)

LONG = 16 * 1024
"""Characters from which a delta is not merged with its neighbours. Merging would copy the text, and a subscriber
that keeps the delta would hold a second copy."""

_Run = tuple[str, str, int, int, type[Delta], int]
"""What merged deltas have in common: session, turn, round, attempt, kind, block."""


def text_size(stamped: Stamped) -> int:
    """Return the characters of text in a streamed delta; 0 for every other event."""
    event = stamped.event
    if isinstance(event, Streamed) and isinstance(event.event, DELTAS):
        return len(event.event.text)
    return 0


def merge(events: list[Stamped]) -> list[Stamped]:
    """Merge neighbouring deltas of one block. A merged event has the sequence number of its last delta."""
    merged: list[Stamped] = []
    parts: list[str] = []
    size = 0
    run: _Run | None = None
    last: Stamped | None = None

    def close() -> None:
        if run is None or last is None:
            return
        if len(parts) == 1:
            merged.append(last)
            return
        session, turn_id, round_, attempt, kind, index = run
        merged.append(Stamped(session, last.seq, Streamed(turn_id, round_, attempt, kind(index, "".join(parts)))))

    for stamped in events:
        event = stamped.event
        if not isinstance(event, Streamed) or not isinstance(event.event, DELTAS):
            close()
            run, last = None, None
            merged.append(stamped)
            continue
        delta = event.event
        found = (stamped.session, event.turn_id, event.round, event.attempt, type(delta), delta.index)
        if found != run or size >= LONG or len(delta.text) >= LONG:
            close()
            run, parts, size = found, [], 0
        parts.append(delta.text)
        size += len(delta.text)
        last = stamped
    close()
    return merged


def merge_stream(events: Iterable[StreamEvent]) -> list[StreamEvent]:
    """Merge neighbouring deltas like ``merge``, for the events of one attempt."""
    merged: list[StreamEvent] = []
    parts: list[str] = []
    size = 0
    last: Delta | None = None

    def close() -> None:
        if last is not None:
            merged.append(last if len(parts) == 1 else type(last)(last.index, "".join(parts)))

    for event in events:
        if not isinstance(event, DELTAS):
            close()
            last = None
            merged.append(event)
            continue
        if (
            last is None
            or type(event) is not type(last)
            or event.index != last.index
            or size >= LONG
            or len(event.text) >= LONG
        ):
            close()
            parts, size = [], 0
        parts.append(event.text)
        size += len(event.text)
        last = event
    close()
    return merged
