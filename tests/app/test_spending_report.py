"""``/cost`` and ``ponder cost``: what was spent, from the ledger of a real program."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.app.conftest import Run
from tests.app.screen_stage import screen
from tests.app.stage import config, house
from tests.faultserver.player import Step
from tests.faultserver.server import FaultServer
from tests.ui.stage import type_in, until
from tui.app.spending_report import BAR_COLUMNS, LINE_COLUMNS
from tui.providers.demo.responses import DemoUsage

KEY = {"ANTHROPIC_API_KEY": "sk-ant-test-0123456789abcdef"}
MODEL = "anthropic/claude-sonnet-4-5/low"
PRICED = '[models."anthropic/claude-sonnet-4-5"]\nprice = { input = 10.0, output = 100.0, cache_read = 1.0 }\n'
ANSWER: list[Step] = [{"say": "thinking", "text": "Hm."}, {"say": "text", "text": "Because."}, {"end": True}]
USED = DemoUsage(input=10_000, thinking=2_000, answer=1_000)
COST = 0.1 + 0.3


async def spent(home: Path, *prompts: str) -> None:
    """Answers of a priced model."""
    async with FaultServer([ANSWER], bill=USED, honest=True, own_ids=True) as server:
        config(home, f'[providers.anthropic]\nbase_url = "{server.url}"\n{PRICED}')
        async with house(home, model=MODEL, environment=KEY, stored_in="file") as h:
            for prompt in prompts:
                await h.say(prompt)


def change(home: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(home / "data" / "sessions.db")) as connection:
        connection.execute(statement, values)
        connection.commit()


def reported(ponder: Run, *options: str) -> dict[str, Any]:
    code, out, err = ponder("cost", "--json", *options)
    assert (code, err) == (0, "")
    report: dict[str, Any] = json.loads(out)
    return report


async def test_nothing_was_spent_yet(tmp_path: Path, ponder: Run) -> None:
    code, out, _ = ponder("cost")
    assert code == 0
    assert out.startswith("Nothing was spent since ")
    assert not (tmp_path / "data").exists()
    assert reported(ponder)["rows"] == []


async def test_days_models_and_sessions(tmp_path: Path, ponder: Run) -> None:
    await spent(tmp_path, "First?", "Second?")
    two_days_ago = time.time() - 2 * 86_400
    change(tmp_path, "UPDATE spending SET created = ? WHERE seq = 1", two_days_ago)
    change(tmp_path, "UPDATE spending SET model = 'anthropic/claude-opus-5' WHERE seq = 1")
    days = reported(ponder)
    assert (days["by"], [row["requests"] for row in days["rows"]]) == ("day", [1, 0, 1])
    assert [row["usd"] for row in days["rows"]] == [pytest.approx(COST), None, pytest.approx(COST)]
    assert days["rows"][0]["key"] == time.strftime("%Y-%m-%d", time.localtime(two_days_ago))
    assert days["total"]["usd"] == pytest.approx(2 * COST)
    models = reported(ponder, "--by", "model")["rows"]
    assert {row["key"] for row in models} == {"anthropic/claude-opus-5", "anthropic/claude-sonnet-4-5"}
    [session] = reported(ponder, "--by", "session")["rows"]
    assert (session["label"], session["requests"]) == ("First?", 2)
    assert reported(ponder, "--days", "1")["total"]["requests"] == 1
    _, text, _ = ponder("cost")
    assert "█" * BAR_COLUMNS in text
    assert f"total            ${2 * COST:.2f} for 2 requests" in text


async def test_thinking_and_cache_savings_have_lines_of_their_own(tmp_path: Path, ponder: Run) -> None:
    await spent(tmp_path, "Why?")
    change(tmp_path, "UPDATE spending SET usage = json_set(usage, '$.cache_read', 8000)")
    total = reported(ponder)["total"]
    assert total["cache_saved_usd"] == pytest.approx(8_000 * 9 / 1e6)
    _, text, _ = ponder("cost", "--by", "model")
    assert "saved by caches  $0.072" in text
    assert total["thinking_usd"] > 0
    assert f"thinking         ${total['thinking_usd']:.2f}" in text


async def test_writes_that_cost_more_than_they_saved_are_a_loss(tmp_path: Path, ponder: Run) -> None:
    await spent(tmp_path, "Why?")
    change(tmp_path, "UPDATE spending SET usage = json_set(usage, '$.cache_write', 8000)")
    priced = PRICED.replace("cache_read = 1.0", "cache_read = 1.0, cache_write = 12.5")
    config(tmp_path, priced)
    assert reported(ponder)["total"]["cache_saved_usd"] == pytest.approx(-8_000 * 2.5 / 1e6)
    assert "lost by caches   $0.020" in ponder("cost")[1]


async def test_an_unknown_cost_is_said_as_at_least(tmp_path: Path, ponder: Run) -> None:
    await spent(tmp_path, "Why?", "And this?")
    change(tmp_path, "UPDATE spending SET cost = NULL, final = 0, reserved = 0.5 WHERE seq = 1")
    whole = reported(ponder)
    assert whole["total"]["unknown"] == 1
    assert whole["uncertain_usd"] == 0.5
    text = ponder("cost")[1]
    assert f"total            at least ${COST:.2f}" in text
    assert "1 request without a complete cost" in text
    assert "up to $0.50 more may have been spent" in text


async def test_deleting_a_session_for_good_keeps_what_it_cost(tmp_path: Path, ponder: Run) -> None:
    await spent(tmp_path, "Why?")
    session = reported(ponder, "--by", "session")["rows"][0]["key"]
    assert (await asyncio.to_thread(ponder, "sessions", "delete", "--forever", session))[0] == 0
    [row] = reported(ponder, "--by", "session")["rows"]
    assert (row["key"], row["usd"]) == (session, pytest.approx(COST))
    assert row["label"].startswith("session ")


async def test_a_fork_counts_once(tmp_path: Path, ponder: Run) -> None:
    async with FaultServer([ANSWER], bill=USED, honest=True, own_ids=True) as server:
        config(tmp_path, f'[providers.anthropic]\nbase_url = "{server.url}"\n{PRICED}')
        async with house(tmp_path, model=MODEL, environment=KEY, stored_in="file") as h:
            await h.say("Why?")
            await h.services.chat.fork(h.view().turns[0].id)
    assert reported(ponder)["total"]["requests"] == 1


@pytest.mark.parametrize("days", ["0", "-1", "many", "99999999"])
def test_a_wrong_number_of_days_is_refused(ponder: Run, days: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        ponder("cost", f"--days={days}")
    assert ended.value.code == 2
    assert "is not a number of days" in capsys.readouterr().err


@pytest.mark.long
async def test_the_screen_shows_the_chart(tmp_path: Path) -> None:
    async with FaultServer([ANSWER], bill=USED, honest=True, own_ids=True) as server:
        config(tmp_path, f'[providers.anthropic]\nbase_url = "{server.url}"\n{PRICED}')
        async with screen(tmp_path, model=MODEL, environment=KEY, stored_in="file") as s:
            await s.ask("Why?")
            await s.enter("/cost")
            await s.until_it_says("saved by caches")
            numbers = ["1", "10k", "1k", "2k", f"${COST:.2f}"]
            wanted = (
                [time.strftime("%Y-%m-%d"), *numbers, "━" * LINE_COLUMNS],
                ["anthropic/claude-sonnet-4-5", *numbers],
            )

            def rows() -> list[str]:
                """The words of each row; beside the sheet, what is below it is seen."""
                return [" ".join(line.split()) for line in s.text().splitlines()]

            def is_shown(row: list[str]) -> bool:
                return any(f"│ {' '.join(row)} " in line for line in rows())

            await until(s.pilot, lambda: all(map(is_shown, wanted)))  # the sheet grows to its rows
            assert f"${COST:.2f} for 1 request since " in s.text()
            await s.pilot.press("escape")
            await type_in(s.pilot, "/cost many")
            await s.pilot.press("enter")
            await s.until_it_says("is not a number of days")
