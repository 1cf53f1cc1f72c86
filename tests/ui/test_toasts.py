"""Short messages: where they are shown, and what they do not cover."""

from __future__ import annotations

from functools import partial

import pytest
from textual.widgets._toast import Toast

from tests.ui import scenes
from tests.ui.stage import on_stage, screen_text, until
from tui.domain.events import CompressionFinished, Notice, Severity
from tui.ui.app import PonderApp


def is_shown(app: PonderApp, text: str) -> bool:
    return text in screen_text(app)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("size", [(200, 60), (120, 40), (80, 24)])
async def test_a_toast_stands_on_the_line_above_the_composer_and_covers_nothing(size: tuple[int, int]) -> None:
    async with on_stage(*scenes.CONVERSATION, size=size) as (app, _, pilot):
        before = screen_text(app).splitlines()
        (line,) = [number for number, row in enumerate(before) if "─" * 40 in row]
        for _ in range(3):
            app.say("A `sentence` of what was just done.", advice="And another one.")
        await until(pilot, lambda: "A sentence of what was just done. · And another one." in screen_text(app))
        await until(pilot, lambda: app.screen.query(Toast).last().region.y == line)
        after = screen_text(app).splitlines()
        assert [number for number, row in enumerate(after) if row != before[number]] == [line]
        assert after[line].count("A sentence") == 1
        assert app.screen.query(Toast).last().region.right <= app.chat.query_one("#input-area").region.right


async def test_a_message_stands_beside_what_the_line_above_the_composer_says() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(160, 40)) as (app, _, pilot):
        await pilot.press("escape", "escape")
        await until(pilot, lambda: is_shown(app, "its answer moves to a branch · esc cancels"))
        app.say("Something was copied.")
        line = app.chat.input_area.region.y
        both = ("editing turn 2 of 2 · its answer moves to a branch · esc cancels", "Something was copied.")
        await until(pilot, lambda: all(words in screen_text(app).splitlines()[line] for words in both))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen.query(Toast).last().region.x == app.chat.input_area.region.x)


@pytest.mark.long
async def test_a_message_that_has_no_room_beside_those_words_stands_above_them() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(80, 24)) as (app, _, pilot):
        await pilot.press("escape", "escape")
        await until(pilot, lambda: is_shown(app, "its answer moves to a branch · esc cancels"))
        app.say("Something was copied.")
        line = app.chat.input_area.region.y
        await until(pilot, lambda: "Something was copied." in screen_text(app).splitlines()[line - 1])
        assert "its answer moves to a branch · esc cancels" in screen_text(app).splitlines()[line]
        await until(pilot, lambda: not app.screen.query(Toast).last().region.overlaps(app.chat.transcript.region))


async def test_that_it_compresses_is_said_no_longer_than_it_does() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(120, 40)) as (app, services, pilot):
        app.say("Compressing 2 turns: 900 → about 300 tokens")
        await until(pilot, lambda: len(app.screen.query(Toast)) == 1)
        services.chat.publish(CompressionFinished(900, 300))
        await until(pilot, lambda: not app.screen.query(Toast))


async def test_a_message_of_several_rows_moves_the_conversation_up_while_it_is_shown() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(80, 24)) as (app, _, pilot):
        area = app.chat.query_one("#conversation-area")
        height, last = area.size.height, screen_text(app).splitlines()[area.region.bottom - 2]
        assert "at least $0.36" in last
        app.say("A long sentence about what cannot be done here. " * 5, Severity.WARNING)
        await until(pilot, lambda: [toast.outer_size.height for toast in app.screen.query(Toast)] == [4])
        await until(pilot, lambda: area.size.height == height - 3)
        assert not app.screen.query(Toast).last().region.overlaps(area.region)
        await until(pilot, lambda: screen_text(app).splitlines()[area.region.bottom - 2] == last)
        await pilot.click(Toast)
        app.say("Short.")
        await until(pilot, lambda: area.size.height == height)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("size", [(200, 60), (120, 40)])
async def test_a_long_message_is_as_wide_as_the_composer(size: tuple[int, int]) -> None:
    async with on_stage(*scenes.CONVERSATION, size=size) as (app, _, pilot):
        app.say("A long sentence about what cannot be done here. " * 5, Severity.WARNING)
        area = app.chat.query_one("#input-area").region
        await until(pilot, lambda: [toast.region.right for toast in app.screen.query(Toast)] == [area.right])
        assert app.screen.query(Toast).last().region.x == area.x


async def test_a_message_stays_above_a_draft_that_grows() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(120, 40)) as (app, _, pilot):
        app.say("Saved.")
        await until(pilot, lambda: "Saved." in screen_text(app))
        app.chat.composer.put("one\ntwo\nthree\nfour")
        area = app.chat.query_one("#input-area")
        await until(pilot, lambda: area.region.height == 6)
        await until(pilot, lambda: [toast.region.y for toast in app.screen.query(Toast)] == [area.region.y])
        await pilot.press("ctrl+c")
        await until(pilot, lambda: area.region.height == 3)
        await until(pilot, lambda: [toast.region.y for toast in app.screen.query(Toast)] == [area.region.y])


async def test_what_the_conversation_says_itself_is_no_message_above_the_composer() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(120, 40)) as (app, services, pilot):
        app.say("The model is `opus` now.")
        await until(pilot, lambda: len(app.screen.query(Toast)) == 1)
        services.chat.publish(Notice(Severity.INFO, "The model is `opus` now."))
        await until(pilot, lambda: not app.screen.query(Toast))
        await until(pilot, lambda: screen_text(app).count("The model is opus now.") == 1)
        app.say("The model is `opus` now.")
        app.say("Something else.")
        await until(pilot, lambda: "Something else." in screen_text(app))
        assert len(app.screen.query(Toast)) == 1


async def test_what_the_conversation_says_out_of_view_is_a_message_too() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(120, 24)) as (app, services, pilot):
        app.chat.transcript.focus()
        await pilot.press("g")
        await until(pilot, lambda: not app.chat.transcript.column.following)
        services.chat.publish(CompressionFinished(900, 900, error="There is no finished turn to compress."))
        await until(pilot, lambda: "Not compressed: There is no finished turn to compress." in screen_text(app))
        assert len(app.screen.query(Toast)) == 1


@pytest.mark.long
async def test_a_toast_of_a_sheet_does_not_cover_it() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(120, 40)) as (app, _, pilot):
        await pilot.press("ctrl+t")
        await until(pilot, lambda: "Model and thinking" in screen_text(app))
        app.say("Done.")
        await until(pilot, lambda: "Done." in screen_text(app).splitlines()[-1])
        assert screen_text(app).count("Done.") == 1
        assert not app.screen.query(Toast).last().region.overlaps(app.screen.query_one(".sheet").region)


@pytest.mark.long
async def test_a_warning_stands_right_above_the_message_that_replaced_others() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(120, 40)) as (app, _, pilot):
        line = app.chat.query_one("#input-area").region.y
        app.say("A warning that stays.", Severity.WARNING)
        for said in ("First.", "Second.", "Third."):
            app.say(said)
            await until(pilot, partial(is_shown, app, said))
        await until(pilot, lambda: [toast.region.y for toast in app.screen.query(Toast)] == [line - 1, line])
        assert is_shown(app, "A warning that stays.")
        assert is_shown(app, "Third.")
