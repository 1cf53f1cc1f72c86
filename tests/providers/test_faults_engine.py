"""Faults as a conversation lives through them: the real engine over the real backend against the fault server."""
# ruff: noqa: N802 - the names carry the rows of the fault catalogue

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from tests.fakes.journal import MemoryJournal
from tests.fakes.planner import FakeCompressor, FakePlanner
from tests.fakes.stage import Follower, last_turn, spoken
from tests.fakes.toolbox import FakeToolbox
from tests.faultserver.player import Step
from tests.faultserver.server import FaultServer
from tests.patience import PATIENCE_S
from tests.providers.conftest import WIRES, Client, where
from tests.providers.test_faults_refusals import refusal
from tui.catalog.facts import Target
from tui.domain.blocks import TextBlock
from tui.domain.events import AppEvent, AttemptReset, RetryScheduled, Streamed, TurnFailed, TurnFinished
from tui.domain.messages import Role
from tui.domain.stream import TextDelta
from tui.domain.thinking import ModelSpec
from tui.engine import runner
from tui.engine.ports import Ports
from tui.engine.session import Opening, Session
from tui.engine.settings import EngineSettings

FULL: list[Step] = [{"say": "thinking", "text": "so"}, {"say": "text", "text": "one two three four five"}, {"end": 1}]
PART = {"say": "text", "text": "one two three"}
wires = pytest.mark.parametrize("wire", WIRES)


@dataclass
class HastyClock:
    """Real time, except that nobody sleeps; how long it would have been is written down."""

    slept: list[float] = field(default_factory=list)

    def now(self) -> float:
        return 1_800_000_000.0 + time.monotonic()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(min(seconds, 0.01))


@dataclass
class Here(FakePlanner):
    """Every model is at the fault server."""

    wire: str = "anthropic"
    url: str = ""

    def target(self, spec: ModelSpec) -> Target:
        return where(self.wire, self.url)


@asynccontextmanager
async def live(client: Client, server: FaultServer, *, interactive: bool = True) -> AsyncIterator[Follower]:
    """A running session at the fault server."""
    ids = itertools.count(1)
    planner = Here(wire=server.wire, url=server.url)
    backend = client.backend()
    ports = Ports(
        backend=backend, journal=MemoryJournal(), planner=planner, compressor=FakeCompressor(), clock=HastyClock(),
        toolbox=FakeToolbox(),
        new_id=lambda: f"id{next(ids)}", draw=random.Random(1).random, interactive=interactive,
    )  # fmt: skip
    spec = ModelSpec(provider="tested", model="asked-model")
    session = Session(ports, Opening(session="s", spec=spec, settings=EngineSettings(tools=False)))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(session.run())
        await asyncio.sleep(0)
        yield Follower(session, session.attach()[1])
        await session.close()


def answer(events: Sequence[AppEvent]) -> str:
    """The words of the answer that stands at the end."""
    said = [m for m in last_turn(events).messages if m.role is Role.ASSISTANT and not m.superseded]
    return "".join(spoken(message) for message in said)


@pytest.mark.one_in(9)
@pytest.mark.parametrize(
    ("wire", "ending"),
    [
        (wire, ending)
        for wire in WIRES
        for ending in ("rst", "eof", "cut_chunk", "error")
        if (wire, ending) != ("gemini-array", "error")
    ],
)
async def test_W09_a_second_attempt_replaces_the_first_and_repeats_nothing(
    client: Client, wire: str, ending: str
) -> None:
    async with FaultServer([[PART, {ending: 1}], FULL], wire) as server, live(client, server) as stage:
        events = await stage.say("Hello?")
        assert len(server.seen) == 2
    assert [type(event) for event in events if isinstance(event, AttemptReset | TurnFailed)] == [AttemptReset]
    assert answer(events) == "one two three four five"


@wires
async def test_P11_no_step_ever_sends_more_than_six_requests(client: Client, wire: str) -> None:
    scripts = [refusal(wire, 503, "overloaded_error", "Overloaded")]
    async with FaultServer(scripts, wire) as server, live(client, server) as stage:
        events = await stage.say("Hello?")
        assert 2 <= len(server.seen) <= 6
    waits = [event.wait_s for event in events if isinstance(event, RetryScheduled)]
    assert (sum(waits) <= 120, isinstance(events[-1], TurnFailed)) == (True, True)


@wires
async def test_P01_a_hint_is_waited_for_as_a_countdown_then_it_works(client: Client, wire: str) -> None:
    scripts: list[list[Step]] = [refusal(wire, 429, "rate_limit_error", "Slow down.", **{"retry-after": "2"}), FULL]
    async with FaultServer(scripts, wire) as server, live(client, server) as stage:
        events = await stage.say("Hello?")
    waits = [event.wait_s for event in events if isinstance(event, RetryScheduled)]
    assert (len(waits), waits[0] >= 2, answer(events)) == (1, True, "one two three four five")


@wires
async def test_P02_five_hours_are_told_at_once(client: Client, wire: str) -> None:
    scripts: list[list[Step]] = [
        refusal(wire, 429, "rate_limit_error", "Usage limit reached.", **{"retry-after": "18000"})
    ]
    async with FaultServer(scripts, wire) as server, live(client, server) as stage:
        events = await stage.say("Hello?")
        assert len(server.seen) == 1
    assert not [event for event in events if isinstance(event, RetryScheduled)]
    (failed,) = [event for event in events if isinstance(event, TurnFailed)]
    assert "Limit reached until " in failed.error.message + failed.error.advice


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 413, 422])
async def test_P05_what_can_never_work_is_sent_once(client: Client, status: int) -> None:
    async with FaultServer([refusal("anthropic", status, "api_error", "No.")]) as server, live(client, server) as stage:
        events = await stage.say("Hello?")
        assert len(server.seen) == 1
    assert any(isinstance(event, TurnFailed) for event in events)


async def test_P08_a_named_parameter_is_left_out_and_sent_once_more(client: Client) -> None:
    error = {
        "message": "Unsupported parameter: 'reasoning_effort'.", "type": "invalid_request_error",
        "param": "reasoning_effort", "code": "unsupported_parameter",
    }  # fmt: skip
    scripts: list[list[Step]] = [[{"status": 400, "json": {"error": error}}], FULL]
    async with FaultServer(scripts, "openai-chat") as server, live(client, server) as stage:
        events = await stage.say("Hello?")
        assert ["reasoning_effort" in seen.json for seen in server.seen] == [True, False]
    assert answer(events) == "one two three four five"


@wires
async def test_W16_an_empty_answer_is_asked_for_once_more(client: Client, wire: str) -> None:
    scripts: list[list[Step]] = [[{"end": 1}] if wire != "gemini-array" else FULL, FULL]
    async with FaultServer(scripts, wire) as server, live(client, server) as stage:
        events = await stage.say("Hello?")
    assert answer(events) == "one two three four five"


async def test_W17_a_malformed_call_is_asked_for_once_more(client: Client) -> None:
    bad = {"candidates": [{"content": {"parts": []}, "finishReason": "MALFORMED_FUNCTION_CALL", "index": 0}]}
    async with FaultServer([[{"sse": [bad]}], FULL], "gemini") as server, live(client, server) as stage:
        events = await stage.say("Hello?")
        assert len(server.seen) == 2
    assert answer(events) == "one two three four five"


@pytest.mark.one_in(7)
@wires
@pytest.mark.long
async def test_cancel_at_random_points_returns_at_once_and_the_next_prompt_works(
    client: Client, wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A request that does not end when it is cancelled is waited for: here for longer than the test may take.
    monkeypatch.setattr(runner, "CANCEL_WITHIN_S", 10 * PATIENCE_S)
    dice = random.Random(5)
    slow: list[Step] = [{"say": "text", "text": "one "}, {"sleep": 0.002}, {"say": "text", "text": "two "}, {"hold": 1}]
    async with FaultServer([slow], wire) as server, live(client, server) as stage:
        for _ in range(72):  # 500 over all wires
            await stage.session.submit((TextBlock(text="go"),))
            await asyncio.sleep(dice.random() * 0.008)
            await stage.session.cancel()
            await stage.until(TurnFinished, TurnFailed)
        server.scripts = [FULL]
        events = await stage.say("and now?")
    assert answer(events) == "one two three four five"
    assert any(isinstance(event, Streamed) and isinstance(event.event, TextDelta) for event in events)
