"""Garbage is looked for when nothing else happens, and only where enough has piled up."""

from __future__ import annotations

import pytest

from tui.ui.terminal import gc_schedule as housekeeping
from tui.ui.terminal.gc_schedule import LONGEST_S, MUCH, PAUSE_S, STILL_S, WORTH, YOUNG, GcSchedule

ROUNDS = WORTH // YOUNG


class Collector:
    """Stands in for Python's: counts are what the test says."""

    def __init__(self) -> None:
        self.young = 0
        self.rounds = ROUNDS
        self.looked = 0

    def get_count(self) -> tuple[int, int, int]:
        return self.young, self.rounds, 0

    def collect(self) -> int:
        self.looked += 1
        self.young = self.rounds = 0
        return 0


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
