"""Where a session's events get their numbers: state, number and bus move together, so attaching misses nothing."""

from __future__ import annotations

import threading

from tui.bus.bus import Bus, Subscription
from tui.bus.fold import fold
from tui.domain.events import AppEvent, Stamped
from tui.engine.state import SessionState, SessionView


class Channel:
    """One session's way out. Any thread may attach; the engine's thread publishes."""

    def __init__(self, start: SessionView) -> None:
        self._session = start.session
        self._seq = start.seq
        self._state = SessionState(start)
        self._bus: Bus[Stamped] = Bus(fold)
        self._lock = threading.Lock()

    def publish(self, event: AppEvent) -> None:
        """Tell everybody."""
        with self._lock:
            self._seq += 1
            self._state.apply(event)
            self._bus.publish(Stamped(self._session, self._seq, event))

    def attach(self) -> tuple[SessionView, Subscription[Stamped]]:
        """How it stands, and everything after that."""
        with self._lock:
            return self._state.view(self._seq), self._bus.subscribe()

    def view(self) -> SessionView:
        """How it stands."""
        with self._lock:
            return self._state.view(self._seq)
