"""What the screen says about the prompt cache: its size, its time, its end, and what it saved."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.app.cached_answers import NOW, SetClock, answer
from tests.app.screen_stage import Screen, screen
from tests.app.stage import config
from tests.faultserver.player import Step
from tests.faultserver.server import FaultServer
from tests.ui.stage import Sizes, until
from tui.ui.chat import screen as chat_screen

KEY = "sk-ant-0123456789abcdef0123456789"
MODEL = "anthropic/claude-opus-5/med"
HOUR = 3_600.0
EXPIRED = "The prompt cache has expired"


@asynccontextmanager
async def cached(
    home: Path,
    *answers: list[Step],
    size: Sizes = (120, 40),
    clock: SetClock | None = None,
    model: str = MODEL,
    **options: Any,
) -> AsyncIterator[Screen]:
    async with FaultServer(answers, wire="anthropic", own_ids=True) as server:
        config(home, f'[providers.anthropic]\nbase_url = "{server.url}"\n')
        environment = {"ANTHROPIC_API_KEY": KEY}
        clock = clock or SetClock()
        async with screen(home, size=size, model=model, environment=environment, clock=clock, **options) as s:
            await until(s.pilot, lambda: not s.app.chat.sidebar.display or s.app.chat.sidebar.picker.filled)
            yield s


async def test_the_meter_says_what_is_cached_and_for_how_long(tmp_path: Path) -> None:
    async with cached(tmp_path, answer("One.", written=58_000), answer("Two.", read=58_000, written=4_000)) as s:
        await s.ask("Why?")
        await s.until_it_says("cached 58k · 60 min left")
        await s.until_it_says("in 58.1k (58k written)")
        clock = s.house.program.clock
        assert isinstance(clock, SetClock)
        clock.at += 19 * 60
        await s.ask("And?")  # a hit renews the hour
        await s.until_it_says("cached 62k · 60 min left")
        await s.until_it_says("(58k cached, 4k written)")
        await s.until_it_says("saved by the cache")


@pytest.mark.long
async def test_the_time_left_runs_on_without_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_screen, "CACHE_SHOWN_EVERY_S", 0.05)
    monkeypatch.setattr(chat_screen, "AFTER_THE_MINUTE_S", 0.0)
    async with cached(tmp_path, answer("One.", written=58_000)) as s:
        await s.ask("Why?")
        await s.until_it_says("60 min left")
        clock = s.house.program.clock
        assert isinstance(clock, SetClock)
        clock.at += 19 * 60
        await s.until_it_says("cached 58k · 41 min left")
        clock.at += HOUR
        await s.until_it_says(EXPIRED)
        await s.until_it_no_longer_says("cached 58k")


async def test_expiry_is_said_once_before_the_user_pays(tmp_path: Path) -> None:
    async with cached(tmp_path, answer("One.", written=178_000), answer("Two.", written=178_200)) as s:
        await s.ask("Why?")
        await s.until_it_says("cached 178k")
        clock = s.house.program.clock
        assert isinstance(clock, SetClock)
        clock.at += HOUR
        s.app.chat.composer.focus()
        await s.pilot.press("A")
        await s.until_it_says(EXPIRED)
        # 178,000 tokens written for an hour ($10), or read ($0.5).
        left = " ".join(line.partition("│")[0] for line in s.text().splitlines())
        assert f"{EXPIRED}: the next request costs about $1.78 instead of $0.089." in " ".join(left.split())
        await s.until_it_no_longer_says("cached 178k")
        await s.pilot.press("B", "C")
        assert s.text().count(EXPIRED) == 1
        await s.pilot.press("backspace", "backspace", "backspace")
        await s.ask("And?")
        await s.until_it_says("cached 178k · 60 min left")
        assert s.text().count(EXPIRED) == 1


@pytest.mark.long
async def test_a_session_resumed_in_time_has_its_cache_and_one_resumed_later_says_so(tmp_path: Path) -> None:
    clock = SetClock()
    async with cached(tmp_path, answer("One.", written=58_000), clock=clock, stored_in="file") as s:
        await s.ask("Why?")
        session = s.house.current.session_id
    clock = SetClock(NOW + 10 * 60)
    async with cached(tmp_path, answer("Two."), clock=clock, stored_in="file", reopen=session) as s:
        await s.until_it_says("cached 58k · 50 min left")
        assert EXPIRED not in s.text()
    clock = SetClock(NOW + 2 * HOUR)
    async with cached(tmp_path, answer("Two."), clock=clock, stored_in="file", reopen=session) as s:
        await s.until_it_says(EXPIRED)
        assert "cached 58k" not in s.text().replace("(58k", "")


async def test_the_status_line_says_it_where_there_is_room(tmp_path: Path) -> None:
    async with cached(tmp_path, answer("One.", written=58_000), size=(100, 30)) as s:
        await s.ask("Why?")
        await s.until_it_says("cached 58k, 60 min left")
        await s.pilot.resize_terminal(60, 24)
        await s.until_it_no_longer_says("cached 58k")


@pytest.mark.long
async def test_a_cache_without_a_known_lifetime_has_no_time_and_no_end_to_tell(tmp_path: Path) -> None:
    bare: Step = {
        "sse": [
            {"choices": [{"delta": {"role": "assistant", "content": "One."}, "index": 0, "finish_reason": None}]},
            {
                "choices": [{"delta": {}, "index": 0, "finish_reason": "stop"}],
                "usage": {
                    "prompt_tokens": 60_000,
                    "completion_tokens": 20,
                    "total_tokens": 60_020,
                    "prompt_cache_hit_tokens": 58_000,
                    "prompt_cache_miss_tokens": 2_000,
                },
            },
        ]
    }
    clock = SetClock()
    async with FaultServer([[bare]], wire="openai-chat", own_ids=True) as server:
        config(tmp_path, f'[providers.deepseek]\nbase_url = "{server.url}"\n')
        environment = {"DEEPSEEK_API_KEY": KEY}
        async with screen(tmp_path, model="deepseek/deepseek-v4-pro/high", environment=environment, clock=clock) as s:
            await s.ask("Why?")
            await s.until_it_says("cached 58k")
            assert "min left" not in s.text()
            clock.at += 2 * HOUR
            await s.enter("/set ui.bell off")
            await s.until_it_says("· saved")
            assert EXPIRED not in s.text()


@pytest.mark.long
async def test_on_a_low_screen_all_rows_of_the_sidebar_are_visible(tmp_path: Path) -> None:
    async with cached(tmp_path, answer("One.", read=58_000, written=1_000), size=(110, 30)) as s:
        await s.ask("Why?")
        await s.until_it_says("saved by the cache")
        await s.until_it_says("cached 59k · 60 min left")
        text = s.text()
        assert all(words in text for words in ("MODEL", "THINKING", "CONTEXT", "compress at", "SESSION", "1 turn"))
        panels = s.app.chat.sidebar.create_panels()
        assert panels.max_scroll_y == 0
