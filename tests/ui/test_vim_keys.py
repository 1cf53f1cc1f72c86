"""The composer with the keys of vim."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from textual.pilot import Pilot

from tests.ui import scenes
from tests.ui.fake_services import FakeServices
from tests.ui.stage import on_stage, screen_text, type_in, until
from tui.ui.app import PonderApp
from tui.ui.input.composer import Composer

Sizes = tuple[int, int]


@asynccontextmanager
async def _composer(
    size: Sizes = (100, 30), *, vim: bool = True
) -> AsyncIterator[tuple[PonderApp, FakeServices, Pilot[int], Composer]]:
    async with on_stage(size=size, values={"ui.vim": vim}) as (app, services, pilot):
        yield app, services, pilot, app.chat.composer


def _mode(app: PonderApp) -> str:
    lines = [line.strip() for line in screen_text(app).splitlines()]
    modes = ("INSERT", "NORMAL", "VISUAL LINE", "VISUAL")
    return next((mode for line in lines for mode in modes if line.startswith(mode)), "")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_mode_is_shown_at_the_left_of_the_status_line(size: Sizes) -> None:
    async with _composer(size) as (app, _, pilot, composer):
        await until(pilot, lambda: _mode(app) == "INSERT")
        await type_in(pilot, "some words")
        await pilot.press("escape")
        await until(pilot, lambda: _mode(app) == "NORMAL")
        await type_in(pilot, "V")
        await until(pilot, lambda: _mode(app) == "VISUAL LINE")
        await type_in(pilot, "v")
        await until(pilot, lambda: _mode(app) == "VISUAL")
        assert composer.text == "some words"


async def test_without_the_setting_nothing_changes_and_it_can_be_switched() -> None:
    async with _composer(vim=False) as (app, services, pilot, composer):
        await type_in(pilot, "hello")
        await pilot.press("escape")
        await type_in(pilot, "x")
        await until(pilot, lambda: composer.text == "hellox")
        assert _mode(app) == ""
        await services.settings.assign("ui.vim", "true")
        await until(pilot, lambda: _mode(app) == "INSERT")
        await pilot.press("escape")
        await type_in(pilot, "x")
        await until(pilot, lambda: composer.text == "hello")
        await services.settings.assign("ui.vim", "false")
        await until(pilot, lambda: _mode(app) == "")
        await type_in(pilot, "x")
        await until(pilot, lambda: composer.text == "hellxo")


async def test_operators_text_objects_and_undo_change_the_draft() -> None:
    async with _composer() as (app, _, pilot, composer):
        await type_in(pilot, "one two three")
        await pilot.press("escape")
        await type_in(pilot, "bdiw")
        await until(pilot, lambda: composer.text == "one two ")
        await type_in(pilot, "0ciwfirst")
        await pilot.press("escape")
        await until(pilot, lambda: composer.text == "first two ")
        await type_in(pilot, "w.")
        await until(pilot, lambda: composer.text == "first first ")
        await type_in(pilot, "uu")
        await until(pilot, lambda: composer.text == "one two ")
        await pilot.press("ctrl+r")
        await until(pilot, lambda: composer.text == "first two ")
        assert app.screen is app.chat  # ctrl+r opened no history
        await type_in(pilot, "9u")
        await until(pilot, lambda: composer.text == "")


async def test_the_selection_is_visible_and_has_both_ends() -> None:
    async with _composer() as (_, _, pilot, composer):
        composer.put("one 👨‍👩‍👧 two")
        await pilot.press("escape")
        await type_in(pilot, "0wvh")
        await until(pilot, lambda: composer.selected_text == " 👨‍👩‍👧")
        await type_in(pilot, "d")
        await until(pilot, lambda: composer.text == "one two")
        await type_in(pilot, "V")
        await until(pilot, lambda: composer.selected_text == "one two")
        await pilot.press("escape")
        await until(pilot, lambda: composer.selected_text == "")
        await type_in(pilot, "x")
        await until(pilot, lambda: composer.text == "onetwo")


async def test_enter_sends_from_every_mode_but_visual_and_a_new_draft_is_inserted() -> None:
    async with _composer() as (app, services, pilot, composer):
        await type_in(pilot, "question")
        await pilot.press("escape", "enter")
        await until(pilot, lambda: not composer.text)
        await until(pilot, lambda: _mode(app) == "INSERT")
        view = app.chat.view()
        assert view is not None
        await until(pilot, lambda: any("question" in str(call) for call in services.chat.asked))
        await type_in(pilot, "abc")
        await until(pilot, lambda: composer.text == "abc")
        await pilot.press("escape")
        await type_in(pilot, "u")
        await until(pilot, lambda: composer.text == "")  # what was sent does not come back


async def test_escape_does_one_thing_after_the_other() -> None:
    async with _composer() as (app, services, pilot, composer):
        services.chat.publish(*scenes.begun())
        await until(pilot, app.chat.is_busy)
        await type_in(pilot, "abc")
        await pilot.press("escape")
        await until(pilot, lambda: _mode(app) == "NORMAL")
        await type_in(pilot, "d")
        await pilot.press("escape")
        await type_in(pilot, "h")
        await until(pilot, lambda: composer.cursor_location == (0, 1))
        assert services.chat.asked == []
        await pilot.press("escape")
        await until(pilot, lambda: services.chat.asked == [("cancel", None)])
        assert composer.text == "abc"


async def test_j_and_k_beyond_the_draft_show_other_prompts() -> None:
    async with _composer() as (_, _, pilot, composer):
        await type_in(pilot, "mine")
        await pilot.press("escape")
        await type_in(pilot, "k")
        await until(pilot, lambda: composer.text == "Write a haiku about tokens")
        await type_in(pilot, "kk")
        await until(pilot, lambda: composer.text == "What is a monad?")
        await type_in(pilot, "jjj")
        await until(pilot, lambda: composer.text == "mine")


async def test_a_slash_in_an_empty_draft_begins_a_command() -> None:
    async with _composer() as (app, _, pilot, composer):
        await pilot.press("escape")
        await until(pilot, lambda: _mode(app) == "NORMAL")
        await type_in(pilot, "/the")
        await until(pilot, lambda: composer.text == "/the" and composer.popup_open)
        await pilot.press("escape")
        await until(pilot, lambda: not composer.popup_open)
        assert _mode(app) == "INSERT"


@pytest.mark.long
async def test_a_key_right_after_escape_is_not_lost() -> None:
    async with _composer() as (app, _, pilot, composer):
        await type_in(pilot, "one two")
        await pilot.press("alt+b", "D")
        await until(pilot, lambda: composer.text == "one ")
        assert _mode(app) == "NORMAL"


async def test_a_paste_in_normal_mode_is_one_change() -> None:
    async with _composer() as (_, _, pilot, composer):
        await type_in(pilot, "ab")
        await pilot.press("escape")
        composer.paste_text("XYZ")
        await until(pilot, lambda: "XYZ" in composer.text)
        await type_in(pilot, "u")
        await until(pilot, lambda: composer.text == "ab")
