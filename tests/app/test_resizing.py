"""A window that becomes larger: nothing stays cut, tall or marked as it was in the small one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.screen_stage import screen
from tests.ui.stage import type_in, until

TITLE = "Which settings of the screen hold at once"
DRAFT = "a draft that needs three rows in a narrow window"


@pytest.mark.long
async def test_title_draft_and_follow_mark_fit_the_larger_window(tmp_path: Path) -> None:
    async with screen(tmp_path, size=(24, 10)) as s:
        await s.ask(TITLE)
        assert TITLE not in s.text()
        s.app.chat.transcript.scroll_home(animate=False)
        await until(s.pilot, lambda: s.app.chat.query_one("#below").display)
        s.app.chat.composer.focus()
        await type_in(s.pilot, DRAFT)
        await until(s.pilot, lambda: s.app.chat.composer.size.height > 1)

        await s.pilot.resize_terminal(120, 100)
        await until(s.pilot, lambda: TITLE in s.text().splitlines()[0])
        await until(s.pilot, lambda: s.app.chat.composer.size.height == 1)
        await until(s.pilot, lambda: not s.app.chat.query_one("#below").display)
        assert s.app.chat.transcript.column.following

        await s.pilot.resize_terminal(24, 30)
        await until(s.pilot, lambda: s.app.chat.composer.size.height > 1)
