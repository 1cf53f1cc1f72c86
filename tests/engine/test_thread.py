"""The engine's thread: calls from other threads, and calls that are taken back."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import inspect
import threading
from collections.abc import Iterator

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
