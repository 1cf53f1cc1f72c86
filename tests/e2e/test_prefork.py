"""A forked program is as a started one: streams, exit codes, signals, descriptors, session and terminal."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import prefork
from tests.e2e.terminal import Terminal, environment

PONDER = [sys.executable, "-m", "tui"]
READY = "enter send"


def state(process: int) -> dict[str, object]:
    """What the system knows of a process, apart from what no two have in common."""
    place = Path("/proc", str(process))
    fields = (place / "stat").read_text().rpartition(")")[2].split()
    status = dict(line.split(":\t", 1) for line in (place / "status").read_text().splitlines() if ":\t" in line)
    streams = [Path((place / "fd" / number).readlink()) for number in "012"]
    kinds = [stream.name if stream.suffix else str(stream.parent) for stream in streams]
    signals = {name: status[name] for name in ("SigBlk", "SigIgn", "SigCgt", "Umask")}
    leads = fields[2] == fields[3] == str(process) == fields[5]
    return {**signals, "streams": kinds, "leads": leads, "folder": str((place / "cwd").readlink())}


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc here: the processes are NOT compared")
@pytest.mark.long
def test_the_system_sees_no_difference_between_a_forked_and_a_started_screen(tmp_path: Path) -> None:
    seen = []
    for number, started in enumerate((False, True)):
        with Terminal([*PONDER, "-m", "demo/fast"], environment(tmp_path / str(number)), started=started) as terminal:
            assert isinstance(terminal.process, prefork.Forked) is not started
            terminal.wait_for(READY)
            terminal.type("hi\r")
            terminal.wait_for("· $0")
            seen.append(state(terminal.process.pid))
            terminal.signal(signal.SIGTERM)
            assert terminal.exit_code() == 128 + signal.SIGTERM
            assert terminal.is_clean
            assert terminal.modes() == terminal.modes_before
    assert seen[0] == seen[1]


@pytest.mark.one_in(5)
@pytest.mark.parametrize(
    "words", [["--version"], ["--nonsense"], ["plan", "demo/fast", "--json"], ["sessions", "show", "nothing"], ["-p"]]
)
def test_a_forked_command_says_what_a_started_one_says(tmp_path: Path, words: list[str]) -> None:
    forked = prefork.run([*PONDER, *words], env=environment(tmp_path), cwd=tmp_path, said=b"")
    started = subprocess.run(
        [*PONDER, *words], env=environment(tmp_path), cwd=tmp_path, input=b"", capture_output=True, check=False
    )
    told = (forked.returncode, forked.stdout, forked.stderr)
    assert told == (started.returncode, started.stdout, started.stderr)


def test_standard_input_reaches_a_forked_prompt(tmp_path: Path) -> None:
    asked = [*PONDER, "-p", "-m", "demo/fast"]
    assert prefork.forkable(asked, environment(tmp_path))
    done = prefork.run(asked, env=environment(tmp_path), said=b"what can you do?")
    assert (done.returncode, done.stderr, b"Welcome to ponder" in done.stdout) == (0, b"", True)


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ([sys.executable, "-c", "pass"], {}),
        (PONDER, {"TEXTUAL_FPS": "5"}),
        (PONDER, {"LANG": "C"}),
        (PONDER, {"PYTHONUTF8": "0"}),
        (PONDER, {"LC_ALL": "C"}),
        (PONDER, {"TZ": "Asia/Tokyo"}),
    ],
)
def test_what_is_read_while_modules_load_needs_a_start(
    tmp_path: Path, command: list[str], more: dict[str, str]
) -> None:
    assert not prefork.forkable(command, environment(tmp_path, **more))
