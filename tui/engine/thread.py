"""Runs the engine in its own thread and event loop, so that a blocked terminal never blocks a stream."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Coroutine
from contextlib import suppress
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
        self._accepts = False
        self._accepting = threading.RLock()
        """Held while a call is handed over, so that none comes between the last one and the end of the loop.

        Reentrant, because the handler of a signal may call while its thread is handing over another call.
        """
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    def start(self) -> None:
        """Start the thread; returns when it accepts calls."""
        self._thread.start()
        self._ready.wait()

    def keep_going_without_threads(self) -> None:
        """Let blocking work wait while the system allows no further threads, instead of failing."""
        from tui.domain.patient_executor import PatientExecutor

        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.set_default_executor, PatientExecutor())

    def call(self, work: Coroutine[object, object, T]) -> concurrent.futures.Future[T]:
        """Run a coroutine there. Its result or exception is in the future; cancelling the future cancels it."""
        future: concurrent.futures.Future[T] = concurrent.futures.Future()
        with self._accepting:
            if self._accepts and self._loop is not None:
                self._loop.call_soon_threadsafe(self._begin, work, future, self._loop)
                return future
        work.close()
        raise RuntimeError("the engine is not running")

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
        self._accepts = True
        self._ready.set()
        await self._stopping.wait()
        with self._accepting:
            self._accepts = False
        await asyncio.sleep(0)  # until the calls handed over before have begun
        # Only the called coroutines are cancelled, not their tasks: a session needs those to end in order.
        for task in self._work:
            task.cancel()
        if self._work:
            await asyncio.wait(set(self._work), timeout=CLOSE_WITHIN_S)

    def _begin(
        self,
        work: Coroutine[object, object, T],
        future: concurrent.futures.Future[T],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        task = loop.create_task(work)
        self._work.add(task)

        def end(_: asyncio.Task[T]) -> None:
            self._work.discard(task)
            if task.cancelled():
                future.cancel()
            error = None if task.cancelled() else task.exception()
            if not future.set_running_or_notify_cancel():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(task.result())

        def take_back(ended: concurrent.futures.Future[T]) -> None:
            if ended.cancelled() and not task.done():
                with suppress(RuntimeError):  # the loop has ended, and the task with it
                    loop.call_soon_threadsafe(task.cancel)

        task.add_done_callback(end)
        future.add_done_callback(take_back)
