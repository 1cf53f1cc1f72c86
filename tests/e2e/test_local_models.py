"""Local models on a terminal and in scripts: nothing stays behind, however ponder or the model's processes end."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.app.local_stage import OWN_SERVER, processes, scripted_model, surroundings, wait_for_end
from tests.e2e.terminal import Terminal, environment
from tests.patience import PATIENCE_S
from tui.providers.local.server_folder import ServerFolder, ServerState

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds the processes in /proc")
PONDER = [sys.executable, "-m", "tui", "--no-tools", "--set", OWN_SERVER[0]]
ENDS_WITHIN_S = 10.0


def around(folder: Path) -> dict[str, str]:
    return environment(folder, PATH=surroundings(folder)["PATH"] + os.pathsep + os.environ["PATH"])


def prompt(folder: Path, model: Path) -> subprocess.Popen[str]:
    """A running ``ponder -p``."""
    return subprocess.Popen(
        [*PONDER, "-m", str(model), "-p", "Hi"],
        env=around(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )


def state(folder: Path) -> ServerState | None:
    places = list((folder / "ponder" / "state" / "local").glob("*"))
    return ServerFolder(places[0]).read() if places else None


def until(holds: object, what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if callable(holds) and holds():
            return
        time.sleep(0.02)
    raise AssertionError(what)


@pytest.mark.long
def test_on_a_terminal_it_says_that_the_model_is_loading_and_answers(tmp_path: Path) -> None:
    model = scripted_model(tmp_path, thinks="Let me see.", says="Hello from a file.", waits_for="go")
    with Terminal([*PONDER, "-m", str(model)], around(tmp_path), size=(110, 30)) as terminal:
        terminal.wait_for("Tiny.gguf")
        terminal.type("Who are you?\r")
        terminal.wait_for("loading the model")
        (model.parent / "go").touch()
        terminal.wait_for("Hello from a file.")
        terminal.type("/status\r")
        terminal.wait_for("model server: ready")
        terminal.type("\x1b")
        terminal.type("\x11")
        assert terminal.exit_code() == 0
    wait_for_end(tmp_path)


@pytest.mark.long
def test_escape_stops_waiting_and_the_model_goes_on_loading(tmp_path: Path) -> None:
    model = scripted_model(tmp_path, waits_for="go")
    with Terminal([*PONDER, "-m", str(model)], around(tmp_path), size=(110, 30)) as terminal:
        terminal.wait_for("Tiny.gguf")
        terminal.type("Who are you?\r")
        terminal.wait_for("loading the model")
        terminal.type("\x1b")
        terminal.until(lambda: "loading the model" not in terminal.text(), "the end of the turn")
        assert len(processes(tmp_path)) == 2
        (model.parent / "go").touch()
        terminal.type("And now?\r")
        terminal.wait_for("Hello from here.")
    wait_for_end(tmp_path)


@pytest.mark.long
def test_a_prompt_without_a_screen_has_the_answer_alone_on_stdout(tmp_path: Path) -> None:
    out, err = prompt(tmp_path, scripted_model(tmp_path)).communicate(timeout=PATIENCE_S)
    assert (out, err) == ("Hello from here.\n", "")
    wait_for_end(tmp_path)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("moment", ["loading", "answering"])
def test_a_killed_ponder_leaves_no_process(tmp_path: Path, moment: str) -> None:
    model = scripted_model(tmp_path, **({"waits_for": "go"} if moment == "loading" else {"hangs_after": 2}))
    running = prompt(tmp_path, model)
    wanted = "loading" if moment == "loading" else "ready"
    until(lambda: (now := state(tmp_path)) is not None and now.stage == wanted, moment)
    began = time.monotonic()
    running.kill()
    running.communicate()
    wait_for_end(tmp_path)
    assert time.monotonic() - began < ENDS_WITHIN_S


@pytest.mark.minutes
@pytest.mark.timeout(3_600)
def test_after_two_hundred_starts_with_kills_at_random_moments_nothing_is_left(tmp_path: Path) -> None:
    """Every second start is left to answer; in the others ponder, the keeper or the server is killed."""
    draw = random.Random(20261119)
    for number in range(200):
        model = scripted_model(tmp_path, says="All is well.")
        running = prompt(tmp_path, model)
        whom = draw.choice(["ponder", "keeper", "process"]) if number % 2 else ""
        if whom:
            time.sleep(draw.uniform(0.05, 0.9))
            now = state(tmp_path)
            victim = running.pid if whom == "ponder" or now is None else getattr(now, whom)
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
        out, err = running.communicate(timeout=60)
        if not whom or whom != "ponder":
            assert out.endswith("All is well.\n") or running.returncode, (number, whom, out, err)
        if not whom:
            assert (running.returncode, out) == (0, "All is well.\n"), (number, err)
        began = time.monotonic()
        wait_for_end(tmp_path)
        assert time.monotonic() - began < ENDS_WITHIN_S, number
        holders = list((tmp_path / "ponder" / "state" / "local").glob("*/holders/*"))
        assert len(holders) <= 1, number


@pytest.mark.long
def test_without_a_key_and_a_name_the_model_of_this_machine_answers(tmp_path: Path) -> None:
    scripted_model(tmp_path / "ponder" / "data" / "models", says="Hello, it is me.")
    command = [*PONDER, "-p", "Hi"]
    ended = subprocess.run(
        command, env=around(tmp_path), capture_output=True, stdin=subprocess.DEVNULL, text=True, check=False
    )
    assert (ended.stdout, ended.stderr, ended.returncode) == ("Hello, it is me.\n", "", 0)
    with Terminal(PONDER, around(tmp_path), size=(110, 30)) as terminal:
        terminal.wait_for("Tiny")
        terminal.wait_for("Models on this machine")
        terminal.type("Hi\r")
        terminal.wait_for("Hello, it is me.")
    wait_for_end(tmp_path)


@pytest.mark.long
def test_commands_know_the_models_of_files(tmp_path: Path) -> None:
    model = scripted_model(tmp_path / "ponder" / "data" / "models")
    told = {
        name: subprocess.run(
            [sys.executable, "-m", "tui", *words], env=around(tmp_path), capture_output=True, text=True, check=False
        ).stdout
        for name, words in {
            "models": ["models", "local/"],
            "plan": ["plan", "local/Tiny/none"],
            "path": ["plan", f"{model}/2000"],
            "price": ["price", "local/Tiny", "--input", "5000", "--output", "10", "--json"],
        }.items()
    }
    assert told["models"].splitlines()[1].split()[:2] == ["local/Tiny", "41K"]
    assert "enable_thinking" in told["plan"]
    assert '"reasoning_budget_tokens": 2000' in told["path"]
    assert json.loads(told["price"])["usd"] == 0
