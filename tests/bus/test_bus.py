"""Publishing never waits and never drops; late subscribers get merged events."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time

from tests.fakes.clock import virtually
from tui.bus import Bus


def _numbers() -> Bus[int]:
    return Bus(lambda events: events)


def test_every_subscriber_gets_everything_published_after_it_came() -> None:
    bus = _numbers()
    early = bus.subscribe()
    bus.publish(1)
    late = bus.subscribe()
    bus.publish(2)
    assert (early.drain(), late.drain(), early.drain()) == ([1, 2], [2], [])


def test_a_closed_subscription_gets_no_more_but_keeps_what_it_has() -> None:
    bus = _numbers()
    subscription = bus.subscribe()
    bus.publish(1)
    subscription.close()
    bus.publish(2)
    assert subscription.drain() == [1]


def test_the_first_event_comes_at_once_and_then_one_batch_per_interval() -> None:
    async def play() -> list[tuple[float, list[int]]]:
        bus = _numbers()
        subscription = bus.subscribe()
        loop = asyncio.get_running_loop()

        async def publish() -> None:
            for number in range(10):
                bus.publish(number)
                await asyncio.sleep(0.01)
            await asyncio.sleep(1)
            bus.publish(99)
            await asyncio.sleep(0.01)
            subscription.close()

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(publish())
            return [(round(loop.time(), 3), batch) async for batch in subscription.batches(0.05)]

    got = virtually(play())
    assert got[0] == (0.0, [0])
    assert [number for _, batch in got for number in batch] == [*range(10), 99]
    times = [at for at, _ in got]
    assert all(later - earlier >= 0.05 for earlier, later in itertools.pairwise(times))
    assert got[-1] == (1.1, [99])


def test_events_from_another_thread_wake_the_subscriber() -> None:
    bus = _numbers()
    subscription = bus.subscribe()

    async def take() -> list[int]:
        got: list[int] = []
        async for batch in subscription.batches(0):
            got += batch
            if len(got) >= 3_000:
                return got
        return got

    def publish() -> None:
        for number in range(3_000):
            bus.publish(number)

    thread = threading.Thread(target=publish)
    thread.start()
    got = asyncio.run(take())
    thread.join()
    assert got == list(range(3_000))


def test_two_threads_publishing_look_the_same_to_all_subscribers() -> None:
    bus = _numbers()
    one, other = bus.subscribe(), bus.subscribe()

    def publish(thousand: int) -> None:
        for number in range(500):
            bus.publish(thousand * 1000 + number)

    threads = [threading.Thread(target=publish, args=(thousand,)) for thousand in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seen = one.drain()
    assert seen == other.drain()
    assert sorted(seen) == sorted(k * 1000 + i for k in range(4) for i in range(500))


def test_publishing_does_not_wait_for_anybody_who_never_drains() -> None:
    bus = _numbers()
    asleep = bus.subscribe()
    began = time.thread_time()
    for number in range(20_000):
        bus.publish(number)
    assert time.thread_time() - began < 1.0
    assert len(asleep.drain()) == 20_000


def test_a_subscriber_whose_loop_ended_does_not_hurt_the_publisher() -> None:
    bus = _numbers()
    subscription = bus.subscribe()

    async def take_one() -> None:
        async for _ in subscription.batches(0):
            return

    bus.publish(1)
    asyncio.run(take_one())
    bus.publish(2)
    bus.publish(3)
    assert subscription.drain() == [2, 3]


def test_a_subscriber_takes_no_more_at_once_than_it_asked_for() -> None:
    async def take() -> list[list[int]]:
        bus: Bus[int] = Bus(lambda events: events, lambda number: number)
        subscription = bus.subscribe()
        bus.publish(3, 3, 3, 0, 9, 1)
        assert subscription.waiting == 19
        got: list[list[int]] = []
        async for batch in subscription.batches(0.05, at_most=5):
            got.append(batch)
            if 1 in batch:
                subscription.close()
        assert (subscription.waiting, subscription.taken_count) == (0, len(got))
        return got

    assert virtually(take()) == [[3, 3], [3, 0, 9], [1]]


def test_what_is_left_in_a_closed_mailbox_is_given_out_to_the_end() -> None:
    async def take() -> list[int]:
        bus: Bus[int] = Bus(lambda events: events, lambda number: 1)
        subscription = bus.subscribe()
        bus.publish(*range(10))
        subscription.close()
        return [number async for batch in subscription.batches(0.05, at_most=3) for number in batch]

    assert virtually(take()) == list(range(10))
