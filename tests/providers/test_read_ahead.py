"""Reading ahead: what is handed over when, and what ends a wait: bytes, the end, a fault, a deadline, the caller."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import replace

import pytest

from tests.fakes.clock import virtually
from tests.providers.conftest import BRISK
from tui.domain.errors import ErrorKind, ProviderError
from tui.providers.http.deadlines import DeadlineExceeded, Deadlines, RequestLimits
from tui.providers.http.transport import MOST_AHEAD, ReadAhead

UNHURRIED = RequestLimits(idle_s=60, meaning_s=60, total_s=60, after_end_s=60)


class Body:
    """Pieces in groups; the pieces of a group are there at once, each group comes when it is let go."""

    def __init__(self, *groups: list[bytes], fault: Exception | None = None, ends: bool = True) -> None:
        self.groups = groups
        self.fault = fault
        self.ends = ends
        self.given = 0
        self.closed = asyncio.Event()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            for group in self.groups:
                await asyncio.sleep(0)
                for piece in group:
                    self.given += 1
                    yield piece
            if self.fault is not None:
                raise self.fault
            if not self.ends:
                await asyncio.Event().wait()
        finally:
            self.closed.set()


def in_virtual_time(test: Callable[..., Coroutine[object, object, None]]) -> Callable[..., None]:
    """Have a test's loop jump to the next timer instead of waiting for it."""

    @functools.wraps(test)
    def run(*args: object, **named: object) -> None:
        virtually(test(*args, **named))

    del run.__wrapped__  # pytest would see a coroutine function
    run.__signature__ = inspect.signature(test)  # type: ignore[attr-defined]
    return run


def reading(body: Body, limits: RequestLimits = UNHURRIED) -> ReadAhead:
    return ReadAhead(body, Deadlines(limits, "`host`"))


async def others() -> set[str]:
    """Tasks of the loop beside this one, once what was cancelled has had its turn."""
    await asyncio.sleep(0)
    return {task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()}


async def test_pieces_that_came_at_once_are_one_and_the_end_is_none() -> None:
    ahead = reading(Body([b"a", b"b", b"c"], [b"d"]))
    assert [await ahead.take() for _ in range(4)] == [b"abc", b"d", None, None]
    await ahead.aclose()
    assert await others() == set()


async def test_a_fault_comes_after_all_that_came_before_it() -> None:
    ahead = reading(Body([b"a", b"b"], fault=ConnectionResetError()))
    assert await ahead.take() == b"ab"
    with pytest.raises(ConnectionResetError):
        await ahead.take()
    await ahead.aclose()


async def test_no_more_is_read_than_a_busy_caller_may_hold() -> None:
    piece = bytes(MOST_AHEAD // 4)
    body = Body([piece], [piece] * 20)
    ahead = reading(body)
    assert await ahead.take() == piece
    for _ in range(10):
        await asyncio.sleep(0)
    assert body.given == 1 + 5
    taken = [await ahead.take() for _ in range(5)]
    assert [len(some) for some in taken if some] == [5 * len(piece)] * 4
    await ahead.aclose()


@in_virtual_time
async def test_a_deadline_ends_the_wait_and_cancels_nobody() -> None:
    ahead = reading(Body([b"a"], ends=False), replace(UNHURRIED, idle_s=0.02))
    assert await ahead.take() == b"a"
    with pytest.raises(ProviderError) as caught:
        await ahead.take()
    task = asyncio.current_task()
    assert task is not None
    assert (caught.value.kind, task.cancelling()) == (ErrorKind.STALLED, 0)
    await ahead.aclose()
    assert await others() == set()


async def test_a_cancelled_wait_is_cancelled_and_leaves_nothing_behind() -> None:
    body = Body([b"a"], ends=False)
    ahead = reading(body)

    async def read() -> None:
        try:
            while True:
                await ahead.take()
        finally:
            await ahead.aclose()

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(read())
        while body.given == 0:
            await asyncio.sleep(0)
        task.cancel()
    assert (task.cancelled(), body.closed.is_set(), await others()) == (True, True, set())


@in_virtual_time
async def test_a_cancellation_wins_over_bytes_and_a_deadline_that_come_with_it() -> None:
    loop = asyncio.get_running_loop()
    deadlines = Deadlines(replace(UNHURRIED, idle_s=0.01), "`host`")
    waiting = loop.create_future()

    async def wait() -> None:
        deadlines.watch(waiting)
        await waiting

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(wait())
        waiting.add_done_callback(lambda _: task.cancel())
    assert task.cancelled()


@in_virtual_time
async def test_the_end_of_the_wire_brings_the_deadline_nearer() -> None:
    loop = asyncio.get_running_loop()
    deadlines = Deadlines(UNHURRIED, "`host`")
    came = loop.create_future()
    deadlines.watch(came)
    came.set_result(None)
    deadlines.end_came(0.01)
    waiting = loop.create_future()
    deadlines.watch(waiting)
    assert isinstance(await waiting, DeadlineExceeded)


def let_go(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)


@pytest.mark.parametrize("limits", [replace(UNHURRIED, meaning_s=0.15), replace(UNHURRIED, total_s=0.15)])
@in_virtual_time
async def test_bytes_do_not_move_the_limits_of_meaning_and_of_all(limits: RequestLimits) -> None:
    loop = asyncio.get_running_loop()
    deadlines = Deadlines(limits, "`host`")
    began, waits, fault = loop.time(), 0, None
    while fault is None:
        waits += 1
        waiting = loop.create_future()
        deadlines.watch(waiting)
        loop.call_later(0.005, let_go, waiting)
        fault = await waiting
    assert isinstance(fault, ProviderError)
    assert waits > 1
    assert loop.time() - began == pytest.approx(0.15)
    deadlines.pause()


@in_virtual_time
async def test_bytes_move_the_idle_limit_though_one_timer_serves_all_waits() -> None:
    loop = asyncio.get_running_loop()
    deadlines = Deadlines(replace(UNHURRIED, idle_s=0.05), "`host`")
    for _ in range(6):
        waiting = loop.create_future()
        deadlines.watch(waiting)
        loop.call_later(0.02, waiting.set_result, None)
        assert await waiting is None
    last = loop.time()
    waiting = loop.create_future()
    deadlines.watch(waiting)
    assert isinstance(await waiting, ProviderError)
    assert loop.time() - last == pytest.approx(0.05)


async def test_limits_of_zero_seconds_never_end_a_wait() -> None:
    loop = asyncio.get_running_loop()
    deadlines = Deadlines(replace(BRISK, idle_s=0, meaning_s=0, total_s=0), "`host`", look_every_s=0.005)
    waiting = loop.create_future()
    deadlines.watch(waiting)
    loop.call_later(0.03, waiting.set_result, None)
    assert await waiting is None
    deadlines.pause()
