"""The engine's thread: calls from other threads, and calls that are taken back."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import gc
import inspect
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.patience import PATIENCE_S
from tui.engine.thread import EngineThread


@pytest.fixture
def engine() -> Iterator[EngineThread]:
    thread = EngineThread()
    thread.start()
    yield thread
    assert thread.stop()


async def nothing() -> None:
    pass


def test_a_call_that_is_taken_back_before_it_begins_leaves_nothing_behind(engine: EngineThread) -> None:
    busy, go_on = threading.Event(), threading.Event()

    async def block() -> None:
        busy.set()
        assert go_on.wait(PATIENCE_S)

    blocking = engine.call(block())
    assert busy.wait(PATIENCE_S)
    work = nothing()
    assert engine.call(work).cancel()
    go_on.set()
    blocking.result(PATIENCE_S)
    engine.call(nothing()).result(PATIENCE_S)
    assert inspect.getcoroutinestate(work) == inspect.CORO_CLOSED


async def the_loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


def test_a_signal_may_call_while_another_call_is_handed_over(
    engine: EngineThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = engine.call(the_loop()).result(PATIENCE_S)
    hand_over = loop.call_soon_threadsafe
    is_first = iter([True])
    called_by_signal: list[concurrent.futures.Future[None]] = []

    def handle(*_: object) -> None:
        called_by_signal.append(engine.call(nothing()))

    def interrupted(*arguments: Any) -> asyncio.Handle:
        if next(is_first, False):
            signal.raise_signal(signal.SIGINT)
        return hand_over(*arguments)

    before = signal.signal(signal.SIGINT, handle)
    try:
        # Called in this thread only: the engine's own loop uses ``call_soon``.
        monkeypatch.setattr(loop, "call_soon_threadsafe", interrupted)
        called = engine.call(nothing())
        monkeypatch.undo()
    finally:
        signal.signal(signal.SIGINT, before)
    for call in (called, *called_by_signal):
        call.result(PATIENCE_S)
    assert len(called_by_signal) == 1


def test_a_call_that_is_taken_back_while_it_waits_is_cancelled(engine: EngineThread) -> None:
    waits, ended = threading.Event(), threading.Event()

    async def wait() -> None:
        waits.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    future = engine.call(wait())
    assert waits.wait(PATIENCE_S)
    assert future.cancel()
    assert ended.wait(PATIENCE_S)


@pytest.mark.long
def test_every_call_until_the_end_is_run_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    lost: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", lambda told: lost.append(told.exc_value))
    monkeypatch.setattr("tui.engine.thread.STOP_WITHIN_S", PATIENCE_S)

    def call_until_refused(thread: EngineThread, calling: threading.Event) -> None:
        with contextlib.suppress(RuntimeError):
            while True:
                thread.call(nothing())
                calling.set()

    for _ in range(60):
        thread, calling = EngineThread(), threading.Event()
        thread.start()
        caller = threading.Thread(target=call_until_refused, args=(thread, calling))
        caller.start()
        assert calling.wait(PATIENCE_S)
        assert thread.stop()
        caller.join()
    gc.collect()
    assert lost == []
