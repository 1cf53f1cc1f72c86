"""Ended at any moment by one signal, and nothing the terminal still had to say is left for the shell to read."""

from __future__ import annotations

import os
import signal
import sys
import termios
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from bench.pressure import Flood
from tests.e2e.terminal import Terminal, environment
from tests.e2e.test_living import talking
from tui.ui.terminal.background import LAST_WAIT_S

PONDER = [sys.executable, "-m", "tui", "-m", "demo/fast"]
READY = "enter send"
ENDED = 10.0
"""The program ends by itself or is ended within two seconds; the rest is for a busy machine."""
CODE = 128 + signal.SIGTERM
ASKED = b"\x1b[c"
LEFT_SCREEN = b"\x1b[?1049l"
SIGNALLED_AT = """
import dataclasses, importlib.abc, os, signal, sys

place = os.environ["PLACE"]

class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, *rest):
        if name == place:
            os.kill(os.getpid(), signal.SIGTERM)

def named(self, owner, name):
    if owner.__name__ == place:
        os.kill(os.getpid(), signal.SIGTERM)

from tui.cli.quick_imports import find_quickly
find_quickly()  # puts its finder in front of those there are
sys.meta_path.insert(0, Finder())
dataclasses.Field.__set_name__ = named
from tui.cli.main import main
sys.exit(main())
"""
"""The program, which gets its signal while a module is looked for or a class is made."""


def left_for_the_shell(terminal: Terminal) -> bytes:
    """What the shell would read next."""
    descriptor = os.dup(terminal.slave)
    modes = termios.tcgetattr(descriptor)
    modes[3] &= ~(termios.ICANON | termios.ECHO)
    termios.tcsetattr(descriptor, termios.TCSANOW, modes)
    os.set_blocking(descriptor, False)
    try:
        return os.read(descriptor, 4096)
    except BlockingIOError:
        return b""
    finally:
        os.close(descriptor)


def as_before(terminal: Terminal) -> bool:
    """Whether the shell finds its terminal and its prompt as they were."""
    return terminal.is_clean and terminal.modes() == terminal.modes_before and left_for_the_shell(terminal) == b""


@pytest.mark.one_in(7)
@pytest.mark.parametrize("more", [0.0, 0.1, 0.2, 0.3, 0.45, 0.6, 0.9], ids=lambda more: f"{more:.2f}s")
def test_a_signal_while_the_program_starts(tmp_path: Path, more: float) -> None:
    with Terminal(PONDER, environment(tmp_path), late=True, started=True) as terminal:
        terminal.until(lambda: ASKED in terminal.raw, "the question what the terminal is")
        begun = time.perf_counter()
        terminal.until(lambda: time.perf_counter() - begun >= more, "the moment")
        signalled = time.perf_counter()
        terminal.signal(signal.SIGTERM)
        terminal.pump(0)
        terminal.answer()
        assert terminal.exit_code(ENDED) == CODE
        # A test that is held up answers later than anybody waits.
        is_late = time.perf_counter() - signalled > LAST_WAIT_S
        assert terminal.is_clean
        assert terminal.modes() == terminal.modes_before
        assert is_late or left_for_the_shell(terminal) == b""


@pytest.mark.one_in(7)
@pytest.mark.parametrize(
    "place",
    [
        "tui.bootstrap.program",
        "orjson",
        "uuid",  # looked for by orjson's native code, which does not survive an exception
        "ConversationState",  # Python 3.11 makes a RuntimeError of any exception here
        "tui.app.current_session",
        "tui.ui.app",
        "TextAreaTheme",
    ],
)
def test_a_signal_at_any_step_of_the_start_is_its_exit_code(tmp_path: Path, place: str) -> None:
    command = [sys.executable, "-c", SIGNALLED_AT, "-m", "demo/fast"]
    with Terminal(command, environment(tmp_path, PLACE=place)) as terminal:
        assert terminal.exit_code() == CODE, terminal.text()
        assert "Traceback" not in terminal.text()
        assert as_before(terminal)


def test_what_the_terminal_answers_to_a_start_that_fails_is_not_left_at_the_prompt(tmp_path: Path) -> None:
    with Terminal([*PONDER, "--resume", "nothing"], environment(tmp_path), started=True) as terminal:
        assert terminal.exit_code() in (1, 2)
        assert "nothing" in terminal.text()
        assert as_before(terminal)


@pytest.mark.long
def test_a_terminal_that_has_not_answered_yet_is_waited_for(tmp_path: Path) -> None:
    with Terminal(PONDER, environment(tmp_path), late=True, started=True) as terminal:
        terminal.until(lambda: terminal.raw.count(ASKED) == 2 and READY in terminal.text(), "the screen")
        begun = time.perf_counter()
        terminal.signal(signal.SIGTERM)
        terminal.until(lambda: LEFT_SCREEN in terminal.raw, "the main screen")
        # Load makes this longer, never shorter.
        assert time.perf_counter() - begun > LAST_WAIT_S / 2
        assert terminal.exit_code(ENDED) == CODE


def a_sheet(terminal: Terminal) -> None:
    """The settings are open."""
    terminal.type("/settings\r")
    terminal.wait_for("find a setting")


def a_draft(terminal: Terminal) -> None:
    """Something is typed."""
    terminal.type("a draft")
    terminal.wait_for("a draft")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("begin", [a_sheet, a_draft])
def test_a_signal_with_something_open(tmp_path: Path, begin: Callable[[Terminal], None]) -> None:
    with Terminal(PONDER, environment(tmp_path)) as terminal:
        terminal.wait_for(READY)
        begin(terminal)
        terminal.signal(signal.SIGTERM)
        assert terminal.exit_code(ENDED) == CODE
        assert as_before(terminal)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("is_read", [True, False], ids=["read", "unread"])
def test_a_signal_while_an_answer_floods_in(tmp_path: Path, *, is_read: bool) -> None:
    server = Flood("text", 200)
    config = tmp_path / "ponder" / "config"
    config.mkdir(parents=True)
    (config / "config.toml").write_text(
        'model = "loop/model"\n[providers.loop]\nwire = "openai-chat"\nauth = "none"\n'
        f'base_url = "http://127.0.0.1:{server.port}/v1"\n'
    )
    with closing(server), Terminal(PONDER[:3], environment(tmp_path)) as terminal:
        terminal.wait_for(READY)
        terminal.type("go\r")
        terminal.wait_for("lorem ipsum")
        if not is_read:
            for number in range(400):
                terminal.resize(60 + number % 40, 20 + number % 10)
        terminal.signal(signal.SIGTERM)
        code = terminal.exit_code(ENDED) if is_read else terminal.process.wait(ENDED)
        assert code == CODE
        terminal.exit_code()
        assert as_before(terminal)


@pytest.mark.long
def test_a_signal_while_the_conversation_is_compressed(tmp_path: Path) -> None:
    with talking(tmp_path) as (terminal, model):
        for number in range(4):
            if number:
                terminal.type(f"question {number}\r")
                terminal.until(lambda: model.asked.acquire(blocking=False), "a request")
            model.say(" ".join(f"word{place * 7919 % 1000}" for place in range(300)), f" answer {number} is whole")
            model.finish()
            terminal.wait_for(f"{number} is whole")
        terminal.type("/compress\r")
        terminal.until(lambda: model.asked.acquire(blocking=False), "the request for a summary")
        model.say("a summary that ")
        terminal.signal(signal.SIGTERM)
        assert terminal.exit_code(ENDED) == CODE
        assert as_before(terminal)
