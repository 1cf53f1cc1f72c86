"""A conversation with a server that keeps a real prompt cache: what ponder shows is what the server charged."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.app.billing_server import MODEL, BillingServer
from tests.app.conftest import Run
from tests.app.screen_stage import screen
from tests.app.stage import House, config, heard_until, house
from tests.ui.stage import until
from tui.domain.cost import Cost
from tui.domain.events import CompressionFinished

KEY = {"ANTHROPIC_API_KEY": "sk-ant-test-0123456789abcdef"}
SHORT = (2, 0, 0, 1, 3, 0, 25, 0, 0, 1, 0)
"""Calls of each answer: 6 turns, one of them with a step of 50 blocks."""
LONG = (2, 0, 0, 1, 3, 0, 25, 0, 0, 1, 0, 1, 2, 1, 0, 30, 2, 0, 0, 1, 0) * 4
"""40 turns."""


def prepare(home: Path, server: BillingServer, ttl: str = "auto") -> dict[str, Any]:
    """Write the settings and the files that are read, and return how the program is started."""
    home.mkdir(exist_ok=True)
    for number in range(3):
        text = "\n".join(f"Line {line} of the notes, number {number}." for line in range(120))
        (home / f"notes{number}.md").write_text(text)
    config(home, f"[providers.anthropic]\nbase_url = '{server.url}'\n[cache]\nttl = '{ttl}'\n")
    return {"model": f"anthropic/{MODEL}/med", "environment": KEY, "tools": True, "stored_in": "file"}


async def converse(home: Path, server: BillingServer, ttl: str = "auto") -> str:
    """Play a conversation, closing and resuming the program in the middle; returns the session."""
    started, turns = prepare(home, server, ttl), server.script.count(0)
    async with house(home, **started) as h:
        session = h.current.session_id
        for number in range(turns // 2):
            await h.say(f"Question {number}? " * 10)
        left = h.view().turns
    async with house(home, reopen=session, **started) as h:
        assert [turn.messages for turn in h.view().turns] == [turn.messages for turn in left]
        for number in range(turns // 2, turns):
            await h.say(f"Question {number}? " * 10)
        assert h.services.chat.bill().cost.dollars == pytest.approx(server.dollars, abs=1e-9)
    assert len(server.charges) == len(server.script)
    return session


async def printed(session: str, ponder: Run) -> tuple[float, float]:
    """The cost of the session by each command that prints it."""
    code, context, err = await asyncio.to_thread(ponder, "context", "--session", session, "--json")
    assert code == 0, err
    code, rows, err = await asyncio.to_thread(ponder, "sessions", "list", "--json")
    assert code == 0, err
    row = json.loads(rows)
    return json.loads(context)["cost"]["dollars"], row["cost"]


@pytest.mark.long
async def test_what_is_shown_is_what_was_charged(tmp_path: Path, ponder: Run) -> None:
    async with BillingServer(SHORT) as server:
        session = await converse(tmp_path, server)
    assert server.hit_rate >= 0.95
    assert all(charge.usage.read > 0 for charge in server.charges[1:]), "a restart does not lose the cache"
    assert {charge.usage.ttl for charge in server.charges} == {"1h"}
    assert await printed(session, ponder) == pytest.approx((server.dollars, server.dollars), abs=1e-5)


async def test_after_the_lifetime_everything_is_written_again_and_shown_so(tmp_path: Path) -> None:
    async with BillingServer((0,)) as server:
        started = prepare(tmp_path, server, "5m")
        async with house(tmp_path, **started) as h:
            await h.say("Why?")
            server.cache.now += 301
            await h.say("And?")
            await h.say("Then?")
            assert h.services.chat.bill().cost.dollars == pytest.approx(server.dollars, abs=1e-9)
    assert [charge.usage.read > 0 for charge in server.charges] == [False, False, True]
    assert {charge.usage.ttl for charge in server.charges} == {"5m"}


@pytest.mark.long
async def test_forty_turns_cost_a_quarter_of_what_they_cost_without_the_cache(tmp_path: Path, ponder: Run) -> None:
    async with BillingServer(LONG) as uncached:
        await converse(tmp_path / "off", uncached, "off")
    async with BillingServer(LONG) as server:
        session = await converse(tmp_path, server)
        started = prepare(tmp_path, server)
        async with screen(tmp_path, reopen=session, **started) as s:
            amount = Cost(dollars=server.dollars, unknown=0).amount
            await until(s.pilot, lambda: amount in s.text().partition("SESSION")[2])
            assert amount in s.text().partition("SESSION")[2].splitlines()[1]
    assert server.script.count(0) == 40
    assert server.hit_rate >= 0.95
    assert server.dollars <= 0.25 * uncached.dollars
    assert await printed(session, ponder) == pytest.approx((server.dollars, server.dollars), abs=1e-5)


@pytest.mark.parametrize(
    ("arguments", "ttl"),
    [
        ((), "5m"),
        (("--set", "tools.enabled=false"), None),
        (("--set", "cache.ttl=1h"), "1h"),
        (("--set", "cache.ttl=1h", "--set", "tools.enabled=false"), "1h"),
        (("--set", "cache.ttl=off"), None),
    ],
)
async def test_a_question_without_tools_keeps_nothing(
    arguments: tuple[str, ...], ttl: str | None, tmp_path: Path, ponder: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY["ANTHROPIC_API_KEY"])
    async with BillingServer((0,)) as server:
        prepare(tmp_path, server)
        code, out, err = await asyncio.to_thread(ponder, "-p", "Why?", "-m", MODEL, "--json", *arguments)
    assert code == 0, err
    [charge] = server.charges
    assert charge.body.get("cache_control") == (None if ttl is None else {"type": "ephemeral", "ttl": ttl})
    assert json.loads(out)["cost"] == pytest.approx(server.dollars, abs=1e-6)


@asynccontextmanager
async def discussed(home: Path, server: BillingServer, level: str, ttl: str = "auto") -> AsyncIterator[House]:
    """A conversation of five turns, of which two can be compressed."""
    async with house(home, **{**prepare(home, server, ttl), "model": f"anthropic/{MODEL}/{level}"}) as h:
        for number in range(5):
            await h.say(f"Question {number}? " * 400)
        yield h


async def compress(h: House) -> CompressionFinished:
    _, subscription = h.services.chat.attach()
    await h.services.chat.compress("Keep the numbers.")
    heard = await heard_until(subscription, CompressionFinished)
    return next(event for event in heard if isinstance(event, CompressionFinished))


async def test_a_summary_reads_the_conversation_from_the_cache(tmp_path: Path) -> None:
    async with BillingServer((0,)) as server, discussed(tmp_path, server, "none") as h:
        finished = await compress(h)
        *_, last, summary = server.charges
        assert not finished.error
        assert h.view().compression is not None
        assert h.services.chat.bill().cost.dollars == pytest.approx(server.dollars, abs=1e-9)
    assert summary.body["tools"] == last.body["tools"]
    assert summary.usage.read >= 0.95 * last.input
    closing = summary.body["messages"][-1]["content"][-1]["text"]
    assert "the part before the user's message that begins with “Question 2?" in closing
    assert "The user asks that the summary heeds this: Keep the numbers." in closing
    [run] = finished.runs
    assert run.cost == pytest.approx(summary.dollars, abs=1e-9)


@pytest.mark.parametrize(
    ("level", "ttl"),
    [("high", "auto"), ("none", "off")],
    ids=["thinking costs more than the cache saves", "nothing is cached"],
)
@pytest.mark.long
async def test_a_summary_is_asked_for_apart_where_that_is_cheaper(level: str, ttl: str, tmp_path: Path) -> None:
    async with BillingServer((0,)) as server, discussed(tmp_path, server, level, ttl) as h:
        assert not (await compress(h)).error
    summary = server.charges[-1].body
    assert "tools" not in summary
    assert len(summary["messages"]) == 1


async def test_a_summary_that_became_something_else_is_asked_for_apart(tmp_path: Path) -> None:
    async with BillingServer((0, 0, 0, 0, 0, 1, 0)) as server, discussed(tmp_path, server, "none") as h:
        finished = await compress(h)
        assert not finished.error
        assert h.services.chat.bill().cost.dollars == pytest.approx(server.dollars, abs=1e-9)
    in_place, apart = server.charges[-2:]
    assert "tools" in in_place.body
    assert "tools" not in apart.body
    assert len(finished.runs) == 2


@pytest.mark.long
async def test_the_inspector_says_where_the_marks_are(tmp_path: Path) -> None:
    async with BillingServer((0,)) as server, screen(tmp_path, **prepare(tmp_path, server)) as s:
        await s.ask("Why?")
        await s.ask("And?")
        await s.pilot.press("f12")
        await s.until_it_says("breakpoints: tools, turn 2; kept 1h")
        await s.pilot.press("escape")
        await s.enter("/set cache.ttl off")
        await s.pilot.press("f12")
        await s.until_it_says("Sent: ")
        assert "breakpoints" not in s.text()
