"""A session over the real catalogue, selection, meter and compression; only the provider and the time are made up."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from tests.fakes.backend import FakeBackend, Script, finish, words
from tests.fakes.clock import FakeClock
from tests.fakes.journal import MemoryJournal
from tui.bus import Subscription
from tui.catalog.catalog import Catalog, packaged_catalog
from tui.catalog.model_spec import parse_spec
from tui.domain.blocks import Block, ProviderState, TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock
from tui.domain.compression import CompressionView
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.events import AppEvent, Stamped, TurnFailed, TurnFinished
from tui.domain.messages import Message, Role, Turn
from tui.domain.request import ToolSchema
from tui.domain.stream import Finish, ResponseStarted, StreamEvent
from tui.domain.thinking import ReasoningRules, StripPolicy, ThinkingForm
from tui.domain.usage import MeterReading
from tui.engine.compressor import Compressor
from tui.engine.planner import Planner
from tui.engine.ports import NoTools, Ports, Toolbox
from tui.engine.session import Opening, Session
from tui.engine.settings import EngineSettings
from tui.engine.token_meter import TokenMeter

CLAUDE = "anthropic/claude-opus-5/high"
BOUND = "anthropic/claude-opus-5-5/high"
OVERFLOW = ProviderError(ErrorKind.CONTEXT_OVERFLOW, "prompt is too long: 9000 tokens > 6000 maximum", status=400)
STRIPPED = ReasoningRules(strip=StripPolicy.ALL)
TIGHT = EngineSettings(context_limit=6_000, reserve=1_000, compress_at=0.8, keep_turns=1)
"""Compression starts at 4,000 tokens."""


def said(text: str, why: Finish = Finish.STOP) -> list[StreamEvent]:
    """A whole answer whose tokens nobody reports, so that estimates stay what they are."""
    return [ResponseStarted("claude-opus-5", "r1"), *words(text), *finish(why, usage=None)]


def stored(count: int, *, thinking: int = 0, answer: int = 20, model: str = CLAUDE) -> tuple[Turn, ...]:
    """Finished turns; sizes are in words."""
    return tuple(_turn(number, thinking, answer, model) for number in range(count))


def _turn(number: int, thinking: int, answer: int, model: str) -> Turn:
    catalog = packaged_catalog()
    origin = Planner(catalog, TokenMeter()).target(parse_spec(model, catalog)).origin
    thought = ThinkingBlock(
        text=_prose(f"thought {number}", thinking),
        form=ThinkingForm.FULL,
        provider_state=ProviderState(signature="sig=="),
    )
    blocks: tuple[Block, ...] = (TextBlock(text=_prose(f"answer {number}", answer)),)
    return Turn(
        id=f"t{number}",
        messages=(
            Message(id=f"u{number}", role=Role.USER, blocks=(TextBlock(text=f"question {number}"),)),
            Message(
                id=f"a{number}", role=Role.ASSISTANT, blocks=(thought, *blocks) if thinking else blocks, origin=origin
            ),
        ),
    )


def _prose(start: str, count: int) -> str:
    return " ".join([start, *itertools.islice(itertools.cycle(["the", "model", "reads", "on", "and", "finds"]), count)])


class LongReader(NoTools):
    """A tool whose results are as long as it is told."""

    def __init__(self, *lengths: int) -> None:
        self.lengths = list(lengths)

    def schemas(self) -> tuple[ToolSchema, ...]:
        return (ToolSchema(name="read", description="Reads.", parameters={"type": "object", "properties": {}}),)

    async def run(self, call: ToolCallBlock, run: object) -> ToolResultBlock:
        text = _prose(f"result of {call.call_id}", self.lengths.pop(0) if self.lengths else 10)
        return ToolResultBlock(call_id=call.call_id, name=call.name, content=(TextBlock(text=text),))


@dataclass
class Living:
    """The session, and what it says."""

    session: Session
    backend: FakeBackend
    journal: MemoryJournal
    subscription: Subscription[Stamped]

    async def say(self, text: str = "And now?") -> list[AppEvent]:
        await self.session.submit((TextBlock(text=text),))
        return await self.until(TurnFinished, TurnFailed)

    async def until(self, *kinds: type) -> list[AppEvent]:
        heard: list[AppEvent] = []
        while not any(isinstance(event, kinds) for event in heard):
            heard += [stamped.event for stamped in self.subscription.drain()]
            await asyncio.sleep(0.001)
        return heard

    async def meter(self, draft: str = "") -> MeterReading:
        return await self.session.previewer.meter(draft)

    def shown(self) -> MeterReading:
        """What a screen shows."""
        view, subscription = self.session.attach()
        subscription.close()
        assert view.meter is not None
        return view.meter


@asynccontextmanager
async def living(
    scripts: Sequence[Script] = (),
    *,
    turns: tuple[Turn, ...] = (),
    settings: EngineSettings = TIGHT,
    model: str = CLAUDE,
    toolbox: Toolbox | None = None,
    view: CompressionView | None = None,
    catalog: Catalog | None = None,
) -> AsyncIterator[Living]:
    """A running session."""
    ids = itertools.count(1)
    catalog = catalog or packaged_catalog()
    planner = Planner(catalog, TokenMeter())
    backend, journal = FakeBackend(list(scripts)), MemoryJournal()
    ports = Ports(
        backend=backend,
        journal=journal,
        planner=planner,
        compressor=Compressor(planner),
        clock=FakeClock(),
        toolbox=toolbox or NoTools(),
        new_id=lambda: f"id{next(ids)}",
        draw=random.Random(1).random,
    )
    opening = Opening(session="s", spec=parse_spec(model, catalog), settings=settings, turns=turns, compression=view)
    session = Session(ports, opening)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(session.run())
        await asyncio.sleep(0)
        yield Living(session, backend, journal, session.attach()[1])
        await session.close()


def with_rules(rules: ReasoningRules, settings: EngineSettings = TIGHT) -> EngineSettings:
    return replace(settings, rules=rules)
