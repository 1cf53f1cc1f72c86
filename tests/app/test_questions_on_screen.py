"""Questions about tool calls in the program around the demo: the keys that work over them, and what answers cover."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.app.screen_stage import Screen, screen
from tests.ui.stage import until
from tui.ui.dialogs.approval import QUIET_S, Approval


@asynccontextmanager
async def asking(home: Path, prompt: str) -> AsyncIterator[tuple[Screen, Approval]]:
    """A program in which the demo asks for the first of its calls."""
    async with screen(home, tools=True) as s:
        await s.enter(prompt)
        await until(s.pilot, lambda: isinstance(s.app.screen, Approval))
        question = s.app.screen
        assert isinstance(question, Approval)
        await s.until_it_says("Yes, once")
        past_quiet_time(question)
        yield s, question
        await s.house.services.chat.cancel()
        await until(s.pilot, lambda: not s.app.chat.is_busy())


def past_quiet_time(question: Approval) -> None:
    question._since -= QUIET_S


@pytest.mark.long
async def test_help_and_the_palette_open_over_a_question_and_closing_them_denies_nothing(tmp_path: Path) -> None:
    async with asking(tmp_path, "make a bug") as (s, question):
        for key, words in (("f1", "search keys and commands"), ("ctrl+p", "filter commands")):
            await s.pilot.press(key)
            await s.until_it_says(words)
            opened_at = question._now()
            question._now = lambda opened_at=opened_at: opened_at  # type: ignore[misc]  # the keys come at once
            past_quiet_time(question)
            await s.pilot.press("escape", "escape")
            await until(s.pilot, lambda: s.app.screen is question)
        past_quiet_time(question)
        assert "esc again denies" not in s.text()
        assert "denied" not in s.text()
        assert len(s.house.view().approvals) >= 1


async def test_a_session_chosen_in_the_palette_over_a_question_leaves_the_question_open(tmp_path: Path) -> None:
    async with asking(tmp_path, "make a bug") as (s, question):
        asked = s.house.view().session
        await s.pilot.press("ctrl+p")
        await s.until_it_says("filter commands")
        await s.pilot.press(*"new chat")
        await s.until_it_says("1 of ")
        await s.pilot.press("enter")
        await until(s.pilot, lambda: s.house.view().session != asked and s.app.screen is s.app.chat)
        await s.house.services.chat.open_session(asked)
        s.app.chat.open()
        await until(s.pilot, lambda: isinstance(s.app.screen, Approval) and s.app.screen is not question)
        assert len(s.house.view().approvals) >= 1
