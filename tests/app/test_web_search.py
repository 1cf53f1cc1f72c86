"""The web search of a provider: switched on, asked for, shown, paid and sent back, over the whole program."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.app.billing_server import BillingServer
from tests.app.screen_stage import Screen, screen
from tests.app.search_server import SearchServer, Step, failed, found, said, search
from tests.app.stage import config, exported, house
from tests.ui.stage import until
from tui.domain.usage import Part
from tui.ui.transcript.web_search import Sources

KEY = {"ANTHROPIC_API_KEY": "sk-ant-test-0123456789abcdef"}
MODEL = "anthropic/claude-opus-5/high"
LIGHT = ("https://physics.example/c", "The speed of light")
METRE = ("https://metre.example/", "Metre")
NATIVE = {"type": "web_search_20260209", "name": "web_search", "allowed_callers": ["direct"]}
SEARCHED: Step = (
    [
        said("I look it up."),
        search(1, "speed of light"),
        found(1, LIGHT, METRE),
        said("It is "),
        said("299 792 458 m/s", LIGHT, METRE),
        said(" exactly."),
    ],
    "end_turn",
    1,
)
PLAIN: Step = ([said("You are welcome.")], "end_turn", 0)
COST = (2_000 * 5 + 100 * 25) / 1_000_000
"""Of the tokens of one answer of the server, at the prices of the model."""


def configured(home: Path, server: SearchServer, more: str = "") -> None:
    config(home, f'[cache]\nttl = "off"\n[providers.anthropic]\nbase_url = "{server.url}"\n{more}')


@asynccontextmanager
async def on_screen(home: Path, *steps: Step, **options: Any) -> AsyncIterator[tuple[Screen, SearchServer]]:
    async with SearchServer(list(steps)) as server:
        configured(home, server)
        async with screen(home, model=MODEL, environment=KEY, **options) as s:
            yield s, server
        assert server.problems == []


def native(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The tools of the provider in a request."""
    return [tool for tool in body.get("tools", ()) if "input_schema" not in tool]


async def test_a_search_from_the_switch_to_the_bill(tmp_path: Path) -> None:
    async with on_screen(tmp_path, PLAIN, SEARCHED, PLAIN) as (s, server):
        await s.ask("How fast is light?")
        await s.enter("/tools on web_search")
        await s.until_toast("web_search is on")
        assert (
            "Anthropic searches the web when the model asks for it. You are not asked. $10.00 for 1,000" in s.toasts()
        )
        await s.ask("Look it up.")
        await s.until_it_says('web_search  "speed of light"')
        await s.until_it_says("2 results")
        await s.until_it_says("It is 299 792 458 m/s [1][2] exactly.")
        await s.until_it_says("[1] The speed of light  https://physics.example/c")
        await s.until_it_says("1 search")
        await s.ask("Thanks.")

        assert [native(body) for body in server.bodies] == [[], [NATIVE], [NATIVE]]
        sent = server.bodies[2]["messages"]
        assert [message["content"] for message in sent if message["role"] == "assistant"][1] == SEARCHED[0]
        assert s.house.services.chat.bill().complete
        assert s.house.services.chat.bill().dollars == pytest.approx(3 * COST + 0.01)
        assert [row.searches for row in s.house.services.chat.bill().models] == [1]


@pytest.mark.long
async def test_an_opened_session_shows_searches_and_sources_again(tmp_path: Path) -> None:
    async with SearchServer([SEARCHED, PLAIN]) as server:
        configured(tmp_path, server)
        how: dict[str, Any] = {
            "model": MODEL,
            "environment": KEY,
            "stored_in": "file",
            "assignments": ("tools.webSearch=true",),
        }
        async with house(tmp_path, **how) as h:
            await h.say("How fast is light?")
            session = h.view().session
        async with screen(tmp_path, reopen=session, **how) as s:
            await s.until_it_says('web_search  "speed of light"')
            await s.until_it_says("2 results")
            await s.until_it_says("[2] Metre  https://metre.example/")
            assert any(isinstance(block, Sources) for block in s.app.chat.transcript.column.sections[-1].blocks)
            await s.ask("Thanks.")
            sent = server.bodies[1]["messages"][1]["content"]
            assert sent == SEARCHED[0]
            for form, words in (
                ("md", "[The speed of light](<https://physics.example/c>)"),
                ("html", 'href="https://p'),
            ):
                assert words in await exported(s.house.services.library, session, form, "all")  # type: ignore[arg-type]


async def test_a_paused_answer_goes_on_with_its_search(tmp_path: Path) -> None:
    paused: Step = ([said("I look it up."), search(1, "speed of light")], "pause_turn", 0)
    rest: Step = ([found(1, LIGHT), said("Fast.", LIGHT)], "end_turn", 1)
    async with on_screen(tmp_path, paused, rest) as (s, server):
        await s.enter("/set tools.webSearch true")
        await s.ask("How fast is light?")
        await s.until_it_says("Fast. [1]")
        await s.until_it_says("[1] The speed of light  https://physics.example/c")

        last = server.bodies[1]["messages"][-1]
        assert last == {"role": "assistant", "content": paused[0]}
        assert s.house.services.chat.bill().dollars == pytest.approx(2 * COST + 0.01)


async def test_a_failed_search_is_told(tmp_path: Path) -> None:
    steps: Step = ([search(1, "light"), failed(1, "max_uses_exceeded"), said("I do not know.")], "end_turn", 0)
    async with on_screen(tmp_path, steps) as (s, _):
        await s.enter("/tools on web_search")
        await s.ask("How fast is light?")
        await s.until_it_says("✗ web_search")
        await s.until_it_says("the limit of searches in one request was reached")


async def test_the_search_is_a_row_of_the_tools_and_a_command_of_the_palette(tmp_path: Path) -> None:
    async with on_screen(tmp_path, size=(120, 40)) as (s, _):
        await s.enter("/tools")
        await s.until_it_says("[ ] web_search")
        await s.pilot.press("end", "space")
        await s.until_it_says("[x] web_search")
        await s.until_it_says("Anthropic searches the web when")
        await s.pilot.press("escape")
        await until(s.pilot, lambda: s.app.screen is s.app.chat)
        assert s.house.services.settings.layers().value("tools.webSearch") is True
        await s.app.ui_services.run_id("tools.web_search")
        await s.until_toast("web_search is off")
        assert s.house.services.settings.layers().value("tools.webSearch") is False


@pytest.mark.long
async def test_a_model_without_a_search_says_so_and_is_asked_without(tmp_path: Path) -> None:
    async with screen(tmp_path) as s:
        await s.enter("/tools on web_search")
        await s.until_toast("fast has no web search of its own at Demo")
        await s.ask("Hello")
        await s.until_it_says("fast has no web search of its own: it answers without one.")


async def test_the_meter_counts_the_search_as_it_is_sent(tmp_path: Path) -> None:
    async with SearchServer([SEARCHED]) as server:
        configured(tmp_path, server)
        async with house(tmp_path, model=MODEL, environment=KEY) as h:
            before = await h.meter()
            await h.services.tools.enable_tool("web_search", enabled=True)
            after = await h.meter()
            assert (before.parts[Part.TOOLS], 1_800 < after.parts[Part.TOOLS] < 2_100) == (0, True)
            assert h.services.tools.tools_sent().tokens == after.parts[Part.TOOLS]
            await h.say("How fast is light?")
            reading = await h.meter()
            # The results go back, so they count. The reported input has them too, so nothing is learnt from it.
            assert reading.effective < 4_000


Run = Callable[..., tuple[int, str, str]]


async def test_a_script_gets_sources_searches_and_the_fee(
    tmp_path: Path, ponder: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY["ANTHROPIC_API_KEY"])
    arguments = ("-p", "How fast is light?", "-m", MODEL, "--set", "tools.webSearch=true")
    async with SearchServer([SEARCHED, SEARCHED]) as server:
        configured(tmp_path, server)
        code, out, err = await asyncio.to_thread(ponder, *arguments)
        assert code == 0
        assert out == (
            "I look it up.\n\nIt is 299 792 458 m/s exactly.\n\nSources:\n"
            "[1] The speed of light  https://physics.example/c\n[2] Metre  https://metre.example/\n"
        )
        assert 'web_search "speed of light"' in err
        code, out, err = await asyncio.to_thread(ponder, *arguments, "--json")
        result = json.loads(out)
        assert (code, result["usage"]["searches"], result["cost"]) == (0, 1, pytest.approx(COST + 0.01))
        assert [page["url"] for page in result["sources"]] == [LIGHT[0], METRE[0]]
        code, out, err = await asyncio.to_thread(ponder, "cost", "--json")
        assert json.loads(out)["total"]["searches_usd"] == pytest.approx(0.02)
        code, out, err = await asyncio.to_thread(ponder, "cost")
        assert "web searches     $0.02" in out


async def test_no_tools_means_no_search(tmp_path: Path, ponder: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY["ANTHROPIC_API_KEY"])
    async with SearchServer([PLAIN]) as server:
        configured(tmp_path, server)
        await asyncio.to_thread(ponder, "-p", "Hi", "-m", MODEL, "--set", "tools.webSearch=true", "--no-tools")
        assert "tools" not in server.bodies[0]


async def test_switching_it_says_beforehand_what_is_written_to_the_cache_again(tmp_path: Path) -> None:
    async with BillingServer((0,)) as server:
        config(
            tmp_path,
            f'[generation]\nsystem = "{"Be brief. " * 600}"\n[providers.anthropic]\nbase_url = "{server.url}"\n',
        )
        async with house(tmp_path, model=MODEL, environment=KEY) as h:
            await h.say("How fast is light?")
            told = h.services.tools.cost_of_enabling("web_search", enabled=True)
            assert told.startswith("rewrites ")
            assert await h.services.tools.enable_tool("web_search", enabled=True) == told
            await h.say("And now?")
            assert server.charges[1].usage.read == 0
            assert h.services.tools.cost_of_enabling("web_search", enabled=True) == ""
