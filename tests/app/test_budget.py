"""Spending limits in the running program: no request is sent that may exceed one, unless the user allows it."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from tests.app.conftest import Run
from tests.app.screen_stage import screen
from tests.app.stage import House, config, heard_until, house
from tests.faultserver.player import Step
from tests.faultserver.server import FaultServer
from tests.patience import PATIENCE_S
from tests.ui.stage import until
from tui.domain.blocks import TextBlock
from tui.domain.errors import BudgetReached
from tui.domain.events import AppEvent, ApprovalAsked, CompressionFinished, TurnFailed, TurnFinished
from tui.providers.demo.responses import DemoUsage

ROOT = Path(__file__).resolve().parents[2]
KEY = {"ANTHROPIC_API_KEY": "sk-ant-test-0123456789abcdef"}
MODEL = "anthropic/claude-sonnet-4-5/none"
PRICED = '[models."anthropic/claude-sonnet-4-5"]\nprice = { input = 10.0, output = 100.0 }\n'
USED = DemoUsage(input=1_000, thinking=0, answer=100)
COST, WORST = 0.02, 0.10
"""Dollars an answer costs, and dollars of the output limit alone."""
MUCH, MUCH_COST = DemoUsage(input=1_000, thinking=0, answer=900), 0.10
ANSWER: list[Step] = [{"say": "text", "text": "Because."}, {"end": True}]
LOOK: list[Step] = [{"say": "text", "text": "I look."}, {"call": "list_dir", "args": {"path": "."}}, {"end": True}]
BROKEN: list[Step] = [{"say": "text", "text": "Because it"}, {"eof": True}]
ALLOWED = '[permissions]\nallow = ["list_dir"]\n'


def configure(home: Path, server: FaultServer, limits: str, more: str = PRICED) -> None:
    around = f'[providers.anthropic]\nbase_url = "{server.url}"\n[generation]\nmaxOutput = 1000\n'
    config(home, f"{around}[budget]\n{limits}\n{ALLOWED}{more}")


@asynccontextmanager
async def limited(
    home: Path, script: list[list[Step]], limits: str, bill: DemoUsage = USED, **options: Any
) -> AsyncIterator[tuple[House, FaultServer]]:
    async with FaultServer(script, bill=bill, honest=True, own_ids=True) as server:
        configure(home, server, limits)
        async with house(home, model=MODEL, environment=KEY, stored_in="file", **options) as h:
            yield h, server


async def asked_or_over(h: House, words: str) -> list[AppEvent]:
    _, subscription = h.services.chat.attach()
    await h.services.chat.submit((TextBlock(text=words),))
    return await heard_until(subscription, ApprovalAsked, TurnFinished, TurnFailed)


async def answer(h: House, answer: str) -> list[AppEvent]:
    """Answer the open question; what is heard until the next one or the end."""
    _, subscription = h.services.chat.attach()
    [asked] = h.view().approvals
    await h.services.chat.answer_approval(asked.call_id, answer)
    return await heard_until(subscription, ApprovalAsked, TurnFinished, TurnFailed)


def question(events: list[AppEvent]) -> ApprovalAsked | None:
    return next((event for event in events if isinstance(event, ApprovalAsked)), None)


@pytest.mark.parametrize("scope", ["turn", "session", "day", "run"])
async def test_a_request_that_may_exceed_the_limit_waits_for_the_user(tmp_path: Path, scope: str) -> None:
    setting, max_cost = ("", 0.09) if scope == "run" else (f"{scope} = 0.09", None)
    async with limited(tmp_path, [ANSWER], setting, max_cost=max_cost) as (h, server):
        asked = question(await asked_or_over(h, "Why?"))
        assert asked is not None
        assert (asked.summary.startswith("This request may cost up to $0.1"), "$0 of $0.09" in asked.summary) == (
            True,
            True,
        )
        assert len(server.seen) == 0
        refused = await answer(h, "no")
        assert isinstance(refused[-1], TurnFailed)
        assert isinstance(refused[-1].error, BudgetReached)
        assert len(server.seen) == 0
        await asked_or_over(h, "Why?")
        assert isinstance((await answer(h, "once"))[-1], TurnFinished)
        assert len(server.seen) == 1
        assert question(await asked_or_over(h, "And this one?")) is not None
        assert isinstance((await answer(h, "session"))[-1], TurnFinished)
        assert len(server.seen) == 2


async def test_requests_are_sent_as_long_as_the_worst_case_fits(tmp_path: Path) -> None:
    async with limited(tmp_path, [ANSWER], "session = 0.165") as (h, server):
        for number in range(1, 10):
            asked = question(await asked_or_over(h, f"Question {number}"))
            if asked is not None:
                break
            assert WORST + COST * (number - 1) <= 0.165
        assert asked is not None
        assert len(server.seen) == number - 1
        assert 2 <= len(server.seen) <= 3
        assert f"${COST * len(server.seen):.2f}".rstrip("0") in asked.summary
        await answer(h, "session")
        assert len(server.seen) == number
        assert question(await asked_or_over(h, "More")) is None


async def test_a_tool_round_is_checked_too(tmp_path: Path) -> None:
    async with limited(tmp_path, [LOOK, ANSWER], "turn = 0.2", bill=MUCH, tools=True) as (h, server):
        asked = question(await asked_or_over(h, "Look."))
        assert (asked is not None, len(server.seen)) == (True, 1)
        ended = await answer(h, "no")
        assert (isinstance(ended[-1], TurnFailed), len(server.seen)) == (True, 1)
        # What came is kept, and the conversation goes on.
        texts = [block for m in h.view().turns[-1].messages for block in m.blocks if isinstance(block, TextBlock)]
        assert "I look." in [block.text for block in texts]


async def test_a_retry_is_checked_with_the_cost_of_the_attempt_before(tmp_path: Path) -> None:
    async with limited(tmp_path, [BROKEN, ANSWER], "turn = 0.115") as (h, server):
        asked = question(await asked_or_over(h, "word " * 900))
        assert (asked is not None, len(server.seen)) == (True, 1)
        assert isinstance((await answer(h, "once"))[-1], TurnFinished)
        assert len(server.seen) == 2


async def test_a_continuation_is_checked_with_what_the_answer_cost_so_far(tmp_path: Path) -> None:
    used = {"promptTokenCount": 1_000, "candidatesTokenCount": 500, "totalTokenCount": 1_500}
    content = {"role": "model", "parts": [{"text": "First part, "}]}
    cut = {"content": content, "finishReason": "CONTINUATION", "continuationToken": "token", "index": 0}
    first: list[Step] = [{"sse": [{"candidates": [cut], "usageMetadata": used}]}]
    priced = '[models."google/gemini-3.5-flash"]\nprice = { input = 10.0, output = 100.0 }\n'
    async with FaultServer([first, ANSWER], wire="gemini", bill=USED, honest=True) as server:
        around = f'[providers.google]\nbase_url = "{server.url}"\n[generation]\nmaxOutput = 1000\n'
        config(tmp_path, f"{around}[budget]\nturn = 0.15\n{priced}")
        key = {"GEMINI_API_KEY": "AIza" + "x" * 35}
        async with house(tmp_path, model="google/gemini-3.5-flash/low", environment=key, stored_in="file") as h:
            asked = question(await asked_or_over(h, "Tell all."))
            assert (asked is not None, len(server.seen)) == (True, 1)
            assert isinstance((await answer(h, "once"))[-1], TurnFinished)
            assert len(server.seen) == 2
            texts = [block.text for block in h.view().turns[0].messages[-1].blocks if isinstance(block, TextBlock)]
            assert texts[0].startswith("First part, ")


async def test_a_store_that_cannot_be_written_is_asked_about(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with closing(sqlite3.connect(tmp_path / "data" / "sessions.db")) as connection:
        connection.execute("PRAGMA user_version = 99")  # written by a newer version
    async with limited(tmp_path, [ANSWER], "day = 5.0") as (h, server):
        asked = question(await asked_or_over(h, "Why?"))
        assert asked is not None
        assert asked.summary.startswith("What was spent is unknown: ")
        assert len(server.seen) == 0
        assert isinstance((await answer(h, "once"))[-1], TurnFinished)
        assert len(server.seen) == 1


async def test_a_request_that_the_server_refused_costs_nothing(tmp_path: Path) -> None:
    refused: list[Step] = [{"status": 529, "json": {"type": "error", "error": {"type": "overloaded_error"}}}]
    async with limited(tmp_path, [refused, ANSWER], "turn = 0.115") as (h, server):
        assert question(await asked_or_over(h, "Why?")) is None
        assert len(server.seen) == 2


async def test_a_summary_is_checked_too(tmp_path: Path) -> None:
    async with limited(tmp_path, [ANSWER], "session = 0.15") as (h, server):
        for number in (1, 2):
            assert question(await asked_or_over(h, f"Question {number}")) is None
        await h.services.settings.assign("context.keepTurns", "0")
        await h.services.settings.assign("budget.session", "0.05")
        _, subscription = h.services.chat.attach()
        await h.services.chat.compress("")
        assert question(await heard_until(subscription, ApprovalAsked)) is not None
        _, subscription = h.services.chat.attach()
        await h.services.chat.answer_approval(h.view().approvals[0].call_id, "no")
        heard = await heard_until(subscription, CompressionFinished)
        [error] = [event.error for event in heard if isinstance(event, CompressionFinished)]
        assert "may cost up to" in error
        assert len(server.seen) == 2


async def test_cancelling_while_the_question_is_open_withdraws_it(tmp_path: Path) -> None:
    async with limited(tmp_path, [ANSWER], "day = 0.01") as (h, server):
        await asked_or_over(h, "Why?")
        _, subscription = h.services.chat.attach()
        await h.services.chat.cancel()  # returns before a slow end
        await heard_until(subscription, TurnFinished, TurnFailed)
        assert (h.view().approvals, h.view().open_turn, len(server.seen)) == ((), None, 0)


@pytest.mark.parametrize(("reply", "further"), [("once", True), ("model", False)])
async def test_an_unknown_price_is_asked_about(tmp_path: Path, reply: str, further: bool) -> None:
    async with FaultServer([ANSWER], wire="openai-chat", bill=USED, honest=True) as server:
        own = f'[providers.mine]\nwire = "openai-chat"\nauth = "none"\nbase_url = "{server.url}"\n'
        config(tmp_path, f"{own}[budget]\nday = 5.0\n")
        async with house(tmp_path, model="mine/model", stored_in="file") as h:
            asked = question(await asked_or_over(h, "Why?"))
            assert asked is not None
            assert "The price of mine/model is unknown" in asked.summary
            assert len(server.seen) == 0
            assert isinstance((await answer(h, reply))[-1], TurnFinished)
            assert (question(await asked_or_over(h, "Again?")) is not None) == further


async def test_a_local_model_costs_nothing(tmp_path: Path) -> None:
    async with FaultServer([ANSWER], wire="openai-chat", bill=USED, honest=True) as server:
        config(tmp_path, f'[providers.vllm]\nbase_url = "{server.url}"\n[budget]\nday = 0.0\n')
        async with house(tmp_path, model="vllm/model", stored_in="file") as h:
            assert question(await asked_or_over(h, "Why?")) is None
            assert len(server.seen) == 1


@pytest.mark.long
async def test_letters_typed_into_the_composer_allow_nothing(tmp_path: Path) -> None:
    async with FaultServer([ANSWER], bill=USED, honest=True) as server:
        configure(tmp_path, server, "day = 0.01")
        async with screen(tmp_path, model=MODEL, environment=KEY) as s:
            await s.enter("Why?")
            await s.until_it_says("This request may cost up to")
            await s.until_it_says("Raise the limit to")
            await s.pilot.press("y", "e", "s", "o", "1", "2")
            assert s.app.chat.composer.text == "yeso12"
            assert (len(s.house.view().approvals), len(server.seen)) == (1, 0)
            [asked] = s.house.view().approvals
            await s.house.services.chat.answer_approval(asked.call_id, "once")
            await until(s.pilot, lambda: len(s.house.view().turns) == 1)
            assert len(server.seen) == 1


async def test_a_session_that_is_resumed_keeps_its_total(tmp_path: Path) -> None:
    async with limited(tmp_path, [ANSWER], "session = 0.15") as (h, server):
        for number in (1, 2):
            assert question(await asked_or_over(h, f"Question {number}")) is None
        session = h.services.chat.session_id
    async with FaultServer([ANSWER], bill=USED, honest=True) as server:
        configure(tmp_path, server, "session = 0.13")
        async with house(tmp_path, model=MODEL, environment=KEY, stored_in="file", reopen=session) as h:
            asked = question(await asked_or_over(h, "Third?"))
            assert asked is not None
            assert "$0.040 of $0.13 are spent in this session" in asked.summary
            assert len(server.seen) == 0


PONDER = (sys.executable, "-m", "tui")


def around(home: Path) -> dict[str, str]:
    return {**os.environ, **KEY, "PONDER_HOME": str(home), "PYTHONPATH": str(ROOT)}


async def start(home: Path, *arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(*PONDER, "-m", MODEL, *arguments),
        env=around(home),
        cwd=home,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def run(home: Path, *arguments: str) -> tuple[int | None, str, str]:
    process = await start(home, *arguments)
    async with asyncio.timeout(PATIENCE_S):
        out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


@pytest.mark.long
async def test_two_windows_share_the_day_and_a_kill_loses_nothing(tmp_path: Path) -> None:
    hanging: list[Step] = [{"say": "text", "text": "Because it"}, {"hold": True}]
    async with FaultServer([hanging, ANSWER], bill=USED, honest=True, own_ids=True) as server:
        configure(tmp_path, server, "day = 0.15")
        first = await start(tmp_path, "-p", "Why?", "--no-tools")
        async with asyncio.timeout(PATIENCE_S):
            while not server.seen:  # the request is on its way, and its answer never ends
                await asyncio.sleep(0.01)
        code, out, err = await run(tmp_path, "-p", "Another?", "--no-tools")
        assert (code, out, len(server.seen)) == (4, "", 1)
        assert "of $0.15 are spent today" in err
        first.kill()
        await first.wait()
        code, out, err = await run(tmp_path, "-p", "And now?", "--no-tools", "--json")
        assert (code, len(server.seen)) == (4, 1)
        error = json.loads(out)["error"]
        assert (error["kind"], error["scope"], error["limit"]) == ("budget", "day", 0.15)
        assert WORST <= error["spent"] <= 0.15
        assert WORST <= error["may_cost"] <= 0.15
    with closing(sqlite3.connect(tmp_path / "data" / "sessions.db")) as connection:
        assert connection.execute("SELECT count(*) FROM spending WHERE NOT final").fetchall() == [(1,)]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("form", ["text", "json", "jsonl"])
async def test_a_run_that_reaches_its_limit_prints_what_came_and_is_4(tmp_path: Path, form: str) -> None:
    async with FaultServer([LOOK, ANSWER], bill=MUCH, honest=True, own_ids=True) as server:
        configure(tmp_path, server, "")
        options = () if form == "text" else (f"--{form}",)
        code, out, err = await run(tmp_path, "-p", "Look.", "--max-cost", "0.2", *options)
        assert (code, len(server.seen)) == (4, 1)
        if form == "text":
            assert "I look." in out
            assert "$0.10 of $0.20 are spent since ponder was started" in err
            assert "--max-cost" in err
            return
        last = json.loads(out.splitlines()[-1])
        assert (last["answer"], last["error"]["kind"]) == ("I look.", "budget")
        assert last["cost"] == pytest.approx(MUCH_COST)
        assert (last["error"]["scope"], last["error"]["spent"]) == ("run", pytest.approx(MUCH_COST))


@pytest.mark.long
async def test_a_run_without_a_known_price_and_with_a_limit_is_4(tmp_path: Path) -> None:
    async with FaultServer([ANSWER], wire="openai-chat", bill=USED, honest=True) as server:
        config(tmp_path, f'[providers.mine]\nwire = "openai-chat"\nauth = "none"\nbase_url = "{server.url}"\n')
        code, out, err = await run(tmp_path, "-p", "Why?", "-m", "mine/model", "--max-cost", "1")
        assert (code, out, server.seen) == (4, "", [])
        assert "The price of mine/model is unknown" in err


@pytest.mark.parametrize("amount", ["much", "-1", "nan", "inf", ""])
def test_an_amount_that_is_none_is_refused(ponder: Run, amount: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        ponder("-p", "Why?", f"--max-cost={amount}")
    assert ended.value.code == 2
    assert "is not an amount of dollars" in capsys.readouterr().err
