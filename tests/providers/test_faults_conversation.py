"""A conversation with a stranger: a server known only by three lines of configuration, strict about what it is sent.

Thinking, tool calls, a cancel, a broken stream and an error come in between; every request must pass the validator.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.fakes.journal import MemoryJournal
from tests.fakes.planner import FakeCompressor
from tests.fakes.stage import Follower
from tests.fakes.toolbox import FakeToolbox
from tests.faultserver.player import Step
from tests.faultserver.server import FaultServer
from tests.patience import PATIENCE_S
from tests.providers.conftest import Client
from tests.providers.test_faults_engine import HastyClock, answer
from tests.providers.test_faults_refusals import refusal
from tests.validators import anthropic, chat, gemini, ollama, responses
from tui.catalog.catalog import packaged_catalog
from tui.domain.blocks import TextBlock
from tui.domain.events import TurnFailed, TurnFinished
from tui.domain.thinking import ModelSpec
from tui.engine.planner import Planner
from tui.engine.ports import Ports
from tui.engine.session import Opening, Session
from tui.engine.settings import EngineSettings
from tui.engine.token_meter import TokenMeter

VALIDATORS: dict[str, Callable[[dict[str, Any]], list[str]]] = {
    "anthropic": lambda body: anthropic.problems(body),
    "openai-responses": lambda body: responses.problems(body),
    "openai-chat": lambda body: chat.problems(body, dialect="deepseek"),
    "gemini": lambda body: gemini.problems(body, strict_thinking=False),
    "ollama": lambda body: ollama.problems(body),
}
THINK: Step = {"say": "thinking", "text": "let me see what this needs"}
CALL: list[Step] = [THINK, {"say": "text", "text": "Looking."}, {"call": "echo", "args": {"say": "hi"}}, {"end": 1}]
CUT: list[Step] = [THINK, {"say": "text", "text": "never finished"}, {"rst": 1}]
HELD: list[Step] = [THINK, {"say": "text", "text": "started and "}, {"hold": 1}]


def full(words: str) -> list[Step]:
    return [THINK, {"say": "text", "text": words}, {"end": 1}]


@pytest.mark.parametrize("wire", VALIDATORS)
async def test_a_long_conversation_with_faults_stays_legal(client: Client, wire: str) -> None:
    complaints: list[str] = []

    def validate(body: dict[str, Any]) -> str | None:
        complaints.extend(VALIDATORS[wire](body))
        return complaints[-1] if complaints else None

    overloaded = refusal(wire, 529, "overloaded_error", "Overloaded")
    scripts: list[list[Step]] = [
        CALL,
        full("it says hi"),
        CUT,
        overloaded,
        full("second answer"),
        HELD,
        CALL,
        full("the end"),
    ]
    async with FaultServer(scripts, wire, validate=validate, own_ids=True) as server:
        own = {"wire": wire, "base_url": server.url, "key_env": ["TESTED_API_KEY"]}
        catalog = packaged_catalog().with_overrides({"providers": {"stranger": own}})
        ids = itertools.count(1)
        ports = Ports(
            backend=client.backend(), journal=MemoryJournal(), clock=HastyClock(),
            planner=Planner(catalog, TokenMeter()), compressor=FakeCompressor(),
            toolbox=FakeToolbox(), new_id=lambda: f"id{next(ids)}", draw=random.Random(2).random,
        )  # fmt: skip
        spec = ModelSpec(provider="stranger", model="unheard-of")
        session = Session(ports, Opening(session="s", spec=spec, settings=EngineSettings()))
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(session.run())
            await asyncio.sleep(0)
            stage = Follower(session, session.attach()[1])
            answers = [answer(await stage.say("Please echo hi.")), answer(await stage.say("And now?"))]
            await session.submit((TextBlock(text="This one is stopped."),))
            async with asyncio.timeout(PATIENCE_S):
                while len(server.seen) < 6:
                    await asyncio.sleep(0.005)
            await asyncio.sleep(0.05)
            await session.cancel()
            await stage.until(TurnFinished, TurnFailed)
            answers.append(answer(await stage.say("Once more, please.")))
            await session.close()
        assert len(server.seen) == len(scripts)
    assert complaints == []
    assert answers == ["Looking.it says hi", "second answer", "Looking.the end"]
