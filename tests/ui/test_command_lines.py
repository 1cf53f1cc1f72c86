"""Slash commands in the composer: a wrong one stays, none weighs anything, a new chat begins clean."""

from __future__ import annotations

import pytest

from tests.ui import scenes
from tests.ui.stage import on_stage, screen_text, type_in, until


@pytest.mark.parametrize("line", ["/modle x", "/branch sideways", "/set no.such.key 1"])
async def test_a_mistyped_command_stays_in_the_composer_to_be_mended(line: str) -> None:
    async with on_stage(*scenes.CONVERSATION, size=(100, 30)) as (app, _, pilot):
        app.chat.composer.put(line)
        await pilot.press("enter")
        await until(pilot, lambda: len(app._notifications) == 1)
        await until(pilot, lambda: app.chat.composer.text == line)


async def test_a_command_that_was_right_is_gone() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(100, 30)) as (app, _, pilot):
        app.chat.composer.put("/keys")
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is not app.chat)
        assert app.chat.composer.text == ""


async def test_a_command_being_typed_weighs_nothing_and_a_path_does() -> None:
    async with on_stage(size=(100, 30)) as (_, services, pilot):
        weighed = services.chat.weighed
        weighed.clear()
        await type_in(pilot, "/model x")
        await until(pilot, lambda: bool(weighed))
        assert set(weighed) == {""}
        await pilot.press("ctrl+c")
        await type_in(pilot, "/etc/hosts is short")
        await until(pilot, lambda: weighed[-1] == "/etc/hosts is short")


async def test_a_new_chat_has_no_answer_to_follow() -> None:
    async with on_stage(*scenes.CONVERSATION, size=(100, 24)) as (app, services, pilot):
        await pilot.press("pageup")
        await until(pilot, lambda: "↓" in screen_text(app))
        await app.ui_services.run_line("/new")
        await until(pilot, lambda: ("new", None) in services.chat.asked or services.chat.asked != [])
        await until(pilot, lambda: "↓" not in screen_text(app))
