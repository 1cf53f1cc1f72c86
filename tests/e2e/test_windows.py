"""What ponder does on Windows, as far as a machine without it can tell: see ``tests/windows.py``."""

from __future__ import annotations

import json
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


@pytest.mark.long
def test_every_module_can_be_imported_and_tools_that_need_unix_say_so(tmp_path: Path) -> None:
    imported = ran(tmp_path, "import-all")
    assert (imported.returncode, imported.stdout.strip(), imported.stderr) == (0, "", "")
    called = ran(tmp_path, "call-tools")
    *answers, offered = called.stdout.splitlines()
    assert (called.returncode, offered, called.stderr) == (0, "fetch_url", "")
    assert answers == [f"The tool `{name}` does not work on Windows." for name in sorted(UNIX_TOOLS)]


@pytest.mark.long
def test_commands_work_keys_and_sessions_are_stored_and_own_models_are_refused(tmp_path: Path) -> None:
    model = write_gguf(tmp_path / "model.gguf", chat_model())
    commands = [
        ("-p hello -m demo/fast", "", 0, "Welcome to ponder"),
        ("-c -p again", "", 0, ""),
        ("sessions list", "", 0, " 2 "),
        ("doctor", "", 0, "sandbox for commands: none"),
        ("config init", "", 0, "config.toml"),
        ("plan claude-opus-5-5/high", "", 0, "effort"),
        ("auth set groq", "a-key-of-no-shape-1234\n", 0, "Saved in the"),
        ("auth list", "", 0, "***1234"),
        (f"-p hello -m {model}", "", 1, "Linux and macOS only"),
    ]
    asked = [{"words": words.split(), "said": said} for words, said, _, _ in commands]
    done = ran(tmp_path, "run-all", said=json.dumps(asked))
    assert done.returncode == 0, done.stderr
    for (words, _, code, shown), answer in zip(commands, json.loads(done.stdout), strict=True):
        assert answer["code"] == code, (words, answer)
        assert shown in answer["out"] + answer["errors"], (words, answer)


@pytest.mark.long
def test_the_screen_opens_answers_and_ends(tmp_path: Path) -> None:
    variables = environment(tmp_path)
    del variables["TERM"]
    with Terminal(WINDOWS, variables, started=True) as terminal:
        terminal.wait_for("Write a message")
        terminal.type("hello\r")
        terminal.wait_for("Welcome to ponder")
        terminal.type("\x11\x11")
        assert terminal.exit_code() == 0
