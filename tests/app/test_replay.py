"""A turn that was sent again to another model: both answers side by side, and enter continues with one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.screen_stage import screen
from tests.app.test_ask import FAST, FIRST, MODELS, THEN, servers, start
from tests.ui.stage import until
from tui.ui.dialogs.compare import CompareReplay


@pytest.mark.parametrize("keys", [("left", "enter"), ("enter",), pytest.param(("escape",), marks=pytest.mark.long)])
async def test_the_new_answer_arrives_beside_the_old_one(tmp_path: Path, keys: tuple[str, ...]) -> None:
    goes_back = keys != ("enter",)
    async with (
        servers(tmp_path, anthropic=[FIRST, FAST], openai=[THEN]),
        screen(tmp_path, **start(), size=(150, 40)) as s,
    ):
        await s.ask("First?")
        await s.ask("Second?")
        session, turns = s.house.services.chat.session_id, s.house.view().turns
        await s.enter(f"/replay {MODELS['openai'][1]}")
        await until(s.pilot, lambda: isinstance(s.app.screen, CompareReplay))
        for words in ("Second?", "Fast one.", "Further.", "1 claude-sonnet-4-5 · low ✓", "2 gpt-5.5 · low ✓"):
            await s.until_it_says(words)
        assert "To begin with." not in s.text(), "only the turn itself is compared"
        await s.pilot.press(*keys)
        await until(s.pilot, lambda: s.app.screen is s.app.chat)
        await until(s.pilot, lambda: (s.house.services.chat.session_id == session) is goes_back)
        await s.caught_up()
        assert (s.house.view().turns == turns) is goes_back
        await s.until_it_says("Fast one." if goes_back else "Further.")
        await s.until_it_says("claude-sonnet-4-5 · low" if goes_back else "gpt-5.5 · low")
        await s.until_toast(
            "Back in the original." if goes_back else "Continuing with gpt-5.5, in a session of its own."
        )
