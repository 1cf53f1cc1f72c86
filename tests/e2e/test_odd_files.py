"""Files and folders of the user's that are not what they should be: said in a sentence, never a hang or a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests import prefork
from tests.e2e.terminal import Terminal, environment
from tests.patience import PATIENCE_S
from tests.unprivileged import bits_are_obeyed, obey_permission_bits

PONDER = [sys.executable, "-m", "tui"]
READY = "enter send"


def fifo(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def loop(path: Path) -> None:
    path.symlink_to(path.name)


def folder(path: Path) -> None:
    path.mkdir()


def broken_link(path: Path) -> None:
    path.symlink_to(path.parent / "nowhere" / "at-all")


def fails_when_read(path: Path) -> None:
    path.symlink_to("/proc/self/mem")


def huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


def unreadable(path: Path) -> None:
    path.write_text("x = 1\n")
    path.chmod(0)


def unreadable_folder(path: Path) -> None:
    path.mkdir(mode=0)


def not_text(path: Path) -> None:
    path.write_bytes(b"\xff\xfe\0x")


def deep(path: Path) -> None:
    path.write_text(("" if path.suffix == ".json" else "x = ") + "[" * 60_000)


def digits(path: Path) -> None:
    """A number that Python refuses to read."""
    number = "9" * 5_000
    path.write_text(number if path.suffix == ".json" else f"x = {number}\n")


def wide(path: Path) -> None:
    """A number that Python reads and refuses to print."""
    number = "0x" + "f" * 20_000
    path.write_text("9" * 400 if path.suffix == ".json" else f"allow = [{number}]\nmodel = {number}\n")


FILES = (
    "config/config.toml",
    "config/keys.toml",
    "config/permissions.toml",
    "config/credentials.toml",
    "config/themes/mine.toml",
    "state/memory.json",
    "state/calibration.json",
    "state/ponder.log",
    "cache/refused.json",
    "cache/models-demo.json",
)
FOLDERS = ("config/themes", "config/profiles", "state", "cache")
BAD_FILES = (
    fifo, device, loop, folder, broken_link, fails_when_read, huge, unreadable, not_text, deep, digits, wide
)  # fmt: skip
BAD_FOLDERS = (fifo, device, loop, broken_link, unreadable_folder)


def prepared(home: Path, name: str, bad: Callable[[Path], None]) -> Path:
    path = home / "ponder" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    bad(path)
    return path


def asked(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PONDER, *words],
        env=environment(home),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        preexec_fn=obey_permission_bits,
    )


def tidy(path: Path) -> None:
    """So that the test's folder can be removed."""
    if path.is_dir() and not path.is_symlink():
        path.chmod(0o700)


@pytest.mark.one_in(17)
@pytest.mark.parametrize("bad", [*BAD_FILES, *BAD_FOLDERS], ids=lambda bad: bad.__name__)
def test_a_prompt_is_answered_whatever_lies_where_a_file_or_folder_is_expected(
    tmp_path: Path, bad: Callable[[Path], None]
) -> None:
    if bad in (unreadable, unreadable_folder) and not bits_are_obeyed(tmp_path):
        pytest.skip("nothing is unreadable for this user: unreadable files are not tested here")
    files = bad in BAD_FILES
    made = [prepared(tmp_path, name, bad) for name in (FILES if files else FOLDERS)]
    done = asked(tmp_path, "-p", "hello", "-m", "demo/fast")
    for path in made:
        tidy(path)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert done.stdout.strip()
    if files:
        assert ("`config.toml` cannot be read" in done.stderr) == (bad not in (deep, digits, wide))
        assert "`config.toml`" in done.stderr
        assert "`permissions.toml`" in done.stderr


@pytest.mark.long
@pytest.mark.parametrize("bad", [*BAD_FILES, *BAD_FOLDERS], ids=lambda bad: bad.__name__)
def test_the_screen_starts_whatever_lies_where_a_file_or_folder_is_expected(
    tmp_path: Path, bad: Callable[[Path], None]
) -> None:
    if bad in (unreadable, unreadable_folder) and not bits_are_obeyed(tmp_path):
        pytest.skip("nothing is unreadable for this user: unreadable files are not tested here")
    the_screen_starts(tmp_path, dict.fromkeys(FILES if bad in BAD_FILES else FOLDERS, bad))


@pytest.mark.long
@pytest.mark.one_in(7)
@pytest.mark.parametrize("first", [0, 6])
def test_the_screen_starts_with_another_bad_thing_in_the_place_of_each_file(tmp_path: Path, first: int) -> None:
    """Each kind is met twice, in the places of two files; with ``--long`` each in the places of all."""
    kinds = [bad for bad in BAD_FILES if bad is not unreadable or bits_are_obeyed(tmp_path)]
    the_screen_starts(tmp_path, {name: kinds[(first + at) % len(kinds)] for at, name in enumerate(FILES)})


@pytest.mark.long
def test_the_screen_starts_with_another_bad_thing_in_the_place_of_each_folder(tmp_path: Path) -> None:
    kinds = [bad for bad in BAD_FOLDERS if bad is not unreadable_folder or bits_are_obeyed(tmp_path)]
    the_screen_starts(tmp_path, dict(zip(FOLDERS, reversed(kinds), strict=False)))


def the_screen_starts(tmp_path: Path, bad: Mapping[str, Callable[[Path], None]]) -> None:
    made = [prepared(tmp_path, name, kind) for name, kind in bad.items()]
    command = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search", *PONDER] if os.geteuid() == 0 else PONDER
    with Terminal([*command, "-m", "demo"], environment(tmp_path), size=(120, 40)) as terminal:
        terminal.wait_for(READY)
        terminal.type("hello\r")
        terminal.wait_for("Welcome to ponder")
    for path in made:
        tidy(path)


def test_what_is_made_is_for_its_owner_only(tmp_path: Path) -> None:
    state = tmp_path / "old" / "ponder" / "state"
    state.mkdir(parents=True, mode=0o755)
    for home in (tmp_path / "new", tmp_path / "old"):
        home.mkdir(exist_ok=True)
        with Terminal([*PONDER, "-m", "demo"], environment(home), size=(100, 30)) as terminal:
            terminal.wait_for(READY)
            terminal.type("hello\r")
            terminal.wait_for("Welcome to ponder")
            terminal.type("\x11\x11")  # ctrl+q; the second answers the question whether to stop what still runs
            assert terminal.exit_code() == 0
    made = [*(tmp_path / "new").rglob("*"), state]
    open_to_others = [str(path) for path in made if path.stat().st_mode & 0o077]
    assert open_to_others == []
    assert {"state", "data"} <= {path.name for path in made}


@pytest.mark.long
def test_a_folder_that_was_open_to_others_is_closed_before_it_is_used(tmp_path: Path) -> None:
    for folder in (tmp_path / "ponder", tmp_path / "ponder" / "config"):
        folder.mkdir()
        folder.chmod(0o777)
    done = asked(tmp_path, "-p", "hello", "-m", "demo/fast")
    assert (done.returncode, "Other users" in done.stderr) == (0, False)
    assert [path for path in tmp_path.rglob("*") if path.stat().st_mode & 0o077] == []
    (tmp_path / "ponder" / "holiday.jpg").touch()
    (tmp_path / "ponder").chmod(0o777)
    done = asked(tmp_path, "-p", "hello", "-m", "demo/fast")
    assert f"Other users can write to the folder {tmp_path / 'ponder'}" in done.stderr


@pytest.mark.long
def test_a_thousand_themes_profiles_and_an_emacs_lock_do_not_hold_up_the_start(tmp_path: Path) -> None:
    themes, profiles = (tmp_path / "ponder" / "config" / name for name in ("themes", "profiles"))
    for folder_ in (themes, profiles):
        folder_.mkdir(parents=True)
        (folder_ / "a0.toml").write_text('name = "a"\nprimary = "#112233"\n')
        for number in range(1, 3_000):
            (folder_ / f"a{number}.toml").hardlink_to(folder_ / "a0.toml")
    (themes / ".#a0.toml").symlink_to("user@host.4711:1")
    with Terminal([*PONDER, "-m", "demo"], environment(tmp_path), size=(160, 40)) as terminal:
        terminal.until(lambda: b"themes:" in terminal.raw, "the notice, whose lines are broken where the path is long")
        (themes / ".#a1.toml").symlink_to("user@host.4711:1")
        (themes / "a0.toml").unlink()
        (themes / "a0.toml").symlink_to("nowhere")
        terminal.until(lambda: b"a0.toml" in terminal.raw, "the notice of the broken theme")
        terminal.type("hello\r")
        terminal.wait_for("Welcome to ponder")


@pytest.mark.long
def test_the_home_of_a_user_nobody_knows_is_a_name_like_any_other(tmp_path: Path) -> None:
    with Terminal([*PONDER, "-m", "demo"], environment(tmp_path), size=(100, 30)) as terminal:
        terminal.wait_for(READY)
        terminal.type("see @~nobody-knows/x")
        terminal.wait_for("❯ see @~nobody-knows/x")
        terminal.type(" \r")
        terminal.wait_for("Welcome to ponder")
    done = asked(tmp_path, "-p", "hello", "-m", "demo/fast", "--attach", "~nobody-knows/x")
    assert (done.returncode, "`~nobody-knows/x` is not a file" in done.stderr) == (2, True), done.stderr
    home = {**environment(tmp_path), "PONDER_HOME": "~nobody-knows/x"}
    command = [*PONDER, "-p", "hello", "-m", "demo/fast"]
    answer = prefork.run(command, env=home, cwd=tmp_path, text=True, timeout=PATIENCE_S)
    assert (answer.returncode, answer.stderr) == (0, "")


@pytest.mark.long
def test_a_working_folder_that_is_gone_is_said(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    for words in (["-p", "hello", "-m", "demo/fast"], ["doctor"], ["context", "-m", "demo/fast"]):
        gone.mkdir()
        command = ["sh", "-c", 'rmdir ../gone && exec "$0" "$@"', *PONDER, *words]
        done = subprocess.run(
            command,
            env=environment(tmp_path),
            cwd=gone,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr
        assert "The working folder cannot be used: No such file or directory." in done.stderr


@pytest.mark.long
def test_a_working_folder_that_goes_while_the_program_runs_ends_no_session(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    command = ["sh", "-c", f'cd "{gone}" && exec "$0" "$@"', *PONDER, "-m", "demo/fast"]
    with Terminal(command, environment(tmp_path), size=(100, 30)) as terminal:
        terminal.wait_for(READY)
        gone.rmdir()
        terminal.type("hello\r")
        terminal.wait_for("error 429")  # its first lines are out of sight at once
        terminal.type("/export md")
        terminal.wait_for("❯ /export md")
        terminal.type(" \r")
        terminal.wait_for("cannot be written")
