"""Stopped and continued from outside while somebody types; undo where nothing can be undone; ended at any moment."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from tests.e2e.terminal import ALTERNATE, PASTE, Terminal, environment
from tests.e2e.test_living import talking

PONDER = [sys.executable, "-m", "tui", "--model", "demo/fast"]
READY = "enter send"
ROUNDS, LOOK_EVERY = 200, 10


def wait_until_gone(terminal: Terminal, words: str) -> None:
    terminal.until(lambda: words not in terminal.text(), "an empty composer")


def wait_until_whole(terminal: Terminal, draft: str) -> None:
    """The row of the draft has this and nothing else."""
    terminal.until(lambda: f"❯ {draft}" in map(str.strip, terminal.text().splitlines()), draft)


def test_no_key_is_lost_or_doubled_when_the_process_is_stopped_while_one_types(tmp_path: Path) -> None:
    with Terminal(PONDER, environment(tmp_path)) as terminal:
        terminal.wait_for(READY)
        terminal.type("it listens")
        terminal.wait_for("❯ it listens")
        terminal.type("\x15")
        terminal.until(lambda: "it listens" not in terminal.text(), "an empty composer")
        for start in range(0, ROUNDS, LOOK_EVERY):
            typed = ""
            for number in range(start, start + LOOK_EVERY):
                before, meanwhile = chr(97 + number % 26), chr(97 + (number * 7 + 3) % 26)
                terminal.type(before)
                terminal.signal(signal.SIGSTOP)
                terminal.type(meanwhile)
                terminal.signal(signal.SIGCONT)
                typed += before + meanwhile
            wait_until_whole(terminal, typed)
            terminal.type("\x15")
            wait_until_gone(terminal, typed)
        assert READY in terminal.text()
        terminal.signal(signal.SIGTERM)
        assert terminal.exit_code() == 128 + signal.SIGTERM
        assert terminal.is_clean


def test_a_screen_that_is_set_up_again_echoes_no_key_into_itself(tmp_path: Path) -> None:
    with Terminal(PONDER, environment(tmp_path)) as terminal:
        terminal.wait_for(READY)
        for _ in range(10):
            terminal.forget()
            terminal.signal(signal.SIGCONT)
            looks = [terminal.is_echoing()]
            # Looked at as often as there is time, until the screen was left and entered again.
            while not (terminal.raw.count(b"\x1b[?1049h") and terminal.is_on(PASTE)):
                looks.append(terminal.is_echoing())
                terminal.pump(0)
            assert not any(looks)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("written", [b"\x1b[c", b"\x1b[?1049h", b"\x1b[?2004h", b"\x1b[?2027$p", b"ponder"])
def test_no_key_is_lost_when_the_process_is_stopped_while_it_starts(tmp_path: Path, written: bytes) -> None:
    with Terminal(PONDER, environment(tmp_path), started=True) as terminal:
        terminal.until(lambda: written in terminal.raw, repr(written))
        typed = ""
        for number in range(24):
            before, meanwhile = chr(97 + number), chr(65 + number)
            terminal.type(before)
            terminal.signal(signal.SIGSTOP)
            terminal.type(meanwhile)
            terminal.signal(signal.SIGCONT)
            typed += before + meanwhile
            terminal.pump()
        wait_until_whole(terminal, typed)
        terminal.signal(signal.SIGTERM)
        assert terminal.exit_code() == 128 + signal.SIGTERM
        assert terminal.is_clean


def test_undo_with_nothing_to_undo_does_nothing(tmp_path: Path) -> None:
    with Terminal(PONDER, environment(tmp_path)) as terminal:
        terminal.wait_for(READY)
        terminal.type("\x1f\x1f")  # in an empty composer
        terminal.type("\x1b[Z\x1f")  # wherever shift+tab leads
        terminal.type("\x1bOP\x1f\x1b")  # over the help
        terminal.wait_for(READY)
        terminal.type("still here")
        terminal.wait_for("still here")
        assert terminal.process.poll() is None


def test_the_first_signal_ends_a_stream(tmp_path: Path) -> None:
    with talking(tmp_path) as (terminal, model):
        model.say(*("many words " * 200 for _ in range(200)))
        terminal.wait_for("many words")
        terminal.signal(signal.SIGTERM)
        assert terminal.exit_code() == 128 + signal.SIGTERM
        assert terminal.is_clean


@pytest.mark.parametrize("stops", [2, pytest.param(20, marks=pytest.mark.long)])
def test_a_stop_from_outside_gives_the_terminal_back(tmp_path: Path, stops: int) -> None:
    """``kill -TSTP`` while an answer is being drawn, so that the signal interrupts the code that writes."""
    with talking(tmp_path) as (terminal, model):
        model.say("first words ")
        terminal.wait_for("first words")
        typed = ""
        assert _open_file(terminal, 2) != _open_file(terminal, 0)
        for number in range(stops):
            model.say(*(f"word{number} " for _ in range(20)))
            terminal.signal(signal.SIGTSTP)
            terminal.until(lambda: _is_stopped(terminal.process.pid), "a stopped process")
            while terminal.pump(0):
                pass
            assert terminal.is_clean
            assert terminal.modes() == terminal.modes_before
            assert _open_file(terminal, 2) == _open_file(terminal, 0)
            terminal.signal(signal.SIGCONT)
            terminal.until(lambda: terminal.is_on(ALTERNATE) and terminal.modes() != terminal.modes_before, "a screen")
            typed += chr(97 + number)
            terminal.type(typed[-1])
            terminal.wait_for(f"❯ {typed}")
        model.finish()
        terminal.wait_for("enter send")


def _open_file(terminal: Terminal, descriptor: int) -> str:
    return str(Path(f"/proc/{terminal.process.pid}/fd/{descriptor}").readlink())


def _is_stopped(process: int) -> bool:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "T"
