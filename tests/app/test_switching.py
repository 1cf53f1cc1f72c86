"""While another session is being opened there is none for a moment."""

from __future__ import annotations

from pathlib import Path

from tests.app.screen_stage import screen
from tests.app.stage import config
from tests.faultserver.player import Step
from tests.faultserver.server import FaultServer
from tests.ui.stage import type_in, until
from tui.engine.state import Phase


async def test_typing_between_two_sessions_does_not_stop_the_program(tmp_path: Path) -> None:
    async with screen(tmp_path, size=(90, 30)) as s:  # too narrow for the sidebar, whose panels would be made now
        await s.house.current.close()
        assert not s.house.services.chat.has_session
        await type_in(s.pilot, "half a thought")
        await until(s.pilot, lambda: not [worker for worker in s.app.workers if worker.group == "weigh"])
        assert s.app.is_running


async def test_the_status_line_names_the_model_that_answers_and_the_next_one(tmp_path: Path) -> None:
    scripts: list[list[Step]] = [[{"say": "text", "text": "Begun"}, {"hold": True}]]
    async with FaultServer(scripts, wire="anthropic") as server:
        config(tmp_path, f'[providers.anthropic]\nbase_url = "{server.url}"\n')
        started = {"model": "anthropic/claude-opus-4-5/med", "environment": {"ANTHROPIC_API_KEY": "sk-ant-test"}}
        async with screen(tmp_path, size=(140, 40), **started) as s:
            await s.enter("Why?")
            await until(s.pilot, lambda: s.house.view().phase is Phase.ANSWERING)
            await s.enter("/model demo/gemini/high")
            await s.until_it_says("· claude-opus-4-5 · med · next demo/gemini · high")
            await s.pilot.press("escape")
            await until(s.pilot, lambda: not s.app.chat.is_busy())
            await until(s.pilot, lambda: s.text().splitlines()[-2].split("│")[0].strip() == "demo/gemini · high")
