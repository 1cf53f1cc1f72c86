"""The engine over the real catalogue, selection, meter, wires and transport, against the embedded demo."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.fakes.journal import MemoryJournal
from tests.fakes.stage import last_turn, spoken
from tests.fakes.toolbox import result
from tests.narrow import expect_some
from tui.bus import Subscription
from tui.catalog.catalog import packaged_catalog
from tui.catalog.model_spec import parse_spec
from tui.domain.blocks import TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock
from tui.domain.events import (
    AppEvent,
    AttemptReset,
    CompressionFinished,
    RetryScheduled,
    Stamped,
    Streamed,
    TurnFailed,
    TurnFinished,
)
from tui.domain.messages import Role, Turn
from tui.domain.request import ToolSchema
from tui.domain.stream import TextDelta
from tui.domain.tool_run import ToolRun
from tui.domain.usage import Certainty
from tui.engine.compressor import Compressor
from tui.engine.planner import Planner
from tui.engine.ports import Ports
from tui.engine.session import Opening, Session
from tui.engine.settings import EngineSettings
from tui.engine.token_meter import TokenMeter
from tui.providers.backend import open_backend
from tui.providers.keys import Keys

MODELS = ("demo/fast/high", "demo/responses/high", "demo/chat/high", "demo/gemini/high")


class Hurried:
    """A clock whose waits are short; what it tells is true."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / 200)


class Folder:
    """Lists a folder that is not there."""

    def schemas(self) -> tuple[ToolSchema, ...]:
        return (
            ToolSchema(
                name="list_dir",
                description="List a folder.",
                parameters={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
            ),
        )

    async def run(self, call: ToolCallBlock, run: ToolRun) -> ToolResultBlock:
        return result(call, "a.txt\nb.txt")


class Talk:
    """A session and what it says."""

    def __init__(self, session: Session, subscription: Subscription[Stamped]) -> None:
        self.session = session
        self.subscription = subscription

    async def say(self, text: str) -> list[AppEvent]:
        await self.session.submit((TextBlock(text=text),))
        heard: list[AppEvent] = []
        async for batch in self.subscription.batches(0):
            for stamped in batch:
                heard.append(stamped.event)
                if isinstance(stamped.event, TurnFinished | TurnFailed) and _asks(stamped.event.turn, text):
                    return heard  # more may have come with it, such as the queue's state
        return heard


def _asks(turn: Turn, text: str) -> bool:
    return turn.messages[0].blocks == (TextBlock(text=text),)


@asynccontextmanager
async def talk(model: str, home: Path, settings: EngineSettings | None = None) -> AsyncIterator[Talk]:
    catalog, ids = packaged_catalog(), itertools.count()
    planner = Planner(catalog, TokenMeter())
    backend = open_backend(Keys(home / "credentials", use_keyring=False), demo_speed=0)
    ports = Ports(
        backend=backend,
        journal=MemoryJournal(),
        planner=planner,
        compressor=Compressor(planner),
        clock=Hurried(),
        toolbox=Folder(),
        new_id=lambda: f"id{next(ids)}",
        draw=random.Random(1).random,
    )
    opening = Opening(session="s", spec=parse_spec(model, catalog), settings=settings or EngineSettings())
    session = Session(ports, opening)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(session.run())
        await asyncio.sleep(0)
        yield Talk(session, session.attach()[1])
        await session.close()
    await backend.aclose()


def _kinds(turn: Turn) -> list[str]:
    return [message.role.value for message in turn.messages]


@pytest.mark.parametrize("model", MODELS)
async def test_a_conversation_with_thinking_and_tools_on_every_wire(model: str, tmp_path: Path) -> None:
    async with talk(model, tmp_path) as t:
        first = last_turn(await t.say("Hello"))
        second = last_turn(await t.say("list the files"))
        third = last_turn(await t.say("Thanks, and now?"))
    assert _kinds(first) == ["user", "assistant"]
    assert _kinds(second) == ["user", "assistant", "tool", "assistant"]
    assert _kinds(third) == ["user", "assistant"]
    for message in (*first.messages, *second.messages, *third.messages):
        if message.role is Role.ASSISTANT:
            assert message.interrupted is None
            assert expect_some(message.usage).total is not None
    assert any(isinstance(block, ThinkingBlock) for block in first.messages[-1].blocks)


@pytest.mark.parametrize("model", MODELS)
async def test_a_stream_that_is_cut_is_asked_for_again_and_shown_once(model: str, tmp_path: Path) -> None:
    async with talk(model, tmp_path) as t:
        heard = await t.say("cut it")
    shown = ""
    for event in heard:
        if isinstance(event, AttemptReset):
            shown = ""
        if isinstance(event, Streamed) and isinstance(event.event, TextDelta):
            shown += event.event.text
    assert [type(event) for event in heard if isinstance(event, AttemptReset | RetryScheduled)] == [
        AttemptReset,
        RetryScheduled,
    ]
    assert shown == spoken(last_turn(heard).messages[-1]) != ""


@pytest.mark.parametrize(("word", "waits"), [("429", 1), ("500", 1)])
async def test_what_can_be_waited_for_is_waited_for(word: str, waits: int, tmp_path: Path) -> None:
    async with talk("demo/fast/low", tmp_path) as t:
        heard = await t.say(f"error {word}")
    assert len([event for event in heard if isinstance(event, RetryScheduled)]) == waits
    assert isinstance(heard[-1], TurnFinished)


@pytest.mark.parametrize(
    ("word", "advice"),
    [("quota", "no quota or credit"), ("hours", "Limit reached until "), ("401", "auth set"), ("400", "`/context`")],
)
async def test_what_cannot_be_waited_for_fails_at_once(word: str, advice: str, tmp_path: Path) -> None:
    async with talk("demo/fast/low", tmp_path) as t:
        heard = await t.say(f"error {word}")
    assert [event for event in heard if isinstance(event, RetryScheduled)] == []
    assert isinstance(heard[-1], TurnFailed)
    assert advice in heard[-1].error.advice


@pytest.mark.one_in(3)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("events", [1, 3, 8, 20])
async def test_after_a_cancel_anywhere_the_next_request_is_accepted(model: str, events: int, tmp_path: Path) -> None:
    async with talk(model, tmp_path) as t:
        await t.session.submit((TextBlock(text="list the files"),))
        seen = 0
        async for batch in t.subscription.batches(0):
            seen += len(batch)
            if seen >= events or any(isinstance(s.event, TurnFinished | TurnFailed) for s in batch):
                break
        await t.session.cancel()
        t.subscription.drain()
        heard = await t.say("Go on.")
    assert isinstance(heard[-1], TurnFinished)
    assert spoken(heard[-1].turn.messages[-1])


async def test_an_overflow_folds_finished_turns_and_is_undone_by_hand(tmp_path: Path) -> None:
    async with talk("demo/fast/low", tmp_path) as t:
        for prompt in ("Hello", "list the files", "Show me markdown"):
            await t.say(prompt)
        heard = await t.say("error overflow")
        assert isinstance(heard[-1], TurnFinished)
        folded = await t.session.preview("")
        assert await t.session.uncompress()
        whole = await t.session.preview("")
    (finished,) = [event for event in heard if isinstance(event, CompressionFinished) and not event.error]
    assert finished.after < finished.before
    assert finished.summary
    assert folded.meter.effective < whole.meter.effective


async def test_a_full_context_is_folded_before_the_request(tmp_path: Path) -> None:
    settings = EngineSettings(context_limit=3_000, reserve=500, keep_turns=1)
    async with talk("demo/fast/low", tmp_path, settings) as t:
        heard = [event for _ in range(8) for event in await t.say("Show me markdown")]
    finished = [event for event in heard if isinstance(event, CompressionFinished)]
    assert [event.error for event in finished if event.error] == []
    assert all(event.after < event.before for event in finished)
    assert len(finished) >= 1
    assert all(isinstance(event, TurnFinished) for event in heard if isinstance(event, TurnFinished | TurnFailed))


async def test_the_meter_learns_from_what_is_reported(tmp_path: Path) -> None:
    async with talk("demo/fast/low", tmp_path) as t:
        before = (await t.session.preview("")).meter
        await t.say("Hello")
        after = await t.session.preview("")
        typing = await t.session.preview("some more words")
    assert (before.certainty, after.meter.certainty) == (Certainty.ESTIMATED, Certainty.REPORTED)
    assert typing.meter.certainty is Certainty.ESTIMATED
    assert after.meter.effective > before.effective
    assert typing.meter.effective > after.meter.effective
    assert typing.request is after.request
