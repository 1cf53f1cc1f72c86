"""Garbage is looked for when nothing else happens, and only where enough has piled up."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Iterator

import pytest
from rich.color import ColorSystem
from rich.style import Style
from textual.app import App
from textual.strip import Strip
from textual.worker import Worker, WorkerCancelled

from tui.ui.terminal import gc_schedule as housekeeping
from tui.ui.terminal.gc_schedule import (
    LONGEST_S,
    LOOKS_AT_REST,
    MOST_STYLES,
    MUCH,
    PAUSE_S,
    STILL_S,
    WORTH,
    YOUNG,
    GcSchedule,
)
from tui.ui.terminal.textual_private import free_finished_workers

ROUNDS = WORTH // YOUNG


class Collector:
    """Stands in for Python's: counts are what the test says."""

    def __init__(self) -> None:
        self.young = 0
        self.rounds = ROUNDS
        self.looked = 0
        self.exempt = False
        self.looked_at_all = 0

    def get_count(self) -> tuple[int, int, int]:
        return self.young, self.rounds, 0

    def collect(self) -> int:
        self.looked += 1
        self.looked_at_all += not self.exempt
        self.young = self.rounds = 0
        return 0

    def freeze(self) -> None:
        self.exempt = True

    def unfreeze(self) -> None:
        self.exempt = False


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Collector:
    found = Collector()
    monkeypatch.setattr(housekeeping, "gc", found)
    return found


def seconds(house: GcSchedule, count: int) -> list[bool]:
    return [house.tick() for _ in range(count)]


def test_it_looks_once_after_standing_still_for_a_while(collector: Collector) -> None:
    house = GcSchedule(lambda: False)
    assert seconds(house, 3 * STILL_S) == [False] * STILL_S + [True] + [False] * (2 * STILL_S - 1)


def test_it_never_looks_while_an_answer_arrives(collector: Collector) -> None:
    assert seconds(GcSchedule(lambda: True), 60) == [False] * 60


def test_whoever_types_is_not_disturbed(collector: Collector) -> None:
    house = GcSchedule(lambda: False)
    for _ in range(60):
        collector.young = (collector.young + 700) % YOUNG
        assert not house.tick()


def test_little_is_not_worth_looking_at(collector: Collector) -> None:
    collector.rounds = ROUNDS - 1
    assert seconds(GcSchedule(lambda: False), 60) == [False] * 60


def test_when_more_has_piled_up_it_looks_again(collector: Collector) -> None:
    house = GcSchedule(lambda: False)
    seconds(house, STILL_S + 2)
    collector.rounds = ROUNDS
    assert (seconds(house, STILL_S + 1)[-1], collector.looked) == (True, 2)


def test_what_was_looked_at_is_exempt_until_a_minute_of_rest(collector: Collector) -> None:
    collector.exempt = True  # as the start leaves it
    house = GcSchedule(lambda: False)
    for _ in range(3):
        seconds(house, STILL_S + 1)
        assert (collector.exempt, collector.looked_at_all) == (True, 0)
        collector.rounds = ROUNDS
    assert collector.looked == 3
    seconds(house, STILL_S + 1)
    assert seconds(house, LOOKS_AT_REST) == [False] * (LOOKS_AT_REST - 1) + [True]
    assert (collector.exempt, collector.looked_at_all) == (True, 1)
    assert seconds(house, 1_000) == [False] * 1_000


def test_rest_without_anything_new_looks_at_nothing(collector: Collector) -> None:
    collector.rounds = 0
    assert seconds(GcSchedule(lambda: False), 200) == [False] * 200


def test_hours_of_work_are_looked_through_every_ten_minutes(collector: Collector) -> None:
    house = GcSchedule(lambda: True)
    assert seconds(house, LONGEST_S) == [False] * (LONGEST_S - 1) + [True]
    collector.rounds = ROUNDS
    assert seconds(house, LONGEST_S) == [False] * (LONGEST_S - 1) + [True]


def test_much_is_looked_through_in_a_pause_between_two_answers(collector: Collector) -> None:
    busy = True
    house = GcSchedule(lambda: busy)
    collector.rounds = MUCH // YOUNG
    assert seconds(house, STILL_S) == [False] * STILL_S
    busy = False
    collector.young = YOUNG // 2  # somebody types
    assert seconds(house, PAUSE_S + 1) == [False] * (PAUSE_S - 1) + [True, False]


@pytest.fixture
def without_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.long
@pytest.mark.usefixtures("without_collector")
async def test_a_finished_worker_is_freed_without_a_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Worker, "_run", Worker._run)
    free_finished_workers()
    left: list[weakref.ref[Worker[None]]] = []
    async with App[None]().run_test() as pilot:
        for _ in range(5):
            # Each is cancelled by the next; the last one finishes.
            worker = pilot.app.run_worker(asyncio.sleep(0.01), exclusive=True)
            left.append(weakref.ref(worker))
            await pilot.pause()
        await worker.wait()
        del worker
        await pilot.pause()
        assert [each() for each in left] == [None] * 5


async def test_a_freed_worker_still_says_how_it_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer() -> int:
        return 7

    monkeypatch.setattr(Worker, "_run", Worker._run)
    free_finished_workers()
    async with App[None]().run_test() as pilot:
        done = pilot.app.run_worker(answer())
        stopped = pilot.app.run_worker(asyncio.sleep(60))
        assert await done.wait() == 7
        await pilot.pause()
        stopped.cancel()
        with pytest.raises(WorkerCancelled):
            await stopped.wait()
        with pytest.raises(WorkerCancelled):
            await stopped.wait()
        assert await done.wait() == 7


def test_the_codes_of_rows_that_are_gone_are_dropped() -> None:
    for row in range(MOST_STYLES + 1):
        Strip.render_ansi(Style.from_meta({"offset": (0, row)}), ColorSystem.TRUECOLOR)
    assert Strip.render_ansi.cache_info().currsize > MOST_STYLES
    GcSchedule(lambda: True).tick()
    assert Strip.render_ansi.cache_info().currsize == 0
