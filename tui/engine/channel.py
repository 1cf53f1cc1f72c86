"""Where a session's events get their numbers: state, number and bus move together, so attaching misses nothing."""

from __future__ import annotations

import threading
from weakref import WeakKeyDictionary

from tui.bus.bus import Bus, Subscription
from tui.bus.merge import merge, text_size
from tui.domain.events import AppEvent, Notice, Stamped
from tui.engine.ports import Clock
from tui.engine.state import SessionState, SessionView

MOST_WAITING = 64 * 1024
"""Characters of a stream that may wait for a follower before the stream waits for it."""
LOOK_EVERY_S = 0.01
STUCK_AFTER_S = 1.0
"""A follower that takes nothing for this long is not waited for: its terminal is not being read."""


class Channel:
    """One session's way out. Any thread may attach; the engine's thread publishes."""

    def __init__(self, start: SessionView) -> None:
        self._session = start.session
        self._seq = start.seq
        self._state = SessionState(start)
        self._bus: Bus[Stamped] = Bus(merge, text_size)
        self._lock = threading.Lock()
        self._attached = False
        """Somebody follows, or followed: until then notices wait in the snapshot."""
        self._stuck: WeakKeyDictionary[Subscription[Stamped], int] = WeakKeyDictionary()
        """Followers that are not waited for, until they take something again."""

    def publish(self, *events: AppEvent) -> None:
        """Give events to all followers."""
        with self._lock:
            stamped = []
            for event in events:
                self._seq += 1
                self._state.apply(event)
                if isinstance(event, Notice) and not self._attached:
                    self._state.keep_notice(event)
                stamped.append(Stamped(self._session, self._seq, event))
            self._bus.publish(*stamped)

    def attach(self) -> tuple[SessionView, Subscription[Stamped]]:
        """A snapshot, and everything after it."""
        with self._lock:
            self._attached = True
            return self._state.view(self._seq), self._bus.subscribe()

    def view(self) -> SessionView:
        """A snapshot."""
        with self._lock:
            return self._state.view(self._seq)

    async def keep_pace(self, clock: Clock) -> None:
        """Return once no follower is far behind, except those that have stopped taking events.

        A server that sends faster than the screen can draw would otherwise fill the memory, and each frame would
        have more to draw than the one before it.
        """
        seen: dict[Subscription[Stamped], tuple[int, float]] = {}
        while late := self._late():
            now = clock.monotonic()
            for follower in late:
                takings, since = seen.get(follower, (-1, now))
                if follower.takings != takings:
                    seen[follower] = (follower.takings, now)
                elif now - since >= STUCK_AFTER_S:
                    self._stuck[follower] = takings
            await clock.sleep(LOOK_EVERY_S)

    def _late(self) -> list[Subscription[Stamped]]:
        return [
            follower
            for follower in self._bus.subscriptions()
            if follower.waiting > MOST_WAITING and self._stuck.get(follower) != follower.takings
        ]
