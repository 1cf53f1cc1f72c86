"""How fast the bus is: publishing, folding, and the way from one thread to another.

Run: ``python -m bench.bus``. Prints microseconds per event and the latency of the first event after idleness.
"""

from __future__ import annotations

import asyncio
import statistics
import threading
import time

from tui.bus import Bus, merge
from tui.domain.events import Stamped, Streamed
from tui.domain.stream import TextDelta

EVENTS = 200_000
WAKE_UPS = 200


def publish_and_drain() -> tuple[float, float]:
    """Microseconds per event for publishing to one lazy subscriber, and for its one drain."""
    bus: Bus[Stamped] = Bus(merge)
    lazy = bus.subscribe()
    events = [Stamped("s", number, Streamed("t", 0, 1, TextDelta(0, "word "))) for number in range(EVENTS)]
    began = time.perf_counter()
    for event in events:
        bus.publish(event)
    published = time.perf_counter()
    drained = lazy.drain()
    done = time.perf_counter()
    if len(drained) != 1:
        raise AssertionError("one run makes one delta")
    return (published - began) / EVENTS * 1e6, (done - published) / EVENTS * 1e6


def wake_up() -> list[float]:
    """Milliseconds from publishing in one thread to having the event in another's loop, idle before."""
    bus: Bus[Stamped] = Bus(merge)
    subscription = bus.subscribe()
    published: list[float] = []
    taken: list[float] = []
    go = threading.Semaphore(1)

    def publish() -> None:
        for number in range(WAKE_UPS):
            go.acquire()
            threading.Event().wait(0.001)
            published.append(time.perf_counter())
            bus.publish(Stamped("s", number, Streamed("t", 0, 1, TextDelta(0, "x"))))

    async def take() -> None:
        async for batch in subscription.batches(0):
            taken.extend([time.perf_counter()] * len(batch))
            go.release()
            if len(taken) == WAKE_UPS:
                return

    thread = threading.Thread(target=publish)
    thread.start()
    asyncio.run(take())
    thread.join()
    return sorted((end - start) * 1000 for start, end in zip(published, taken, strict=True))


def main() -> None:
    """Print the figures."""
    publish_us, drain_us = publish_and_drain()
    latencies = wake_up()
    print(
        f"publish {publish_us:.2f} µs/event · drain and fold {drain_us:.2f} µs/event ({EVENTS:,} deltas of one block)"
    )
    print(f"first event after idleness: median {statistics.median(latencies):.3f} ms, p99 {latencies[-2]:.3f} ms")


if __name__ == "__main__":
    main()
