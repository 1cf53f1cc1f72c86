"""Settings of the screen are kept for the next start, below config.toml."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.app.screen_stage import screen
from tests.app.stage import config, house
from tui.domain.errors import UsageError
from tui.settings.layers import Layer
from tui.settings.remembered import RememberedSettings


async def in_force(home: Path, key: str, **options: Any) -> tuple[object, str]:
    async with house(home, **options) as h:
        said = h.services.settings.layers().provenance(key)
        return said.value, said.source


async def test_a_setting_of_the_screen_is_there_at_the_next_start(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        assert await h.services.settings.assign("ui.thinking", "peek") == "Finished thinking: peek · saved"
        await h.services.settings.assign("reasoning.effort", "low")
    assert await in_force(tmp_path, "ui.thinking") == ("peek", "saved")
    assert await in_force(tmp_path, "reasoning.effort") == (None, "default")


async def test_config_wins_at_the_next_start_and_it_is_said(tmp_path: Path) -> None:
    config(tmp_path, '[ui]\nthinking = "full"\n')
    async with house(tmp_path) as h:
        said = await h.services.settings.assign("ui.thinking", "peek")
        assert said == "Finished thinking: peek · for this session; config.toml sets full at the next start"
        assert h.services.settings.layers().value("ui.thinking") == "peek"
    assert await in_force(tmp_path, "ui.thinking") == ("full", "config.toml")


async def test_what_the_command_line_set_is_changed_and_the_change_is_saved(tmp_path: Path) -> None:
    async with house(tmp_path, assignments=("ui.thinking=full",)) as h:
        assert await h.services.settings.assign("ui.thinking", "peek") == "Finished thinking: peek · saved"
        assert h.services.settings.layers().value("ui.thinking") == "peek"
    assert await in_force(tmp_path, "ui.thinking") == ("peek", "saved")


async def test_for_this_session_only_and_saved_again(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        await h.services.settings.assign("ui.bell", "off")
        await h.services.settings.set_saved("ui.bell", saved=False)
        now = h.services.settings.layers().provenance("ui.bell")
        assert (now.value, now.layer) == ("off", Layer.SESSION)
    assert await in_force(tmp_path, "ui.bell") == ("bell", "default")
    async with house(tmp_path) as h:
        await h.services.settings.assign("ui.bell", "off")
        await h.services.settings.set_saved("ui.bell", saved=False)
        await h.services.settings.set_saved("ui.bell", saved=True)
    assert await in_force(tmp_path, "ui.bell") == ("off", "saved")


async def test_unset_forgets_it(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        await h.services.settings.assign("ui.motion", "false")
    async with house(tmp_path) as h:
        assert await h.services.settings.unassign("ui.motion") == "ui.motion = true (default)"
    assert await in_force(tmp_path, "ui.motion") == (True, "default")


async def test_only_settings_of_the_screen_are_saved(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        with pytest.raises(UsageError, match="never saved"):
            await h.services.settings.set_saved("tools.enabled", saved=True)


async def test_windows_merge_their_settings(tmp_path: Path) -> None:
    async with house(tmp_path) as first, house(tmp_path) as second:
        await first.services.settings.assign("ui.bell", "off")
        await second.services.settings.assign("ui.motion", "false")
    assert RememberedSettings(tmp_path / "state" / "state.toml").values == {"ui.bell": "off", "ui.motion": False}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", None),
        (b"\xff", "state.toml` cannot be read: it is not UTF-8 text"),
        (b"[[[", "state.toml` is not valid TOML"),
        (b"ui = 3\n[tools]\nenabled = false\n", None),
        (b'[ui]\nbell = "loud"\nnew = 1\n', 'state.toml: `ui.bell` takes .*"loud" is not that'),
    ],
)
async def test_a_broken_file_is_reported_changes_nothing_and_is_replaced(
    tmp_path: Path, content: bytes, problem: str | None
) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "state.toml").write_bytes(content)
    async with house(tmp_path) as h:
        told = [found.message for found in h.program.problems]
        assert len(told) == (problem is not None)
        assert all(re.search(problem or "", message) for message in told)
        report = await h.services.doctor()
        assert all(message in report for message in told)
        assert [h.services.settings.layers().value(key) for key in ("ui.bell", "tools.enabled")] == ["bell", True]
        await h.services.settings.assign("ui.bell", "off")
    assert await in_force(tmp_path, "ui.bell") == ("off", "saved")


@pytest.mark.long
async def test_the_theme_command_and_the_sidebar_key_are_remembered(tmp_path: Path) -> None:
    async with screen(tmp_path) as s:
        await s.enter("/theme dawn")
        await s.until_it_says("Theme: dawn · saved")
        assert s.app.theme == "dawn"
        shown = [s.app.chat.sidebar.display]
        await s.pilot.press("ctrl+b")
        shown.append(s.app.chat.sidebar.display)
        assert shown == [True, False]
        await s.pilot.pause()
    async with screen(tmp_path) as s:
        assert (s.app.theme, s.app.chat.sidebar.display) == ("dawn", False)
        await s.pilot.press("ctrl+b")
        assert s.app.chat.sidebar.display
        await s.pilot.pause()
        assert s.app.services.settings.layers().value("ui.sidebar") == "auto"


async def test_the_theme_picker_is_remembered(tmp_path: Path) -> None:
    async with screen(tmp_path) as s:
        await s.enter("/theme")
        await s.until_it_says("Themes")
        await s.pilot.press("home", "enter")
        await s.until_it_says("· saved")
        chosen = s.app.theme
    assert await in_force(tmp_path, "ui.theme") == (chosen, "saved")
