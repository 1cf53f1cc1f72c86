"""Waiting for a key, which a program or a cloud may take long to give, and giving up."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.catalog.facts import ProviderFacts
    from tui.providers.keys import FoundKey


class KeyWait:
    """A request that waits in a thread for its key. Giving up ends what it waits for, if nobody else does."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._end: Callable[[], object] | None = None
        self.given_up = False

    @contextmanager
    def ended_by(self, end: Callable[[], object]) -> Iterator[None]:
        """Call ``end`` when the request gives up; at once if it did already."""
        with self._lock:
            self._end = end
            given_up = self.given_up
        try:
            if given_up:
                end()
            yield
        finally:
            with self._lock:
                self._end = None

    def give_up(self) -> None:
        """End what the thread waits for. Does not block."""
        with self._lock:
            self.given_up = True
            if self._end is not None:
                self._end()


async def in_thread(
    ask: Callable[[ProviderFacts, KeyWait], FoundKey | None], provider: ProviderFacts
) -> FoundKey | None:
    """Ask for a key in a thread; cancelling ends the program that gives it."""
    waiting = KeyWait()
    try:
        return await asyncio.to_thread(ask, provider, waiting)
    except asyncio.CancelledError:
        waiting.give_up()
        raise
