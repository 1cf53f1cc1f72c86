"""However the program ends, the shell gets its terminal back and the right exit code."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import select
import shlex
import signal
import subprocess
import sys
import termios
import threading
from pathlib import Path

import pytest

from tests.e2e.loopback import Loopback
from tests.e2e.terminal import ALTERNATE, PASTE, Terminal, environment
from tests.e2e.tmux import Tmux
from tests.patience import PATIENCE_S
from tui.ui.terminal.after_kill import TOLD
from tui.ui.terminal.shutdown import RESTORE, restore_terminal

PONDER = [sys.executable, "-m", "tui"]
READY = "enter send"
CLEAN = "0 0 1"
CTRL_Q, CTRL_Z = b"\x11", b"\x1a"
UP = "1 1"
"""Alternate screen and mouse are on; the cursor may be either."""


def _started(tmux: Tmux, command: list[str] | None = None) -> None:
    tmux.run(command or PONDER)
    tmux.wait_for(READY)
    assert tmux.flags().startswith(UP)


def _back_in_the_shell(tmux: Tmux, code: int) -> None:
    tmux.wait_for(f"code={code}.")
    assert tmux.flags() == CLEAN
    tmux.line("echo so$((40+2))it-goes")
    tmux.wait_for("so42it-goes")


def test_quitting_by_key_leaves_a_clean_terminal(tmp_path: Path) -> None:
    with Tmux(environment(tmp_path)) as tmux:
        _started(tmux)
        tmux.keys("C-q")
        _back_in_the_shell(tmux, 0)


def test_ctrl_c_twice_quits_and_leaves_a_clean_terminal(tmp_path: Path) -> None:
    with Tmux(environment(tmp_path)) as tmux:
        _started(tmux)
        tmux.keys("C-c")
        tmux.wait_for("again to quit")
        # Twice, for a busy machine: if the offer has lapsed by now, the first is the first again.
        tmux.keys("C-c", "C-c")
        _back_in_the_shell(tmux, 0)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"])
def test_a_signal_leaves_a_clean_terminal_and_its_exit_code(tmp_path: Path, name: str) -> None:
    number = signal.Signals[name]
    with Tmux(environment(tmp_path)) as tmux:
        _started(tmux)
        tmux.signal(number)
        _back_in_the_shell(tmux, 128 + number)


def test_a_kill_leaves_a_clean_terminal_and_says_what_is_left(tmp_path: Path) -> None:
    with Tmux(environment(tmp_path)) as tmux:
        _started(tmux)
        tmux.until(lambda: TOLD in _started_by(tmux.child()), "the guard")
        tmux.signal(signal.SIGKILL)
        tmux.until(lambda: tmux.flags() == CLEAN, "a clean terminal")
        tmux.wait_for(TOLD)
        tmux.line("echo so$((40+2))it-goes")
        tmux.wait_for("so42it-goes")


def _started_by(process: int) -> str:
    asked = ["ps", "-ww", "-o", "args=", "--ppid", str(process)]
    return subprocess.run(asked, check=False, capture_output=True, text=True).stdout


def test_an_exception_in_a_widget_leaves_a_clean_terminal_and_a_log(tmp_path: Path) -> None:
    with Tmux(environment(tmp_path)) as tmux:
        _started(tmux, [sys.executable, "-m", "tests.e2e.broken_widget"])
        tmux.keys("F9")
        _back_in_the_shell(tmux, 1)
        said = " ".join(tmux.text().split())
        assert "ponder stopped: ZeroDivisionError" in said
    log = (tmp_path / "ponder" / "state" / "ponder.log").read_text()
    assert "ZeroDivisionError: on purpose" in log


def test_a_second_signal_ends_what_does_not_end_by_itself(tmp_path: Path) -> None:
    with Terminal([sys.executable, "-m", "tests.e2e.stubborn", "patient"], environment(tmp_path)) as terminal:
        terminal.wait_for("stubborn")
        terminal.signal(signal.SIGTERM)
        terminal.wait_for("heard")
        terminal.signal(signal.SIGQUIT)
        # The first of the two gives the code.
        assert terminal.exit_code() == 128 + signal.SIGTERM
        assert terminal.is_clean


def test_what_does_not_end_by_itself_is_ended(tmp_path: Path) -> None:
    with Terminal([sys.executable, "-m", "tests.e2e.stubborn"], environment(tmp_path)) as terminal:
        terminal.wait_for("stubborn")
        terminal.signal(signal.SIGTERM)
        assert terminal.exit_code() == 128 + signal.SIGTERM
        assert terminal.is_clean


@pytest.mark.long
def test_a_terminal_that_is_gone_ends_the_program_even_with_hup_ignored(tmp_path: Path) -> None:
    command = ["/bin/sh", "-c", "trap '' HUP; exec \"$0\" -m tui", sys.executable]
    with Terminal(command, environment(tmp_path)) as terminal:
        terminal.wait_for(READY)
        terminal.close()
        assert terminal.exit_code() == 128 + signal.SIGHUP


def test_a_signal_while_the_terminal_reads_nothing_still_ends_the_program(tmp_path: Path) -> None:
    with Terminal(PONDER, environment(tmp_path)) as terminal:
        terminal.wait_for(READY)
        for number in range(400):
            terminal.resize(60 + number % 40, 20 + number % 10)
        terminal.signal(signal.SIGTERM)
        # Nothing is read from here on: only the process is watched.
        assert terminal.process.wait(timeout=PATIENCE_S) == 128 + signal.SIGTERM
        assert terminal.is_on(ALTERNATE)
        terminal.exit_code()
        assert terminal.is_clean


@pytest.mark.one_in(2)
@pytest.mark.parametrize("way", ["key", "signal"])
def test_a_key_command_that_waits_for_its_user_does_not_delay_the_end(tmp_path: Path, way: str) -> None:
    started = tmp_path / "started"
    config = Path(environment(tmp_path)["PONDER_HOME"]) / "config"
    config.mkdir(parents=True)
    vault = f"touch {shlex.quote(str(started))}; sleep 100 & wait"
    command = json.dumps(["sh", "-c", vault])
    (config / "config.toml").write_text(f"[providers.anthropic]\nkey_command = {command}\n", "utf-8")
    with Tmux(environment(tmp_path)) as tmux:
        _started(tmux, [*PONDER, "-m", "anthropic/claude-sonnet-4-5"])
        tmux.line("Hello")
        tmux.until(started.exists, "the command runs")
        if way == "key":
            tmux.keys("C-q")
            tmux.wait_for("stop and quit")
            tmux.keys("Enter")
        else:
            tmux.signal(signal.SIGTERM)
        _back_in_the_shell(tmux, 0 if way == "key" else 128 + signal.SIGTERM)
    assert not subprocess.run(["pgrep", "-f", str(started)], capture_output=True, check=False).stdout


def test_ctrl_z_and_fg_bring_back_a_painted_screen(tmp_path: Path) -> None:
    with Tmux(environment(tmp_path)) as tmux:
        _started(tmux)
        tmux.keys("C-z")
        tmux.wait_for("Stopped")
        assert tmux.flags() == CLEAN
        tmux.line("fg")
        tmux.wait_for(READY)
        assert tmux.flags().startswith(UP)
        tmux.line("/quit")
        _back_in_the_shell(tmux, 0)


def test_ctrl_z_in_a_window_without_a_shell_leaves_the_program_as_it_is(tmp_path: Path) -> None:
    """As in ``ssh -t host ponder``: nobody could continue the process. This terminal's only process is the program."""
    with Terminal([*PONDER, "-m", "demo/fast"], environment(tmp_path)) as terminal:
        terminal.wait_for(READY)
        terminal.type(CTRL_Z)
        terminal.wait_for("No shell to return to")
        terminal.type("hello\r")
        terminal.wait_for("When you have a key")
        assert {mode for mode in (ALTERNATE, PASTE) if terminal.is_on(mode)} == {ALTERNATE, PASTE}
        terminal.type(CTRL_Q * 2)  # the second answers the question whether to stop what still runs
        assert terminal.exit_code() == 0
        assert terminal.is_clean


@pytest.mark.long
def test_ctrl_z_takes_a_script_around_the_program_along(tmp_path: Path) -> None:
    """A script that waits for the program would keep the terminal, and the shell would never have its turn."""
    with Tmux(environment(tmp_path)) as tmux:
        _started(tmux, ["sh", "-c", f"{shlex.join(PONDER)}; exit $?"])
        tmux.keys("C-z")
        tmux.wait_for("Stopped")
        tmux.line("fg")
        tmux.wait_for(READY)
        tmux.keys("C-q")
        _back_in_the_shell(tmux, 0)


@pytest.mark.long
def test_a_terminal_that_another_process_makes_non_blocking_is_waited_for(tmp_path: Path) -> None:
    """The mode belongs to the open terminal, which all processes on it share."""
    with Loopback() as model:
        model.configure(tmp_path)
        with Terminal(PONDER, environment(tmp_path)) as terminal:
            terminal.wait_for(READY)
            os.set_blocking(terminal.slave, False)
            terminal.type("go\r")
            terminal.until(lambda: model.asked.acquire(blocking=False), "the request")
            for number in range(100):
                terminal.resize(100 + number % 2, 30)  # nothing is read meanwhile
                model.say(f"word {number}\n\n")
                select.select([], [], [], 0.02)
            model.say("the end")
            model.finish()
            terminal.resize(100, 30)
            terminal.wait_for("the end")
            terminal.type(CTRL_Q * 2)  # the second answers the question whether to stop what still runs
            assert terminal.exit_code() == 0


def test_a_mouse_outside_the_window_takes_no_key_away(tmp_path: Path) -> None:
    """What was reported before the window became smaller arrives after it."""
    with Terminal(PONDER, environment(tmp_path)) as terminal:
        terminal.wait_for(READY)
        for number, report in enumerate(("<64;500;500M", "<0;500;500M", "<0;500;500m", "<35;1;999M", "<2;999;1M")):
            terminal.type(f"\x1b[{report}{number}")
            terminal.wait_for(f"❯ {'01234'[: number + 1]}")


@pytest.mark.long
def test_a_size_changed_while_asleep_is_the_size_it_wakes_with(tmp_path: Path) -> None:
    with Tmux(environment(tmp_path)) as tmux:
        _started(tmux)
        tmux.keys("C-z")
        tmux.wait_for("Stopped")
        tmux.resize(64, 20)
        tmux.line("fg")
        tmux.wait_for(READY)
        tmux.until(
            lambda: any(line.startswith(" ponder") or "ponder" in line for line in tmux.text().split("\n")[:2]),
            "the title",
        )
        assert max(map(len, tmux.text().split("\n"))) <= 64
        tmux.keys("C-q")
        _back_in_the_shell(tmux, 0)


def test_stopped_from_outside_it_wakes_with_a_working_keyboard(tmp_path: Path) -> None:
    with Tmux(environment(tmp_path)) as tmux:
        _started(tmux)
        tmux.signal(signal.SIGSTOP)
        tmux.wait_for("Stopped")
        # The frozen screen still stands there; the one it wakes with has no room for a sidebar.
        tmux.resize(80, 30)
        tmux.line("fg")
        tmux.until(lambda: "MODEL" not in tmux.text() and READY in tmux.text(), "a screen without a sidebar")
        tmux.keys("x", "y", "z", "z", "y")
        tmux.wait_for("xyzzy")
        tmux.keys("C-u", "C-q")
        _back_in_the_shell(tmux, 0)


def test_the_terminal_is_given_back_although_another_thread_waits_for_it_to_read() -> None:
    master, slave = pty.openpty()
    modes = termios.tcgetattr(slave)

    def write() -> None:
        with contextlib.suppress(OSError):
            while True:
                os.write(slave, b"x" * 4000)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    while select.select([], [slave], [], 0)[1]:
        writer.join(0.01)
    restore_terminal(slave, modes)
    os.set_blocking(master, False)
    read = b""
    with contextlib.suppress(BlockingIOError):
        while len(read) < 100_000:
            read += os.read(master, 65_536)
    assert RESTORE in read
    os.close(master)
    writer.join()
    os.close(slave)
