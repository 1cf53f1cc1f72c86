"""The answers on all branches of a turn, side by side."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.screen_stage import screen
from tests.app.test_ask import FAST, MODELS, servers, start
from tests.faultserver.player import Step
from tests.ui.stage import type_in, until
from tui.ui.dialogs.ask import CompareBranches

SECOND: list[Step] = [{"say": "text", "text": "Another answer."}, {"end": True}]
THIRD: list[Step] = [{"say": "text", "text": "The third one."}, {"end": True}]


async def test_three_answers_stand_beside_each_other_and_enter_opens_one(tmp_path: Path) -> None:
    async with servers(tmp_path, anthropic=[FAST, SECOND, THIRD]), screen(tmp_path, **start(), size=(200, 60)) as s:
        await s.ask("Why?")
        first = s.house.view().turns[0]
        for number in range(2):
            await s.house.services.chat.retry(s.house.view().turns[0].id, "high" if number else "")
            await until(s.pilot, lambda: not s.app.chat.is_busy() and s.turns_drawn() == 1)
            await s.caught_up()
            await until(s.pilot, lambda: s.house.view().open_turn is None and bool(s.house.view().turns))
        await s.enter("/compare")
        await until(s.pilot, lambda: isinstance(s.app.screen, CompareBranches))
        for words in (
            "3 answers",
            "Fast one.",
            "Another answer.",
            "The third one.",
            "Why?",
            "▎ 3 claude-sonnet-4-5 · high",
        ):
            await s.until_it_says(words)
        await s.pilot.press("1", "enter")
        await until(s.pilot, lambda: [turn.id for turn in s.house.view().turns] == [first.id])


@pytest.mark.long
async def test_a_single_answer_cannot_be_compared(tmp_path: Path) -> None:
    async with servers(tmp_path), screen(tmp_path, **start()) as s:
        await s.ask(f"Why? {MODELS['anthropic'][0]}")
        await type_in(s.pilot, "/compare")
        await s.pilot.press("enter")
        await s.until_toast("only one answer")
