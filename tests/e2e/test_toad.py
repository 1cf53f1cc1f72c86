"""``ponder acp`` in toad, an editor for agents that is a program of the terminal. Needs Python 3.14: `pip install
batrachian-toad`, and its `toad` on PATH or in $PONDER_TOAD.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.terminal import Terminal, environment

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]
PATIENCE_S = 60.0
"""Two programs start, one from the other."""
AGENT = shlex.join([sys.executable, "-m", "tui", "acp", "--model", "demo/fast/low"])
ASKED = "Yes, once"


@pytest.fixture
def toad(tmp_path: Path) -> Iterator[Terminal]:
    program = os.environ.get("PONDER_TOAD") or shutil.which("toad")
    if program is None:
        pytest.skip("NOT TESTED IN AN EDITOR: set PONDER_TOAD to the program of `pip install batrachian-toad`")
    (folder := tmp_path / "work").mkdir()
    with Terminal([program, "acp", AGENT, str(folder)], environment(tmp_path), size=(130, 45)) as terminal:
        terminal.wait_for("How can I help you today?", PATIENCE_S)
        yield terminal


def say(toad: Terminal, prompt: str) -> None:
    toad.type(prompt)
    toad.wait_for(prompt, PATIENCE_S)
    toad.type("\r")


def test_a_command_runs_when_it_is_allowed_and_its_output_is_in_the_answer(toad: Terminal) -> None:
    say(toad, "run something")
    toad.wait_for(ASKED, PATIENCE_S)
    toad.wait_for("echo hello from the demo", PATIENCE_S)
    toad.wait_for("The user wants to see something", PATIENCE_S)  # thinking
    toad.type("a")
    toad.wait_for("Result 1 (1 line)", PATIENCE_S)
    toad.wait_for("Run a command ✔", PATIENCE_S)


@pytest.mark.long
def test_a_command_that_is_refused_does_not_run_and_the_model_is_told(toad: Terminal) -> None:
    say(toad, "run something")
    toad.wait_for(ASKED, PATIENCE_S)
    toad.type("r")
    toad.wait_for("The demo checked it", PATIENCE_S)
    assert "Run a command ✔" not in toad.text()
