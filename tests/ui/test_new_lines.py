"""The mark of new lines counts what arrived, not what is drawn otherwise."""

from __future__ import annotations

import pytest

from tests.ui import scenes
from tests.ui.stage import on_stage, screen_text, until

WIDE = "```\n" + "\n".join("word " * 40 for _ in range(30)) + "\n```"


def mark_of(text: str) -> str:
    """What the last row of the conversation says at its right end."""
    return next((row.split("↓")[1].strip() for row in text.splitlines() if " ↓" in row), "none")


@pytest.mark.frames
@pytest.mark.long
async def test_resizing_wrapping_and_finding_bring_nothing_new() -> None:
    async with on_stage(scenes.turn("Why?", WIDE, 1), scenes.turn("And?", WIDE, 2), size=(100, 24)) as (app, _, pilot):
        await until(pilot, lambda: "word word" in screen_text(app))
        app.chat.transcript.focus()
        await until(pilot, lambda: app.chat.transcript.has_focus)
        await pilot.press("g")
        await until(pilot, lambda: mark_of(screen_text(app)) == "")
        await pilot.resize_terminal(70, 24)
        await until(pilot, lambda: app.chat.transcript.column.width < 70)
        await pilot.press("j", "w")
        await pilot.pause()
        assert mark_of(screen_text(app)) == ""
        await app.ui_services.run_line("/find word")
        await until(pilot, lambda: " of 2000" in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat and mark_of(screen_text(app)) == "")
