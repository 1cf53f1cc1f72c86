"""Runs the engine in its own thread and event loop, so that a blocked terminal never blocks a stream."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Coroutine
from typing import TypeVar

T = TypeVar("T")

STOP_WITHIN_S = 2.0
CLOSE_WITHIN_S = 1.5
"""Seconds the running tasks get to end in order; then they are abandoned."""


class EngineThread:
    """Runs coroutines in a second thread."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._work: set[asyncio.Task[object]] = set()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    def start(self) -> None:
        """Start the thread; returns when it accepts calls."""
        self._thread.start()
        self._ready.wait()

    def call(self, work: Coroutine[object, object, T]) -> concurrent.futures.Future[T]:
        """Run a coroutine there. Its result or exception is in the future; cancelling the future cancels it."""
        if self._loop is None or self._loop.is_closed() or (self._stopping is not None and self._stopping.is_set()):
            work.close()
            raise RuntimeError("the engine is not running")
        return asyncio.run_coroutine_threadsafe(self._known(work), self._loop)

    def stop(self) -> bool:
        """Cancel everything and stop; False if a task did not end within two seconds."""
        if self._loop is None or self._stopping is None:
            return True
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(STOP_WITHIN_S)
        return not self._thread.is_alive()

    def _run(self) -> None:
        with asyncio.Runner() as runner:
            runner.run(self._wait())

    async def _wait(self) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        self._ready.set()
        await self._stopping.wait()
        # Only the called coroutines are cancelled, not their tasks: a session needs those to end in order.
        for task in self._work:
            task.cancel()
        if self._work:
            await asyncio.wait(set(self._work), timeout=CLOSE_WITHIN_S)

    async def _known(self, work: Coroutine[object, object, T]) -> T:
        task = asyncio.current_task()
        if task is None:
            raise AssertionError("a coroutine runs in a task")
        self._work.add(task)
        try:
            return await work
        finally:
            self._work.discard(task)
