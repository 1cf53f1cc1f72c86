"""Files we write survive anything; folders that cannot be written, or are none, stop nothing."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import platformdirs
import pytest
from platformdirs import windows
from platformdirs.api import PlatformDirsABC
from platformdirs.macos import MacOS
from platformdirs.unix import Unix
from platformdirs.windows import Windows

from tests.patience import PATIENCE_S
from tui.domain.errors import ConfigError
from tui.settings.paths import Paths, find_paths, protect_folders
from tui.settings.profiles import Profile, load_profile, profile_names, profile_toml, save_profile
from tui.settings.user_files import write_atomically

ROOT = Path(__file__).resolve().parents[2]


def killed(path: Path, rounds: int) -> int:
    said = subprocess.run(
        [sys.executable, "-m", "tests.settings.killed_writer", str(path), str(rounds)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
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


def test_a_link_stays_a_link_and_what_is_no_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "state.toml").write_text("old")
    (tmp_path / "link").symlink_to("kept/state.toml")
    write_atomically(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "kept" / "state.toml").read_text() == "new"
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "nowhere").symlink_to("not/there")
    for name in ("pipe", "circle", "nowhere"):
        before = (tmp_path / name).lstat()
        with pytest.raises(OSError, match=r"\w+ \w+") as refused:
            write_atomically(tmp_path / name, "new")
        assert refused.value.strerror
        assert (tmp_path / name).lstat() == before


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
    for name in ("HOME", *XDG):
        monkeypatch.delenv(name, raising=False)
    assert find_paths({}).config_file.name == "config.toml"


XDG = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")


@pytest.mark.parametrize(
    ("chosen", "places"),
    [
        (
            {},
            ("/home/me/.config/ponder", "/home/me/.local/share/ponder", "/home/me/.local/state/ponder",
             "/home/me/.cache/ponder"),
        ),
        (
            dict(zip(XDG, ("/c", "/d/", "/s", "/x/y"), strict=True)),
            ("/c/ponder", "/d/ponder", "/s/ponder", "/x/y/ponder"),
        ),
        (
            {"XDG_CONFIG_HOME": "", "XDG_DATA_HOME": "relative", "XDG_CACHE_HOME": "/x"},
            ("/home/me/.config/ponder", "/home/me/.local/share/ponder", "/home/me/.local/state/ponder", "/x/ponder"),
        ),
    ],
    ids=["usual", "all chosen", "empty and relative ones do not count"],
)  # fmt: skip
def test_places_on_linux(
    monkeypatch: pytest.MonkeyPatch, chosen: dict[str, str], places: tuple[str, str, str, str]
) -> None:
    on_system(monkeypatch, Unix, chosen)
    assert found_places() == tuple(map(Path, places))


def test_places_on_macos(monkeypatch: pytest.MonkeyPatch) -> None:
    on_system(monkeypatch, MacOS)
    own = Path("/home/me/Library/Application Support/ponder")
    assert found_places() == (own, own, own, Path("/home/me/Library/Caches/ponder"))


def test_places_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    on_system(monkeypatch, Windows, {"LOCALAPPDATA": "/users/me/AppData/Local", "USERPROFILE": "/users/me"})
    monkeypatch.setattr(windows, "get_win_folder", windows.get_win_folder_from_env_vars)
    own = Path("/users/me/AppData/Local/ponder")
    assert found_places() == (own, own, own, own / "Cache")


@pytest.mark.parametrize("system", [Unix, MacOS, Windows])
def test_no_two_files_share_a_name_where_folders_are_one(
    monkeypatch: pytest.MonkeyPatch, system: type[PlatformDirsABC]
) -> None:
    on_system(monkeypatch, system, {"LOCALAPPDATA": "/users/me/AppData/Local", "USERPROFILE": "/users/me"})
    monkeypatch.setattr(windows, "get_win_folder", windows.get_win_folder_from_env_vars)
    paths = find_paths({})
    kept = [getattr(paths, name) for name, value in vars(Paths).items() if isinstance(value, property)]
    assert len(kept) >= 8
    assert len({*kept, paths.cache}) == len(kept) + 1


def on_system(
    monkeypatch: pytest.MonkeyPatch, system: type[PlatformDirsABC], chosen: dict[str, str] | None = None
) -> None:
    for name in XDG:
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": "/home/me", **(chosen or {})}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(platformdirs, "PlatformDirs", system)


def found_places() -> tuple[Path, Path, Path, Path]:
    paths = find_paths({})
    return paths.config, paths.data, paths.state, paths.cache


def test_one_folder_for_everything(tmp_path: Path) -> None:
    paths = find_paths({"PONDER_HOME": str(tmp_path)})
    for path in (paths.config_file, paths.database, paths.log_file, paths.profiles, paths.cache):
        assert path.is_relative_to(tmp_path)


def mode(folder: Path) -> int:
    return stat.S_IMODE(folder.stat().st_mode)


def test_folders_that_others_could_write_to_are_closed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for folder in (home, home / "config", home / "state", home / "cache"):
        folder.mkdir()
        folder.chmod(0o777)
    assert protect_folders(find_paths({"PONDER_HOME": str(home)})) == []
    assert [mode(folder) for folder in (home, home / "config", home / "state", home / "cache")] == [0o700] * 4


@pytest.mark.parametrize(("before", "told"), [(0o777, True), (0o1777, True), (0o775, True), (0o755, False)])
def test_a_shared_folder_stays_shared_and_is_told_if_others_can_write_there(
    tmp_path: Path, before: int, told: bool
) -> None:
    (tmp_path / "something else").touch()
    tmp_path.chmod(before)
    problems = [problem.message for problem in protect_folders(find_paths({"PONDER_HOME": str(tmp_path)}))]
    assert mode(tmp_path) == before
    assert [f"chmod go-w {tmp_path}" in message for message in problems] == [True] * told


def test_the_target_of_a_linked_folder_is_not_changed(tmp_path: Path) -> None:
    (tmp_path / "settings").mkdir()
    (tmp_path / "settings").chmod(0o755)
    (tmp_path / "home").mkdir(mode=0o700)
    (tmp_path / "home" / "config").symlink_to(tmp_path / "settings")
    assert protect_folders(find_paths({"PONDER_HOME": str(tmp_path / "home")})) == []
    assert mode(tmp_path / "settings") == 0o755
    (tmp_path / "settings").chmod(0o777)
    assert len(protect_folders(find_paths({"PONDER_HOME": str(tmp_path / "home")}))) == 1
