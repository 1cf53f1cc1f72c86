"""The screen, the wire and the bill say the same: 60 questions over models, levels, settings, switches and faults.

Half of the questions are asked only with ``--long``.

Scripted servers of all five wires know what they were sent and what they reported. After every turn the test works out
from that, and from the commands it typed, what the screen must say.
"""

from __future__ import annotations

import contextlib
import random
import re
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from math import fsum
from pathlib import Path

import pytest

from tests.app.screen_stage import Screen, screen
from tests.app.stage import config
from tests.catalog.asking import CATALOG
from tests.faultserver.player import Step
from tests.faultserver.server import FaultServer
from tests.ui.stage import until
from tui.catalog.facts import ModelFacts
from tui.catalog.plan import PlanOptions, plan
from tui.catalog.prices import current_rates
from tui.domain.cost import Cost
from tui.domain.format_numbers import tokens
from tui.domain.printable import one_line
from tui.domain.thinking import Asked, ThinkingLevel, ThinkingPlan
from tui.engine.state import Phase
from tui.providers.demo.responses import DemoUsage

KEY = "sk-test-0123456789abcdef0123456789"
SCENARIOS, TURNS = 12, 5
SCENARIOS_IN_SHORT = 6
MODELS = (
    "anthropic/claude-sonnet-4-5",
    "anthropic/claude-opus-4-5",
    "anthropic/claude-haiku-4-5",
    "openai/gpt-5",
    "openai/gpt-5.5",
    "google/gemini-2.5-pro",
    "google/gemini-2.5-flash",
    "deepseek/deepseek-v4-pro",
    "moonshot/kimi-k2.6",
    "ollama/qwen3",
)
WIRES = {
    "anthropic": "anthropic",
    "openai": "openai-responses",
    "google": "gemini",
    "deepseek": "openai-chat",
    "moonshot": "openai-chat",
    "ollama": "ollama",
}
LEVELS: tuple[Asked, ...] = (*ThinkingLevel, 5_000, 20_000)
EFFORTS = ("low", "medium", "high")
FAULTS = ("", "", "", "refused", "broken", "stopped")


@dataclass
class Expected:
    """What the commands that were typed and the servers' reports amount to."""

    facts: ModelFacts
    asked: Asked
    options: PlanOptions = field(default_factory=lambda: PlanOptions())
    known: list[float] = field(default_factory=list)
    unknown: int = 0

    @property
    def plan(self) -> ThinkingPlan:
        return plan(self.facts, CATALOG.provider(self.facts.provider), self.asked, **self.options)

    @property
    def name(self) -> str:
        return f"{self.facts.id} · {self.plan.level}" if self.plan.level else self.facts.id

    @property
    def heading(self) -> str:
        return f"{self.facts.id} · {self.plan.level}" if self.plan.level else self.facts.id

    @property
    def cost(self) -> Cost:
        return Cost(dollars=fsum(self.known) if self.known else None, unknown=self.unknown)

    def say_level(self, asked: Asked) -> None:
        """A level that is said goes before an effort or a budget that was set."""
        self.asked = asked
        for name in ("effort_override", "max_tokens_override"):
            self.options.pop(name, None)  # type: ignore[misc]  # both are optional keys

    def price(self, bill: DemoUsage) -> float | None:
        rates = current_rates(self.facts, time.time())
        if not rates:
            return None
        return (bill.input * rates["input"] + (bill.thinking + bill.answer) * rates["output"]) / 1e6

    def pay(self, bill: DemoUsage | None, *, whole: bool) -> float | None:
        """A request was answered, or its stream broke off after reporting this much."""
        dollars = None if bill is None else self.price(bill)
        if dollars is not None:
            self.known.append(dollars)
        self.unknown += dollars is None or not whole
        return dollars


@dataclass
class Play:
    """One session, and the dice."""

    screen: Screen
    servers: Mapping[str, FaultServer]
    expected: Expected
    dice: random.Random
    number: int = 0

    async def change(self) -> None:
        """Switch the model, the level or a setting; or nothing."""
        dice, expected = self.dice, self.expected
        match dice.choice(("model", "level", "effort", "budget", "enabled", "output", "nothing")):
            case "model":
                name, asked = dice.choice(MODELS), dice.choice(LEVELS)
                await self.command(f"/model {name}/{asked}")
                expected.facts = CATALOG.find(*name.split("/"))
                expected.say_level(asked)
            case "level":
                asked = dice.choice(LEVELS)
                await self.command(f"/thinking {asked}")
                expected.say_level(asked)
            case "effort":
                effort = dice.choice(EFFORTS)
                await self.command("/unset reasoning.maxTokens")
                await self.command(f"/set reasoning.effort {effort}")
                expected.options.pop("max_tokens_override", None)
                expected.options["effort_override"] = effort
            case "budget":
                budget = dice.choice((3_000, 12_000))
                await self.command(f"/set reasoning.maxTokens {budget}")
                expected.options["max_tokens_override"] = budget
            case "enabled":
                enabled = dice.choice(("true", "false"))
                await self.command(f"/set reasoning.enabled {enabled}")
                expected.options["enabled"] = enabled == "true"
            case "output":
                limit = dice.choice((9_000, 16_000))
                await self.command(f"/set generation.maxOutput {limit}")
                expected.options["max_output"] = limit
            case _:
                pass

    async def command(self, line: str) -> None:
        await self.screen.enter(line)
        await self.screen.pilot.pause()

    async def turn(self) -> None:
        """Ask once, under a fault or none, and compare everything."""
        self.number += 1
        dice, expected, s = self.dice, self.expected, self.screen
        server = self.servers[expected.facts.provider]
        bill = DemoUsage(dice.randrange(50, 90_000), dice.randrange(1, 9_000), dice.randrange(1, 9_000))
        answer: list[Step] = [
            {"say": "thinking", "text": "Let me see."},
            {"say": "text", "text": f"Answer{self.number}."},
            {"end": True},
        ]
        begun: Step = {"say": "text", "text": f"Begun{self.number} and"}
        fault = dice.choice(FAULTS)
        before: list[list[Step]] = [answer] * len(server.seen)
        refused: list[Step] = [{"status": 429, "h": {"retry-after": "0"}, "json": {"error": {"message": "Slow down."}}}]
        server.bill = bill
        scripts: dict[str, list[list[Step]]] = {
            "": [*before, answer],
            "refused": [*before, refused, answer],
            "broken": [*before, [begun, {"eof": True}], answer],
            "stopped": [*before, [begun, {"hold": True}]],
        }
        server.scripts = scripts[fault]
        # Only Anthropic reports something before the end: the input, and a first token.
        partly = DemoUsage(bill.input, 0, 1) if WIRES[expected.facts.provider] == "anthropic" else None
        usage, dollars, whole, requests = bill, None, True, 1
        if fault == "stopped":
            await self.stop(f"Begun{self.number}")
            dollars, whole = expected.pay(partly, whole=False), False
        else:
            await s.ask("Why?")
            broken = expected.pay(partly, whole=False) if fault == "broken" else None
            dollars = expected.pay(bill, whole=True)
            if fault == "broken":
                requests = 2
                if partly is not None:
                    usage = DemoUsage(bill.input + partly.input, bill.thinking, bill.answer + partly.answer)
                if dollars is not None:
                    dollars += broken or 0.0
        await self.compare(server, usage if whole else partly, dollars, whole=whole, requests=requests)

    async def stop(self, words: str) -> None:
        s = self.screen
        turns = len(s.house.view().turns)
        await s.enter("Why?")
        await until(s.pilot, lambda: words in s.text() and s.house.view().phase is Phase.ANSWERING)
        await s.pilot.press("escape")
        await until(s.pilot, lambda: len(s.house.view().turns) > turns)
        await until(s.pilot, lambda: "stopped by you" in s.text() and not s.app.chat.is_busy())

    async def compare(
        self, server: FaultServer, usage: DemoUsage | None, dollars: float | None, *, whole: bool, requests: int
    ) -> None:
        expected, s = self.expected, self.screen
        made = expected.plan
        where = f"turn {self.number}, {expected.name}, {expected.options}"
        amount = expected.cost.words or "nothing spent"
        await until(s.pilot, lambda: amount in s.text().partition("SESSION")[2])
        text = s.text()
        transcript = [re.split("[│█]", line)[0].rstrip() for line in text.splitlines()[:-2]]
        # The wire
        body = dict(leaves(server.seen[-1].json))
        fields = dict(leaves(made.fields))
        assert {path: body.get(path) for path in fields} == fields, where
        # The screen
        assert text.splitlines()[-2].strip().split("  ")[0] == expected.name, where
        picker = text.partition("THINKING")[2].partition("CONTEXT")[0]
        assert f"‹{made.level or 'no levels'}›" in picker.replace("\n", ""), (where, picker)
        shown = re.search(r"→ (.*)", picker)
        assert shown is not None, picker
        assert one_line(made.native, 31).startswith(shown[1].strip().rstrip("…")[:24]), (where, shown[1])
        headings = [line.strip() for line in transcript if line.startswith(f"   {expected.facts.id}")]
        assert headings[-1:] == [expected.heading], (where, headings)
        # The bill
        foot = next(line for line in reversed(transcript) if re.search(r"\d s( · (at least )?\$.*)?$", line))
        assert re.search(self.usage(usage, dollars, whole=whole, requests=requests), foot), (where, foot)
        assert amount in text.partition("SESSION")[2].splitlines()[1], where
        assert s.house.services.chat.bill().cost.amount == expected.cost.amount, where
        rows = await s.house.current.storage.sessions()
        row = next(row for row in rows if row.id == s.house.current.session_id)
        assert Cost(dollars=row.cost, unknown=row.unpriced).amount == expected.cost.amount, where

    def usage(self, bill: DemoUsage | None, dollars: float | None, *, whole: bool, requests: int) -> str:
        """The line under the answer, as a pattern: the seconds are not known, nor whether the first token took long."""
        parts: list[str] = [f"{requests} requests"] if requests > 1 else []
        if bill is not None:
            counted = self.expected.facts.provider != "ollama"
            parts.append(f"in {tokens(bill.input)}")
            if whole:
                parts.append(f"out {tokens(bill.answer if counted else bill.answer + bill.thinking)}")
                parts.append(f"thinking {tokens(bill.thinking)}" if counted else "thinking unknown (in out)")
        pattern = " · ".join([*map(re.escape, parts), r"[\d.]+ s( · first token [\d.]+ s)?"])
        if dollars is not None:
            pattern += re.escape(f" · {Cost(dollars=dollars, unknown=not whole or requests > 1).amount}")
        return f"{pattern}$"


def leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}")
    else:
        yield path, value


@asynccontextmanager
async def playing(home: Path, seed: int) -> AsyncIterator[Play]:
    dice = random.Random(seed)
    async with contextlib.AsyncExitStack() as stack:
        servers = {}
        tables = []
        for provider, wire in WIRES.items():
            server = FaultServer([[]], wire=wire, honest=True, own_ids=True)
            servers[provider] = await stack.enter_async_context(server)
            tables.append(f'[providers.{provider}]\nbase_url = "{server.url}"\n')
        config(home, "".join(tables))
        name, asked = dice.choice(MODELS), dice.choice(LEVELS)
        environment = {f"{provider.upper()}_API_KEY": KEY for provider in (*WIRES, "gemini")}
        s = await stack.enter_async_context(screen(home, model=f"{name}/{asked}", environment=environment))
        await until(s.pilot, lambda: s.app.chat.sidebar.picker.filled)
        yield Play(s, servers, Expected(CATALOG.find(*name.split("/")), asked), dice)


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    "seed",
    [
        *range(SCENARIOS_IN_SHORT),
        *(pytest.param(s, marks=pytest.mark.long) for s in range(SCENARIOS_IN_SHORT, SCENARIOS)),
    ],
)
async def test_what_the_screen_says_is_what_was_sent_and_billed(tmp_path: Path, seed: int) -> None:
    async with playing(tmp_path, seed) as play:
        for _ in range(TURNS):
            await play.change()
            await play.turn()
