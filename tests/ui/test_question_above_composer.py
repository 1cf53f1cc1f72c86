"""The question whether a call may run leaves the conversation above it readable."""

from __future__ import annotations

import pytest

from tests.ui import scenes
from tests.ui.stage import on_stage, screen_text, until
from tui.domain.events import ApprovalAsked
from tui.ui.dialogs.approval import QUIET_S, Approval


@pytest.mark.frames  # the question is fitted to what is painted
@pytest.mark.one_in(2)
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_question_is_above_the_composer_and_what_led_to_it_can_be_read(size: tuple[int, int]) -> None:
    marks = ("I change the line that subtracts.", "ASKS", "Yes, once")
    said = scenes.words("\n\n".join([*map(str, range(40)), marks[0]]), index=0)
    rule = "write(/home/me/[[]work]/src/**)"
    what = ("write_file", "Write src/a.py", "+x = 1\n" * 10)
    asked = ApprovalAsked("live", "c9", *what, (rule,), "in /home/me", session="write(**)")
    async with on_stage(size=size) as (app, services, pilot):

        def is_above() -> bool:
            rows = screen_text(app).splitlines()
            found = [next((at for at, row in enumerate(rows) if mark in row), -1) for mark in marks]
            return -1 not in found and found == sorted(found) and found[-1] < app.chat.composer.region.y

        services.chat.publish(*scenes.begun("Do it"), *said, asked)
        await until(pilot, is_above)
        screen = app.screen
        assert isinstance(screen, Approval)
        assert screen._sheet.region.bottom <= app.chat.input_area.region.y
        screen._since -= QUIET_S
        await pilot.press("escape", "escape")
        await until(pilot, lambda: app.screen is app.chat and app.chat.conversation_area.styles.padding.bottom == 0)
