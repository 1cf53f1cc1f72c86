"""kill -9 while something waits: it is there when the session is opened again, and nothing false is said."""

from __future__ import annotations

import json
import random
import sqlite3
import time
from pathlib import Path

import pytest

from tests.e2e.loopback import Loopback
from tests.e2e.terminal import Terminal, environment
from tests.e2e.test_odd_files import PONDER, READY, asked
from tui.ui.dialogs.approval import QUIET_S

RAN, NOT_RUN = "it may have run", "Not executed"


def killed(terminal: Terminal) -> None:
    terminal.process.kill()
    terminal.process.wait()


def is_stored(words: bytes, home: Path) -> bool:
    """What was painted a moment ago may not be written yet."""
    return any(words in file.read_bytes() for file in (home / "ponder" / "data").glob("sessions.db*"))


def test_a_queued_prompt_comes_back_as_queued(tmp_path: Path) -> None:
    with Loopback() as model:
        model.configure(tmp_path)
        with Terminal(PONDER, environment(tmp_path), size=(100, 30)) as terminal:
            terminal.wait_for(READY)
            terminal.type("first question\r")
            terminal.until(lambda: model.asked.acquire(blocking=False), "a request")
            model.say("half an answer")
            terminal.wait_for("half an answer")
            terminal.type("second question\r")
            terminal.wait_for("1 queued")
            terminal.type("third question\r")
            terminal.wait_for("2 queued")
            killed(terminal)
        model.finish()
        with Terminal([*PONDER, "-c"], environment(tmp_path), size=(100, 30)) as terminal:
            terminal.wait_for("2 queued")
            terminal.type("\r")
            terminal.until(lambda: model.asked.acquire(blocking=False), "the second request")
            model.say("second answer")
            model.finish()
            terminal.until(lambda: model.asked.acquire(blocking=False), "the third request")
            model.say("third answer")
            model.finish()
            terminal.wait_for("third answer")
            terminal.until(lambda: is_stored(b"third answer", tmp_path), "the answer in the store")
            killed(terminal)
        # The turn that was cut off has no answer, so its prompt stands before the second.
        prompts = [prompt.strip('"').replace("\\n", " ").split()[-2] for prompt in model.prompts]
        assert prompts == ["first", "second", "third"]
        with Terminal([*PONDER, "-c"], environment(tmp_path), size=(100, 30)) as terminal:
            terminal.wait_for("third answer")
            assert "queued" not in terminal.text()


@pytest.mark.long
def test_what_ran_in_the_background_is_stored_as_far_as_it_had_come(tmp_path: Path) -> None:
    with Loopback() as model:
        model.configure(tmp_path)
        with Terminal(PONDER, environment(tmp_path), size=(100, 30)) as terminal:
            terminal.wait_for(READY)
            terminal.type("first question\r")
            terminal.until(lambda: model.asked.acquire(blocking=False), "a request")
            model.say("half an answer")
            terminal.wait_for("half an answer")
            terminal.type("\x0e")  # ctrl+n
            terminal.wait_for("1 running elsewhere")
            terminal.type("second question\r")
            terminal.until(lambda: model.asked.acquire(blocking=False), "a request of the second session")
            terminal.until(lambda: is_stored(b"half an answer", tmp_path), "the answer in the store")
            killed(terminal)
        with Terminal([*PONDER, "-c"], environment(tmp_path), size=(100, 30)) as terminal:
            terminal.wait_for("▌ second question")
            terminal.type("\x13")  # ctrl+s
            terminal.wait_for("first question")
            terminal.type("\x1b[B\r")
            terminal.wait_for("half an answer")
            killed(terminal)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("answered", [False, True])
def test_what_is_said_of_a_call_after_a_crash_is_true(tmp_path: Path, answered: bool) -> None:
    with Loopback() as model:
        model.configure(tmp_path)
        with Terminal(PONDER, environment(tmp_path), size=(160, 50)) as terminal:
            terminal.wait_for(READY)
            terminal.type("do it\r")
            terminal.until(lambda: model.asked.acquire(blocking=False), "a request")
            model.call("shell", command=f"echo ran > {tmp_path}/ran; sleep 50")
            terminal.wait_for("Yes, once")
            if answered:
                terminal.until(lambda: _approved(terminal, tmp_path), "the command to run")
            killed(terminal)
        assert (tmp_path / "ran").exists() == answered
        model.say("fine")
        model.finish()
        done = asked(tmp_path, "-p", "and now?", "-c")
        assert done.returncode == 0, done.stderr
        result = json.dumps(model.bodies[-1])
        assert (RAN in result, NOT_RUN in result) == (answered, not answered), result


def _approved(terminal: Terminal, home: Path) -> bool:
    """Press the key for yes, which is not taken right after the sheet opened or another key was pressed."""
    deaf_until = time.monotonic() + 2 * QUIET_S
    while time.monotonic() < deaf_until:
        terminal.pump()
    if not (home / "ran").exists():
        terminal.type("\x1b[B\r")
    return (home / "ran").exists()


@pytest.mark.long
@pytest.mark.parametrize("rounds", [3, pytest.param(30, marks=[pytest.mark.minutes, pytest.mark.timeout(900)])])
def test_kills_at_random_moments_with_two_windows_lose_no_prompt_that_was_on_the_screen(
    tmp_path: Path, rounds: int
) -> None:
    dice = random.Random(12)
    home = tmp_path / "home"
    for number in range(rounds):
        command = [*PONDER, "-m", "demo"]
        with (
            Terminal([*command, "-c"], environment(home), size=(100, 30)) as terminal,
            Terminal(command, environment(home), size=(100, 30)) as other,
        ):
            terminal.wait_for(READY)
            other.wait_for(READY)
            terminal.type(f"question{number}x\r")
            other.type(f"other{number}x\r")
            terminal.wait_for(f"▌ question{number}x")  # in the conversation, no longer below it
            for _ in range(dice.randrange(40)):
                terminal.pump(0.01)
                other.pump(0)
            killed(terminal)
            killed(other)
        exported = asked(home, "sessions", "list")
        assert (exported.returncode, "damaged" in exported.stderr) == (0, False), exported.stderr
        connection = sqlite3.connect(home / "ponder" / "data" / "sessions.db")
        found = connection.execute("SELECT count(*) FROM block WHERE text = ?", (f"question{number}x",)).fetchone()
        connection.close()
        assert found == (1,)
    whole = asked(home, "doctor")
    assert "whole" in whole.stdout
