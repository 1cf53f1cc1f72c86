"""Find in the conversation: what is found and marked, and where its bar stands."""

from __future__ import annotations

import pytest

from tests.ui import scenes
from tests.ui.stage import on_stage, screen_text, type_in, until
from tui.ui.input.field import Field


@pytest.mark.frames
async def test_words_are_found_in_folded_thinking_which_opens_and_stepped_through() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(100, 30)) as (app, _, pilot):
        await pilot.press("ctrl+f")
        await type_in(pilot, "dishonest")
        await until(pilot, lambda: "1 of 1" in screen_text(app) and "dishonest." in screen_text(app))
        transcript = app.chat.transcript
        marked = app.chat.selections[transcript]
        assert marked.start is not None
        line = transcript.render_line(marked.start.y - transcript.column.top)
        assert [part.text for part in line if part.style is not None and part.style.reverse] == ["dishonest"]
        await pilot.press(*(["backspace"] * 9))
        await type_in(pilot, "drake")
        await until(pilot, lambda: " of 9" in screen_text(app))
        marks = [part for y in range(transcript.size.height) for part in transcript.render_line(y) if part.style]
        filled = [part.text for part in marks if part.style is not None and part.style.reverse]
        assert [word.lower() for word in filled] == ["drake"]
        await pilot.press("enter", "n", "n", "N")
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat)


@pytest.mark.frames
@pytest.mark.long
async def test_what_is_typed_letter_by_letter_is_searched_from_where_the_user_was_reading() -> None:
    turns = [scenes.turn("And?", f"{'Words. ' * 300}\n\nThe deadline {number}.", number) for number in range(1, 6)]
    async with on_stage(*turns, size=(100, 30)) as (app, _, pilot):
        await until(pilot, lambda: "The deadline 5." in screen_text(app))
        await pilot.press("ctrl+f")
        await until(pilot, lambda: isinstance(app.focused, Field))
        for letter in "deadline":
            await pilot.press(letter)
        await until(pilot, lambda: "5 of 5" in screen_text(app) and "The deadline 5." in screen_text(app))


async def test_find_names_its_keys_on_the_last_row_as_many_as_fit() -> None:
    def last_row() -> str:
        return screen_text(app).splitlines()[-1]

    async with on_stage(size=(24, 30)) as (app, _, pilot):
        await pilot.press("ctrl+f")
        await until(pilot, lambda: "esc close" in last_row() and "previous, next" not in last_row())
        await pilot.resize_terminal(100, 30)
        await until(pilot, lambda: last_row().split() == ["enter", "next", "↑↓", "previous,", "next", "esc", "close"])
        assert "claude-opus-5" in screen_text(app).splitlines()[-2]


async def test_the_bar_of_find_follows_the_conversation_below_it() -> None:
    async with on_stage(size=(200, 40)) as (app, _, pilot):
        await pilot.press("ctrl+f")
        bar, area = app.screen.query_one(".sheet"), app.chat.conversation_area
        area.styles.width, area.styles.margin = 60, (0, 0, 0, 10)
        app.chat._refresh_layout()  # as for a new size, which may reach the chat after the bar
        await until(pilot, lambda: (bar.region.x, bar.region.width) == (area.region.x, 60))


async def test_find_covers_no_conversation_without_box_drawing_either() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(80, 24), values={"ui.plain": True}) as (app, _, pilot):
        await app.ui_services.run_line("/find class Drake")
        await until(pilot, lambda: "1 of 3" in screen_text(app))
        rows = screen_text(app).splitlines()
        assert "find" in rows[-3]
        assert any("grep" in row and "class Drake" in row for row in rows[:-3])


async def test_nothing_found_is_said() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(100, 30)) as (app, _, pilot):
        await app.ui_services.run_line("/find xyzzy")
        await until(pilot, lambda: "nothing found" in screen_text(app))
