"""The cost of one event from the backend to a follower, early and late in a long answer.

Run: ``python -m bench.event_cost [ROUNDS]``. Prints CPU microseconds per event around 100 and around 20,000 tokens of
answer, checkpoints and meter included, and their ratio. Target: at most 1.5.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import statistics
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field

from tests.fakes.backend import finish
from tests.fakes.journal import MemoryJournal
from tests.fakes.planner import FakeCompressor
from tests.fakes.toolbox import FakeToolbox
from tui.app.program import SystemClock
from tui.catalog.catalog import packaged_catalog
from tui.catalog.facts import Target
from tui.domain.blocks import TextBlock
from tui.domain.events import TurnFailed, TurnFinished
from tui.domain.request import ChatRequest
from tui.domain.stream import BlockStarted, ResponseStarted, StreamEvent, TextDelta
from tui.domain.thinking import ModelSpec
from tui.engine.planner import Planner
from tui.engine.ports import Ports
from tui.engine.session import Opening, Session
from tui.engine.settings import EngineSettings
from tui.engine.token_meter import TokenMeter

WINDOW = 2_000
EARLY, LATE = 100, 20_000
FRAME_S = 1 / 30


@dataclass
class OneTokenPerEvent:
    """Yields an answer of one-token events, and notes the CPU time when each is asked for."""

    at: list[float] = field(default_factory=list)

    async def stream(self, target: Target, request: ChatRequest) -> AsyncIterator[Sequence[StreamEvent]]:
        yield (ResponseStarted("m", None), BlockStarted(0, "text"))
        for number in range(LATE + WINDOW + 1):
            self.at.append(time.process_time())
            if number % 20 == 0:
                await asyncio.sleep(0)
            yield (TextDelta(0, f" w{number:04}"[:6]),)
        yield finish()

    async def count(self, target: Target, request: ChatRequest) -> int | None:
        return None

    def per_event_us(self, start: int) -> float:
        return (self.at[start + WINDOW] - self.at[start]) / WINDOW * 1e6


async def one_answer() -> tuple[float, float]:
    backend, ids = OneTokenPerEvent(), itertools.count(1)
    ports = Ports(
        backend=backend,
        journal=MemoryJournal(),
        planner=Planner(packaged_catalog(), TokenMeter()),
        compressor=FakeCompressor(),
        clock=SystemClock(),
        toolbox=FakeToolbox(),
        new_id=lambda: f"id{next(ids)}",
        draw=lambda: 0.5,
    )
    opening = Opening(session="s", spec=ModelSpec(provider="demo", model="demo"), settings=EngineSettings())
    session = Session(ports, opening)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(session.run())
        await asyncio.sleep(0)
        _, subscription = session.attach()
        await session.submit((TextBlock(text="Count."),))
        async for batch in subscription.batches(FRAME_S):
            if any(isinstance(stamped.event, TurnFinished | TurnFailed) for stamped in batch):
                break
        await session.close()
    return backend.per_event_us(EARLY), backend.per_event_us(LATE)


def measured(rounds: int) -> Iterator[tuple[float, float]]:
    for _ in range(rounds):
        yield asyncio.run(one_answer())


def main() -> None:
    early, late = zip(*measured(int(sys.argv[1]) if len(sys.argv) > 1 else 7), strict=True)
    at_100, at_20_000 = statistics.median(early), statistics.median(late)
    found = {"at_100_us": round(at_100, 1), "at_20000_us": round(at_20_000, 1), "ratio": round(at_20_000 / at_100, 2)}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
