"""What the sheet of models says about a model is what is sent to that model."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest

from tests.app.screen_stage import screen
from tests.ui.stage import type_in, until
from tui.cli.plan import planned_for
from tui.cli.user_catalog import user_catalog
from tui.domain.format_numbers import tokens
from tui.domain.thinking import ThinkingLevel
from tui.ui.panels.model_picker import page_of
from tui.ui.panels.panels import WidePanels


async def test_everything_on_the_sheet_is_of_the_model_at_the_bar_as_ponder_plan_says_it(tmp_path: Path) -> None:
    mine = user_catalog({"PONDER_HOME": str(tmp_path), "HOME": str(tmp_path)})

    async with screen(tmp_path, model="demo/demo/med") as s:
        service = s.house.services.models
        await s.pilot.press("ctrl+t")
        await s.until_it_says("→ 43,008 tokens")
        thinking = s.app.screen.query_one(WidePanels).thinking
        models = service.models()
        assert len(models) > 100
        for model in models:
            args = Namespace(name=f"{model.spec}/med", thinking_budget=None, context_tokens=None, max_output=None)
            facts, made = planned_for(args, mine)
            thinking.show_levels_of(model.spec)
            assert f"→ {made.native}" in str(thinking.render()), model.spec
            page = page_of(model, service, 60).plain
            assert (tokens(facts.context_window) if facts.context_window else "unknown") in page
            word = model.thinking.partition(",")[0]
            assert (word == "budget") == isinstance(made.sent, int), model.spec
            assert word != "effort" or isinstance(made.sent, str), model.spec

        await type_in(s.pilot, "anthropic/claude-sonnet-5-5")
        await s.until_it_says("→ effort medium")
        assert "1M tokens" in s.text()
        await s.pilot.press("tab", "right")
        await s.until_it_says("→ effort high")
        await s.pilot.press("enter")
        await s.until_it_says("Key for anthropic")


@pytest.mark.long
async def test_a_level_chosen_for_another_model_chooses_both(tmp_path: Path) -> None:
    async with screen(tmp_path, model="demo/demo/med") as s:
        await s.pilot.press("ctrl+t")
        await s.until_it_says("Model and thinking")
        await type_in(s.pilot, "demo/gemini")
        await until(s.pilot, lambda: "provider  Demo" in s.text() and "gemini" in s.text().splitlines()[6])
        await s.pilot.press("tab", "right", "enter")
        await until(s.pilot, lambda: str(s.house.current.spec) == f"demo/gemini/{ThinkingLevel.HIGH}")
        await s.until_it_no_longer_says("Model and thinking")


@pytest.mark.long
async def test_rows_say_window_price_and_state_and_the_sidebar_lists_one_demo(tmp_path: Path) -> None:
    async with screen(tmp_path, model="demo/demo/med") as s:
        await until(s.pilot, lambda: s.app.chat.sidebar.picker.filled)
        listed = [line[91:].strip() for line in s.text().splitlines()]
        assert listed[2:5] == ["MODEL", "● demo", "+ 14 providers: /key"]
        await s.pilot.press("ctrl+t")
        await s.until_it_says("→ 43,008 tokens")
        await type_in(s.pilot, "claude-opus-4-5")
        await s.until_it_says("$25 per million tokens")
        row = next(line for line in s.text().splitlines() if "anthropic/claude-opus-4-5" in line)
        assert row.partition("anthropic/")[2].split()[:4] == ["claude-opus-4-5", "200k", "$5/$25", "no"]
