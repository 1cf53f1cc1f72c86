"""The settings screen: found by typing, changed in place, saved or not."""

from __future__ import annotations

import pytest

from tests.ui.stage import on_stage, screen_text, type_in, until
from tui.settings.layers import Layer
from tui.settings.schema import keys
from tui.settings.titles import TITLES
from tui.ui.app import PonderApp
from tui.ui.dialogs.settings import GROUPS


def test_every_group_of_settings_has_a_title_and_is_listed() -> None:
    assert list(GROUPS) == list(dict.fromkeys(name.rpartition(".")[0] for name in keys()))
    assert list(TITLES) == list(keys())


async def test_rows_say_what_holds_where_a_value_comes_from_and_how_a_change_is_kept() -> None:
    async with on_stage(size=(120, 50), values={"context.keepTurns": 4}) as (app, _, pilot):
        await app.ui_services.run_line("/settings")
        await until(pilot, lambda: "Context window" in screen_text(app))
        assert "claude-opus-5/high" in line_with(app, "Model to start with")
        assert line_with(app, "Compress at").split()[2:8] == ["at", "85", "%", "of", "usable", "window"]
        assert "config.toml" in line_with(app, "Turns never compressed")
        assert "default" not in line_with(app, "Compress automatically")
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat)
        await app.ui_services.run_line("/set tools.maxCalls 9")
        await app.ui_services.run_line("/set tools.maxCalls")
        await until(pilot, lambda: "this session" in line_with(app, "Most calls in a turn"))
        assert "config.toml keeps them for others" in screen_text(app)


@pytest.mark.long
async def test_a_setting_is_found_changed_in_place_and_taken_back() -> None:
    async with on_stage(size=(120, 30)) as (app, services, pilot):
        await app.ui_services.run_line("/settings")
        await type_in(pilot, "strip")
        await until(pilot, lambda: "The finished turns that are sent without their thinking" in screen_text(app))
        await pilot.press("enter", "tab", "enter")
        await until(pilot, lambda: services.settings.layers().value("reasoning.stripFromContext") == "allButLast")
        await until(pilot, lambda: "session" in screen_text(app))
        await pilot.press("ctrl+u")
        await until(pilot, lambda: services.settings.layers().value("reasoning.stripFromContext") == "none")


async def test_settings_are_changed_with_arrows_and_space_and_saved_or_not() -> None:
    async with on_stage(size=(120, 40)) as (app, services, pilot):
        await app.ui_services.run_line("/settings ")
        await until(pilot, lambda: "Appearance" in screen_text(app) or "Thinking" in screen_text(app))
        await type_in(pilot, "when an answer ends")
        await until(pilot, lambda: f"1 of {len(keys())}" in screen_text(app))
        await pilot.press("right")
        await until(pilot, lambda: services.settings.layers().value("ui.bell") == "notify")
        await pilot.press("left", "tab", "left")
        await until(pilot, lambda: services.settings.layers().value("ui.bell") == "off")
        await pilot.press("s")
        await until(pilot, lambda: services.settings.layers().provenance("ui.bell").layer is Layer.SAVED)
        await until(pilot, lambda: "saved" in line_with(app, "ui.bell"))
        await pilot.press("s")
        await until(pilot, lambda: services.settings.layers().provenance("ui.bell").layer is Layer.SESSION)


@pytest.mark.long
async def test_booleans_switch_with_space_where_a_group_has_a_human_title() -> None:
    async with on_stage(size=(120, 40)) as (app, services, pilot):
        await app.ui_services.run_line("/settings")
        await until(pilot, lambda: "Let models think" in screen_text(app))
        await pilot.press("down", "down", "space")
        await until(pilot, lambda: services.settings.layers().value("reasoning.enabled") is False)
        assert line_with(app, "reasoning.enabled").split()[1:6] == ["Let", "models", "think", "○", "off"]
        await type_in(pilot, "theme")
        await until(pilot, lambda: "■■■■■■" in line_with(app, "ui.theme"))


def line_with(app: PonderApp, words: str) -> str:
    return next((line for line in screen_text(app).splitlines() if words in line), "")


@pytest.mark.long
async def test_a_wrong_value_is_told_and_the_field_stays() -> None:
    async with on_stage(size=(120, 30)) as (app, _services, pilot):
        await app.ui_services.run_line("/set context.compressAt")
        await pilot.pause()
        await pilot.press("enter", "ctrl+a", "ctrl+k")
        await type_in(pilot, "7")
        await pilot.press("enter")
        await until(pilot, lambda: "out of range" in screen_text(app))
        assert "Settings › context.compressAt" in screen_text(app)
        await pilot.press("escape", "escape")
        await until(pilot, lambda: app.screen is app.chat)


@pytest.mark.long
async def test_quick_presses_are_all_counted() -> None:
    async with on_stage(size=(120, 40)) as (app, services, pilot):
        await app.ui_services.run_line("/settings")
        await type_in(pilot, "stripFrom")
        await until(pilot, lambda: f"1 of {len(keys())}" in screen_text(app))
        await pilot.press("tab", *["right"] * 5)
        await until(pilot, lambda: services.settings.layers().value("reasoning.stripFromContext") == "all")
