"""What the program has started ends with it, however it ends."""

from __future__ import annotations

import os
import signal
import sys
import time
import uuid
from pathlib import Path

import pytest

from tests.e2e.loopback import Loopback
from tests.e2e.terminal import Terminal
from tests.e2e.test_living import talking
from tests.patience import PATIENCE_S

CTRL_Y = "\x19"
PAUSE_S = 0.4
"""The question is deaf at first, and to whoever types on and on."""


def _program(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _alive(mark: str) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and int(folder.name) != os.getpid():
            try:
                words = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if mark.encode() in words:
                found.append(int(folder.name))
    return found


needs_proc = pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs /proc to see other processes")


def two_sleeps(terminal: Terminal, model: Loopback, command: str) -> str:
    """Start a command with two sleeps by the answer *once*, so without a sandbox; returns what is in their names."""
    mark = f"999.{uuid.uuid4().int % 10**9}"
    model.say("I shall wait.")
    model.call("shell", command=command.replace("SLEEP", f"sleep {mark}"))
    terminal.wait_for(" ASKS ")
    pressed = time.monotonic()

    def runs() -> bool:
        nonlocal pressed
        if time.monotonic() - pressed > PAUSE_S:
            pressed = time.monotonic()
            terminal.type(CTRL_Y)
        return sum(_program(pid) == "sleep" for pid in _alive(mark)) == 2

    terminal.until(runs, "two sleeps")
    return mark


@needs_proc
@pytest.mark.parametrize("unread", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_command_that_runs_is_ended_with_the_program(tmp_path: Path, *, unread: bool) -> None:
    with talking(tmp_path) as (terminal, model):
        mark = two_sleeps(terminal, model, "trap '' TERM HUP; SLEEP & SLEEP")
        if unread:
            for number in range(400):
                terminal.resize(60 + number % 40, 20 + number % 10)
        terminal.signal(signal.SIGTERM)
        assert terminal.process.wait(PATIENCE_S) == 128 + signal.SIGTERM
        assert _alive(mark) == []
        terminal.exit_code()
        assert terminal.is_clean


@pytest.mark.one_in(2)
@needs_proc
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent was killed")
@pytest.mark.parametrize(
    "command",
    ["trap '' TERM HUP ALRM; SLEEP & SLEEP", "env -i setsid SLEEP >/dev/null 2>&1 </dev/null & SLEEP"],
    ids=["in the background", "on its own"],
)
def test_a_command_that_runs_is_ended_also_by_kill_9_of_the_program(tmp_path: Path, command: str) -> None:
    with talking(tmp_path) as (terminal, model):
        mark = two_sleeps(terminal, model, command)
        terminal.process.kill()
        terminal.until(lambda: _alive(mark) == [], "the end of the command")
