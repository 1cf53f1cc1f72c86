"""The cost of a session is one number: sidebar, status line, inspector, session list, exports, ``ponder context``."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from tests.app.conftest import Run
from tests.app.screen_stage import Screen, screen
from tests.app.stage import config, exported
from tests.faultserver.player import Step
from tests.faultserver.server import FaultServer
from tests.ui.stage import until
from tui.domain.cost import Cost
from tui.domain.format_numbers import count
from tui.engine.state import Phase
from tui.providers.demo.responses import DemoUsage

KEY = {"ANTHROPIC_API_KEY": "sk-ant-test-0123456789abcdef"}
ANSWER: list[Step] = [{"say": "thinking", "text": "Let me see."}, {"say": "text", "text": "Because."}, {"end": True}]
CUT: list[Step] = [{"say": "text", "text": "Because it"}, {"hold": True}]
BROKEN: list[Step] = [{"say": "text", "text": "Because it"}, {"eof": True}]
USED = DemoUsage(input=10_000, thinking=2_000, answer=1_000)
MODEL = "anthropic/claude-sonnet-4-5/low"
Play = Callable[[Screen], Awaitable[None]]
AMOUNT = re.compile(r"(?:at least )?\$[\d,.]+|cost unknown")


def configured(home: Path, server: FaultServer) -> None:
    config(home, f'[providers.anthropic]\nbase_url = "{server.url}"\n')


async def stop(s: Screen, words: str) -> None:
    """Ask, and press escape once the answer has begun."""
    turns = len(s.house.view().turns)
    await s.enter(words)
    await until(s.pilot, lambda: "Because it" in s.text() and s.house.view().phase is Phase.ANSWERING)
    await s.pilot.press("escape")
    await until(s.pilot, lambda: len(s.house.view().turns) > turns and not s.app.chat.is_busy())


def amount_in(text: str) -> str:
    """The one amount in a piece of text."""
    found = AMOUNT.search(text)
    assert found is not None, text
    return found[0]


async def everywhere(s: Screen) -> dict[str, str]:
    """The amount in every place that shows one, now."""
    bill = s.house.services.chat.bill()
    turns = count(len(s.house.view().turns), "turn")
    await until(s.pilot, lambda: turns in (said := s.text().partition("SESSION")[2]) and bill.cost.amount in said)
    sidebar = s.text().partition("SESSION")[2].splitlines()[1]
    await s.pilot.press("ctrl+b")
    await until(s.pilot, lambda: not s.app.chat.sidebar.display)
    await until(s.pilot, lambda: bill.cost.amount in s.text().splitlines()[-2])
    status = s.text().splitlines()[-2]
    await s.pilot.press("ctrl+b")
    rows = await s.house.current.storage.sessions()
    row = next(row for row in rows if row.id == s.house.current.session_id)
    export = await exported(s.house.current.storage, row.id, "md", "thinking")
    page = await exported(s.house.current.storage, row.id, "html", "all")
    return {
        "sidebar": amount_in(sidebar),
        "status line": amount_in(status),
        "inspector": bill.cost.amount,
        "session list": Cost(dollars=row.cost, unknown=row.unpriced).amount,
        "ponder sessions show": amount_in(export.partition("## Cost")[2]),
        "HTML export": amount_in(page.partition("Cost</h2>")[2]),
    }


def commands(session: str, ponder: Run) -> dict[str, str]:
    """The amounts that the command line shows after the program ended."""
    code, out, err = ponder("sessions", "list")
    assert code == 0, err
    code, context, err = ponder("context", "--session", session)
    assert code == 0, err
    code, data, _ = ponder("context", "--session", session, "--json")
    cost = json.loads(data)["cost"]
    return {
        "ponder sessions list": amount_in(out),
        "ponder context": amount_in(context.partition("\ncost ")[2]),
        "ponder context --json": Cost(dollars=cost["dollars"], unknown=not cost["complete"]).amount,
    }


async def shown(home: Path, ponder: Run, scripts: Sequence[Sequence[Step]], play: Play) -> set[str]:
    async with FaultServer(scripts, wire="anthropic", bill=USED, honest=True) as server:
        configured(home, server)
        async with screen(home, model=MODEL, environment=KEY, stored_in="file") as s:
            await play(s)
            found = await everywhere(s)
            session = s.house.current.session_id
        found |= await asyncio.to_thread(commands, session, ponder)
        async with screen(home, model=MODEL, environment=KEY, stored_in="file", reopen=session) as s:
            await until(s.pilot, lambda: s.turns_drawn() > 0)
            found |= {f"{place}, opened again": amount for place, amount in (await everywhere(s)).items()}
    assert len(set(found.values())) == 1, found
    return set(found.values())


@pytest.mark.long
async def test_whole_answers(tmp_path: Path, ponder: Run) -> None:
    async def play(s: Screen) -> None:
        await s.ask("Why?")
        await s.ask("And?")

    assert await shown(tmp_path, ponder, [ANSWER], play) == {"$0.15"}


@pytest.mark.long
async def test_cancelled_turns_cost_at_least_what_was_reported(tmp_path: Path, ponder: Run) -> None:
    async def play(s: Screen) -> None:
        await s.ask("Why?")
        await stop(s, "And?")
        await stop(s, "Then?")

    [amount] = await shown(tmp_path, ponder, [ANSWER, CUT, CUT], play)
    assert amount == "at least $0.14"


async def test_attempts_that_broke_off_are_paid_for(tmp_path: Path, ponder: Run) -> None:
    async def play(s: Screen) -> None:
        await s.ask("Why?")

    [amount] = await shown(tmp_path, ponder, [BROKEN, ANSWER], play)
    assert amount == "at least $0.11"


@pytest.mark.long
async def test_turns_that_were_asked_again_or_edited_are_paid_for(tmp_path: Path, ponder: Run) -> None:
    async def play(s: Screen) -> None:
        await s.ask("Why?")
        await s.house.services.chat.retry(s.house.view().turns[-1].id, "anthropic/claude-haiku-4-5/low")
        await until(s.pilot, lambda: not s.app.chat.is_busy() and s.house.view().spec.model == "claude-haiku-4-5")
        await until(s.pilot, lambda: len(s.house.view().turns) == 1 and s.house.view().phase is Phase.IDLE)
        await s.caught_up()
        await s.ask("And?")

    assert await shown(tmp_path, ponder, [ANSWER], play) == {"$0.12"}


@pytest.mark.long
async def test_summaries_are_paid_for(tmp_path: Path, ponder: Run) -> None:
    async def play(s: Screen) -> None:
        for words in ("Why?", "And?", "Then?"):
            await s.ask(words)
        await s.enter("/set context.keepTurns 1")
        await s.enter("/compress")
        await until(s.pilot, lambda: bool(s.house.view().summaries) and not s.app.chat.is_busy())

    assert await shown(tmp_path, ponder, [ANSWER], play) == {"$0.30"}
