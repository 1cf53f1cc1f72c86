"""What the main screens look like, as text; kept beside this file and looked at when they change."""

from __future__ import annotations

import pytest

from tests.ui import scenes
from tests.ui.stage import compare_snapshot, on_stage, screen_text, until

pytestmark = pytest.mark.frames

SIZES = [(80, 24), (120, 40), (200, 60)]


def name(screen: str, size: tuple[int, int]) -> str:
    return f"{screen}-{size[0]}x{size[1]}"


@pytest.mark.one_in(3)
@pytest.mark.parametrize("size", SIZES)
async def test_the_first_screen(size: tuple[int, int]) -> None:
    async with on_stage(size=size) as (app, _, _pilot):
        compare_snapshot(name("empty", size), screen_text(app))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("size", SIZES)
async def test_a_conversation(size: tuple[int, int]) -> None:
    async with on_stage(*scenes.CONVERSATION, size=size) as (app, _, _pilot):
        compare_snapshot(name("conversation", size), screen_text(app))


SHEETS = {
    "inspector": ("/context", "Sent: 62.4k tokens"),
    "settings": ("/settings", "The model to start with"),
    "themes": ("/theme", "Contrast at least"),
    "help": ("/help", "The composer: write"),
    "palette": ("", "Commands"),
    "models": ("/model", "Favourites"),
    "compare": ("/replay openai/gpt-6-sol/high", "2 claude-opus-5 · high ✓"),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("size", SIZES[:2])
async def test_the_sheets(size: tuple[int, int]) -> None:
    async with on_stage(*scenes.CONVERSATION, size=size) as (app, _, pilot):
        for sheet, (line, words) in SHEETS.items():
            if line:
                await app.ui_services.run_line(line)
            else:
                await pilot.press("ctrl+p")
            await until(pilot, lambda words=words: words in screen_text(app))  # type: ignore[misc]  # bound now
            await pilot.pause()
            compare_snapshot(name(sheet, size), screen_text(app))
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.chat)


async def test_without_box_drawing_sheets_have_no_frames() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(80, 24), values={"ui.plain": True}) as (app, _, pilot):
        await app.ui_services.run_line("/settings")
        await until(pilot, lambda: "The model to start with" in screen_text(app))
        assert not set(screen_text(app)) & set("╭╮╰╯┏┓")
