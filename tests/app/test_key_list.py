"""Keys are entered from a list of providers, which every mention of ``/key`` leads to."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.screen_stage import screen
from tests.ui.stage import type_in, until


async def test_key_alone_lists_the_providers_and_leads_to_the_dialog(tmp_path: Path) -> None:
    async with screen(tmp_path, model=None, environment={"OPENAI_API_KEY": "sk-0123456789abcdef"}) as s:
        await s.enter("/key")
        await s.until_it_says("enter a key")
        rows = [" ".join(row.strip(" │").split()) for row in s.text().splitlines()]
        assert any("● OpenAI OPENAI_API_KEY found" in row for row in rows)
        assert any("Anthropic no key" in row for row in rows)
        await type_in(s.pilot, "anthr")
        await s.until_it_no_longer_says("OPENAI_API_KEY found │")
        await s.pilot.press("enter")
        await s.until_it_says("Key for anthropic")
        await s.pilot.press("escape")
        await s.until_it_says("enter a key")


@pytest.mark.long
async def test_a_click_on_what_counts_the_providers_lists_them(tmp_path: Path) -> None:
    async with screen(tmp_path, model="demo/demo/med") as s:
        for part in (slice(0, 80), slice(91, 120)):
            await until(s.pilot, lambda: s.text().count("providers: /key") == 2)
            rows = s.text().splitlines()
            row = next(y for y, text in enumerate(rows) if "providers: /key" in text[part])
            await s.pilot.click(offset=(part.start + 5, row))
            await s.until_it_says("enter a key")
            await s.pilot.press("escape")
            await s.until_it_no_longer_says("enter a key")
