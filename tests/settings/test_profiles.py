"""Profiles validate everything before they change anything, and survive being killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.domain.errors import ConfigError
from tui.settings.profiles import Profile, delete_profile, load_profile, profile_names, save_profile

SHIPPED = ("claude", "deepseek", "gemini", "gpt", "kimi", "minimax", "qwen")


def test_a_profile_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    profile = Profile(
        name="mine",
        model="anthropic/claude-opus-5/high",
        description="For long thoughts",
        values={"reasoning.stripFromContext": "all", "generation.temperature": 0.5, "tools.enabled": False},
    )
    path = save_profile(tmp_path, profile)
    assert load_profile(tmp_path, "mine") == profile
    assert path.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["mine.toml"]


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_profile_loads(tmp_path: Path, name: str) -> None:
    profile = load_profile(tmp_path, name)
    assert profile.shipped
    assert profile.model
    assert profile.description


def test_own_profiles_shadow_shipped_ones_and_deleting_brings_them_back(tmp_path: Path) -> None:
    save_profile(tmp_path, Profile(name="kimi", description="mine"))
    assert load_profile(tmp_path, "kimi").description == "mine"
    delete_profile(tmp_path, "kimi")
    assert load_profile(tmp_path, "kimi").shipped
    assert profile_names(tmp_path) == SHIPPED
    with pytest.raises(ConfigError, match="shipped with the program"):
        delete_profile(tmp_path, "kimi")


@pytest.mark.parametrize("name", ["../evil", "", ".hidden", "a/b", "x" * 65])
def test_names_cannot_leave_the_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="letters, digits"):
        load_profile(tmp_path, name)


def test_one_wrong_value_and_nothing_loads(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text('model = "x"\n[reasoning]\nenabled = true\nstripFromContext = "some"\n')
    with pytest.raises(ConfigError, match="stripFromContext"):
        load_profile(tmp_path, "bad")


def test_an_unknown_profile_gets_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_profile(tmp_path, "deepsek")
    assert caught.value.nearest == ("deepseek",)
