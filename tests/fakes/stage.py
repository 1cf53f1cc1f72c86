"""A session on stage: everything around it is fake, time is virtual, and all it said is written down."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from tests.fakes.backend import FakeBackend, Script
from tests.fakes.clock import FakeClock
from tests.fakes.journal import MemoryJournal
from tests.fakes.planner import SPEC, FakeCompressor, FakePlanner
from tests.fakes.toolbox import FakeToolbox
from tui.bus import Subscription
from tui.domain.blocks import TextBlock
from tui.domain.events import AppEvent, MeterChanged, Stamped, TurnFailed, TurnFinished
from tui.domain.messages import Message, Turn
from tui.engine.ports import Ports
from tui.engine.session import Opening, Session
from tui.engine.settings import EngineSettings


@dataclass
class Follower:
    """A session and who listens to it; ``heard`` drains what was said since the last time, meters left out."""

    session: Session
    subscription: Subscription[Stamped]

    def heard(self) -> list[AppEvent]:
        events = [stamped.event for stamped in self.subscription.drain()]
        return [event for event in events if not isinstance(event, MeterChanged)]

    async def say(self, text: str) -> list[AppEvent]:
        """Submit a prompt and wait for the turn's end."""
        await self.session.submit((TextBlock(text=text),))
        return await self.until(TurnFinished, TurnFailed)

    async def until(self, *kinds: type) -> list[AppEvent]:
        """Wait for an event of a kind; all that was heard up to it, and what came with it."""
        heard: list[AppEvent] = []
        while not any(isinstance(event, kinds) for event in heard):
            heard += self.heard()
            await asyncio.sleep(0.001)
        return heard


@dataclass
class Stage(Follower):
    """Hands out the fakes too."""

    backend: FakeBackend
    journal: MemoryJournal
    toolbox: FakeToolbox
    planner: FakePlanner
    clock: FakeClock


async def _agree(*_: object, agrees: bool) -> bool:
    return agrees


@asynccontextmanager
async def stage(
    scripts: Sequence[Script] = (),
    *,
    settings: EngineSettings | None = None,
    planner: FakePlanner | None = None,
    journal: MemoryJournal | None = None,
    interactive: bool = True,
    forever: bool = False,
    turns: tuple[Turn, ...] = (),
    conceal: Callable[[str], str] = str,
    ends_thinking: bool = False,
) -> AsyncIterator[Stage]:
    """A running session."""
    ids = itertools.count(1)
    backend, toolbox, clock = FakeBackend(list(scripts), forever), FakeToolbox(), FakeClock()
    planner, journal = planner or FakePlanner(), journal or MemoryJournal()
    ports = Ports(
        backend=backend,
        journal=journal,
        planner=planner,
        compressor=FakeCompressor(),
        clock=clock,
        toolbox=toolbox,
        new_id=lambda: f"id{next(ids)}",
        draw=random.Random(1).random,
        interactive=interactive,
        conceal=conceal,
        end_thinking=partial(_agree, agrees=ends_thinking),
    )
    opening = Opening(session="s", spec=SPEC, settings=settings or EngineSettings(tools=False), turns=turns)
    session = Session(ports, opening)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(session.run())
        await asyncio.sleep(0)
        _, subscription = session.attach()
        yield Stage(session, subscription, backend, journal, toolbox, planner, clock)
        await session.close()


def last_turn(events: Sequence[AppEvent]) -> Turn:
    """The turn of the last ending among the events."""
    ends = [event for event in events if isinstance(event, TurnFinished | TurnFailed)]
    return ends[-1].turn


def spoken(message: Message) -> str:
    """The words of a message."""
    return "".join(block.text for block in message.blocks if isinstance(block, TextBlock))
