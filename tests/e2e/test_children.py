"""What the program has started ends with it, however it ends."""

from __future__ import annotations

import os
import signal
import time
import uuid
from pathlib import Path

import pytest

from tests.e2e.test_living import talking
from tests.patience import PATIENCE_S

CTRL_Y = "\x19"
PAUSE_S = 0.4
"""The question is deaf at first, and to whoever types on and on."""


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


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs /proc to see other processes")
@pytest.mark.parametrize("unread", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_command_that_runs_is_ended_with_the_program(tmp_path: Path, *, unread: bool) -> None:
    mark = f"999.{uuid.uuid4().int % 10**9}"
    with talking(tmp_path) as (terminal, model):
        model.say("I shall wait.")
        model.call("shell", command=f"trap '' TERM HUP; sleep {mark} & sleep {mark}")
        terminal.wait_for("ponder asks")

        pressed = time.monotonic()

        def runs() -> bool:
            nonlocal pressed
            if time.monotonic() - pressed > PAUSE_S:
                pressed = time.monotonic()
                terminal.type(CTRL_Y)
            return len(_alive(mark)) > 1

        terminal.until(runs, "two commands")
        if unread:
            for number in range(400):
                terminal.resize(60 + number % 40, 20 + number % 10)
        terminal.signal(signal.SIGTERM)
        assert terminal.process.wait(PATIENCE_S) == 128 + signal.SIGTERM
        assert _alive(mark) == []
        terminal.exit_code()
        assert terminal.is_clean
