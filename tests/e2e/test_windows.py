"""What ponder does on Windows, as far as a machine without it can tell: see ``tests/windows.py``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.terminal import Terminal, environment
from tests.patience import PATIENCE_S
from tests.providers.gguf_files import chat_model, write_gguf
from tui.tools.missing_here import UNIX_TOOLS

WINDOWS = (sys.executable, "-m", "tests.windows")


def ran(home: Path, *words: str, said: str = "") -> subprocess.CompletedProcess[str]:
    variables = environment(home)
    del variables["TERM"]
    return subprocess.run(
        [*WINDOWS, *words], input=said, capture_output=True, text=True, env=variables, timeout=PATIENCE_S, check=False
    )


def test_every_module_can_be_imported(tmp_path: Path) -> None:
    done = ran(tmp_path, "import-all")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("-p", "hello", "-m", "demo"), "Welcome to ponder"),
        (("doctor",), "ponder"),
        (("config", "init"), "config.toml"),
        (("plan", "claude-opus-5-5/high"), "effort"),
    ],
)
def test_commands_work(tmp_path: Path, words: tuple[str, ...], shown: str) -> None:
    done = ran(tmp_path, *words)
    assert (done.returncode, shown in done.stdout + done.stderr, "Traceback" in done.stderr) == (0, True, False)


def test_a_key_is_saved_and_found_again(tmp_path: Path) -> None:
    assert ran(tmp_path, "auth", "set", "groq", said="a-key-of-no-shape-1234\n").returncode == 0
    assert "***1234" in ran(tmp_path, "auth", "list").stdout


def test_a_session_is_stored_and_continued(tmp_path: Path) -> None:
    assert ran(tmp_path, "-p", "hello", "-m", "demo").returncode == 0
    assert ran(tmp_path, "-c", "-p", "again").returncode == 0
    assert " 2 " in ran(tmp_path, "sessions", "list").stdout


def test_tools_for_files_and_commands_are_not_offered_and_say_why(tmp_path: Path) -> None:
    done = ran(tmp_path, "call-tools")
    *answers, offered = done.stdout.splitlines()
    assert (done.returncode, offered, done.stderr) == (0, "fetch_url", "")
    assert answers == [f"The tool `{name}` does not work on Windows." for name in sorted(UNIX_TOOLS)]


def test_a_model_on_this_machine_is_refused_in_words(tmp_path: Path) -> None:
    model = write_gguf(tmp_path / "model.gguf", chat_model())
    done = ran(tmp_path, "-p", "hello", "-m", str(model))
    assert done.returncode != 0
    assert "Linux and macOS only" in done.stderr


def test_the_screen_opens_answers_and_ends(tmp_path: Path) -> None:
    variables = environment(tmp_path)
    del variables["TERM"]
    with Terminal(WINDOWS, variables, started=True) as terminal:
        terminal.wait_for("Write a message")
        terminal.type("hello\r")
        terminal.wait_for("Welcome to ponder")
        terminal.type("\x11\x11")
        assert terminal.exit_code() == 0
