"""Files we write survive anything; folders that cannot be written, or are none, stop nothing."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import platformdirs
import pytest

from tui.domain.errors import ConfigError
from tui.settings.atomic import write_atomically
from tui.settings.paths import Paths, find_paths
from tui.settings.profiles import Profile, load_profile, profile_names, profile_toml, save_profile

ROOT = Path(__file__).resolve().parents[2]


def killed(path: Path, rounds: int) -> int:
    said = subprocess.run(
        [sys.executable, "-m", "tests.settings.killed_writer", str(path), str(rounds)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=50,
    )
    return int(said.stdout)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("rounds", [40, pytest.param(200, marks=pytest.mark.long)])
def test_a_writer_killed_at_any_moment_leaves_the_old_file_or_the_new_one(tmp_path: Path, rounds: int) -> None:
    assert killed(tmp_path / "profile.toml", rounds) == rounds


def test_what_is_written_is_only_for_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file.toml"
    write_atomically(path, "x = 1\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) & 0o077 == 0
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["file.toml"]


def test_a_profile_that_cannot_be_saved_says_why_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("a file where the folder should be")
    with pytest.raises(ConfigError, match="cannot be saved"):
        save_profile(tmp_path / "config" / "profiles", Profile(name="mine"))
    assert "kimi" in profile_names(tmp_path / "config" / "profiles")
    assert load_profile(tmp_path / "config" / "profiles", "kimi").shipped


def test_a_profile_of_a_newer_version_is_refused_whole_and_kept_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('model = "demo/fast"\n[reasoning]\nsomethingNew = 1\n')
    with pytest.raises(ConfigError) as problem:
        load_profile(tmp_path, "mine")
    assert "reasoning.somethingNew" in str(problem.value)
    assert "somethingNew" in path.read_text()


def test_settings_survive_being_saved_as_a_profile(tmp_path: Path) -> None:
    profile = Profile(name="mine", model="demo/fast/low", values={"reasoning.effort": "high", "context.keepTurns": 2})
    save_profile(tmp_path, profile)
    assert load_profile(tmp_path, "mine") == profile
    assert (tmp_path / "mine.toml").read_text() == profile_toml(profile)


def test_without_a_home_there_are_still_places(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert find_paths({}).config_file.name == "config.toml"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere they are asked themselves")
@pytest.mark.parametrize(
    "chosen",
    [
        {},
        {"XDG_CONFIG_HOME": "/c", "XDG_DATA_HOME": "/d/", "XDG_STATE_HOME": "/s", "XDG_CACHE_HOME": "/x/y"},
        {"XDG_CONFIG_HOME": "", "XDG_DATA_HOME": "relative", "HOME": "/home/someone/"},
    ],
)
def test_the_places_are_those_of_platformdirs(monkeypatch: pytest.MonkeyPatch, chosen: dict[str, str]) -> None:
    environment = {"HOME": "/home/someone", **chosen}
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    places = platformdirs.PlatformDirs("ponder", appauthor=False)
    assert find_paths(environment) == Paths(
        config=Path(places.user_config_dir),
        data=Path(places.user_data_dir),
        state=Path(places.user_state_dir),
        cache=Path(places.user_cache_dir),
    )


def test_one_folder_for_everything(tmp_path: Path) -> None:
    paths = find_paths({"PONDER_HOME": str(tmp_path)})
    for path in (paths.config_file, paths.database, paths.log_file, paths.profiles, paths.cache):
        assert path.is_relative_to(tmp_path)
