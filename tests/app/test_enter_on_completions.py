"""Enter takes the highlighted completion where what was typed is not valid, and runs it where nothing is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.screen_stage import Screen, screen
from tests.ui.stage import type_in, until


async def _type(s: Screen, text: str, offered: str) -> None:
    await type_in(s.pilot, text)
    await s.until_it_says(offered)


@pytest.mark.parametrize(
    ("typed", "offered", "model"),
    [
        pytest.param("/model demo/gem", "demo/gemini", "demo/gemini", marks=pytest.mark.long),
        ("/model DEMO/gem", "demo/gemini", "demo/gemini"),
        ("/model demo/gemini/hi", "demo/gemini/high", "demo/gemini/high"),
    ],
)
async def test_one_enter_completes_a_model_and_takes_it(tmp_path: Path, typed: str, offered: str, model: str) -> None:
    async with screen(tmp_path) as s:
        await _type(s, typed, offered)
        await s.pilot.press("enter")
        await until(s.pilot, lambda: str(s.house.view().spec).startswith(model))
        assert s.app.chat.composer.text == ""


@pytest.mark.long
async def test_a_valid_name_is_not_replaced_by_a_longer_one(tmp_path: Path) -> None:
    async with screen(tmp_path) as s:
        await _type(s, "/model demo/gemini", "demo/gemini")
        await s.pilot.press("enter")
        await until(s.pilot, lambda: str(s.house.view().spec).startswith("demo/gemini"))


async def test_a_row_that_was_moved_to_is_taken(tmp_path: Path) -> None:
    async with screen(tmp_path) as s:
        await _type(s, "/thinking ", "as it is now")
        rows = [row.label for row in s.house.services.models.levels()]
        await s.pilot.press("down", "enter")
        await until(s.pilot, lambda: str(s.house.view().spec).endswith(f"/{rows[1]}"))


@pytest.mark.long
async def test_one_enter_runs_a_command_that_needs_no_more_and_another_waits_for_its_argument(tmp_path: Path) -> None:
    async with screen(tmp_path) as s:
        await _type(s, "/hel", "/help")
        await s.pilot.press("enter")
        await s.until_it_says("search keys and commands")
        await s.pilot.press("escape")
        await until(s.pilot, lambda: s.app.screen is s.app.chat and not s.app.chat.composer.text)
        await _type(s, "/thinki", "/thinking LEVEL")
        await s.pilot.press("enter")
        await until(s.pilot, lambda: s.app.chat.composer.text == "/thinking ")


@pytest.mark.long
async def test_what_is_not_completed_by_a_row_is_sent_as_it_is_and_named_in_the_error(tmp_path: Path) -> None:
    async with screen(tmp_path) as s:
        await _type(s, "/model emini", "demo/gemini")
        await s.pilot.press("enter")
        await s.until_toast("There is no model emini")


@pytest.mark.long
async def test_an_unknown_theme_is_answered_with_those_there_are(tmp_path: Path) -> None:
    async with screen(tmp_path) as s:
        for typed, said in (
            ("light", "These are light: "),
            ("dark", "These are dark: "),
            ("dusq", "Did you mean dusk"),
            ("zzz", "There are auto, "),
        ):
            await type_in(s.pilot, f"/theme {typed}")
            await s.pilot.press("enter")
            await s.until_toast(f"There is no theme {typed}.")
            await s.until_it_says(said)
            s.app.chat.composer.load_text("")
