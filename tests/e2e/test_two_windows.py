"""Two windows at once: neither overwrites what the other remembers, and a draft stays with its session."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests import prefork
from tests.e2e.loopback import Loopback
from tests.e2e.terminal import Terminal, environment
from tests.e2e.test_editing import exchange
from tests.patience import PATIENCE_S

PONDER = [sys.executable, "-m", "tui"]
READY = "enter send"
BACK = "Draft restored."


@contextmanager
def window(home: Path, *options: str) -> Iterator[Terminal]:
    with Terminal([*PONDER, *options], environment(home), size=(90, 30)) as terminal:
        terminal.wait_for(READY)
        yield terminal


def quit_by_command(terminal: Terminal) -> None:
    terminal.type("\x11\x11")  # ctrl+q; the second answers the question whether to stop what still runs
    assert terminal.exit_code() == 0


def remembered(home: Path) -> dict[str, Any]:
    memory: dict[str, Any] = json.loads((home / "ponder" / "state" / "memory.json").read_text())
    return memory


@pytest.mark.long
def test_prompts_and_models_of_both_windows_are_remembered(tmp_path: Path) -> None:
    with Loopback() as model, window(tmp_path) as first, window(tmp_path, "-m", "demo/fast/low") as second:
        model.configure(tmp_path)
        second.type("from the second\r")
        second.wait_for("from the second")
        second.until(lambda: "answering" not in second.text() and "waiting" not in second.text(), "the end")
        with window(tmp_path) as third:
            exchange(third, model, "from the third", "Answer C.")
            quit_by_command(second)
            first.type("from the first\r")
            first.wait_for("▌ from the first")
            quit_by_command(first)
            quit_by_command(third)
        content = remembered(tmp_path)
        assert sorted(content["prompts"]) == ["from the first", "from the second", "from the third"]
        assert {name.partition("/")[0] for name in content["recent"]} == {"demo", "loop"}


@pytest.mark.long
def test_a_draft_comes_back_in_its_session_and_nowhere_else(tmp_path: Path) -> None:
    with Loopback() as model:
        model.configure(tmp_path)
        with window(tmp_path) as first:
            exchange(first, model, "alpha?", "Answer A.")
            first.type("half a thought")
            first.wait_for("❯ half a thought")
            quit_by_command(first)
        with window(tmp_path) as other:
            other.wait_for("❯ Write a message")
            assert BACK not in other.text()
            quit_by_command(other)
        with window(tmp_path, "-c") as again:
            again.wait_for(BACK)
            again.wait_for("❯ half a thought")
            again.type("\x0e")  # ctrl+n: a new chat
            again.wait_for("❯ Write a message")
            quit_by_command(again)
        with window(tmp_path, "-c") as again:
            again.wait_for("❯ half a thought")
            again.type("!\r")
            again.until(lambda: model.asked.acquire(blocking=False), "a request")
            quit_by_command(again)
        with window(tmp_path, "-c") as again:
            again.wait_for("half a thought!")
            assert "❯ half" not in again.text()
        assert remembered(tmp_path)["drafts"] == {}


@pytest.mark.long
def test_a_draft_without_a_session_is_the_newest_prompt_of_the_history(tmp_path: Path) -> None:
    with Loopback() as model:
        model.configure(tmp_path)
        with window(tmp_path) as first:
            first.type("never sent")
            first.wait_for("❯ never sent")
            quit_by_command(first)
        with window(tmp_path) as other:
            other.wait_for("❯ Write a message")
            other.type("\x1b[A")
            other.wait_for("❯ never sent")


@pytest.mark.long
def test_a_draft_survives_a_program_that_is_killed(tmp_path: Path) -> None:
    file = tmp_path / "ponder" / "state" / "memory.json"
    with Loopback() as model:
        model.configure(tmp_path)
        with window(tmp_path) as first:
            exchange(first, model, "alpha?", "Answer A.")
            first.type("half a thought")
            first.until(lambda: "half a thought" in file.read_text(), "the draft in the file")
            first.process.kill()
        with window(tmp_path, "-c") as again:
            again.wait_for(BACK)
            again.wait_for("❯ half a thought")


@pytest.mark.long
def test_theme_and_sidebar_are_as_they_were_left(tmp_path: Path) -> None:
    with Loopback() as model:
        model.configure(tmp_path)
        with Terminal([*PONDER], environment(tmp_path), size=(120, 30)) as first:
            first.wait_for("THINKING")
            dark = first.screen.buffer[5][5].bg
            first.type("/theme dawn\r")
            first.wait_for("Theme: dawn · saved")
            first.type("\x02")  # ctrl+b
            first.until(lambda: "THINKING" not in first.text(), "no sidebar")
            quit_by_command(first)
        with Terminal([*PONDER], environment(tmp_path), size=(120, 30)) as again:
            again.wait_for("Talk to models that think")
            again.wait_for(READY)
            assert again.screen.buffer[5][5].bg != dark
            assert "THINKING" not in again.text()
            quit_by_command(again)
    saved = (tmp_path / "ponder" / "state" / "state.toml").read_text()
    assert saved.endswith('[ui]\ntheme = "dawn"\nsidebar = "off"\n')


def deleted_forever(home: Path, session: str) -> subprocess.CompletedProcess[str]:
    words = [*PONDER, "sessions", "delete", "--forever", session]
    return prefork.run(words, env=environment(home), text=True, timeout=PATIENCE_S)


def test_a_session_with_a_running_turn_is_not_deleted_forever(tmp_path: Path) -> None:
    with Loopback() as model:
        model.configure(tmp_path)
        running = prefork.start([*PONDER, "-p", "Which one?"], env=environment(tmp_path), stdout=subprocess.PIPE)
        with running:
            assert model.asked.acquire(timeout=PATIENCE_S)
            refused = deleted_forever(tmp_path, "Which one?")
            model.say("This one.")
            model.finish()
            assert running.communicate(timeout=PATIENCE_S)[0] == b"This one.\n"
        assert refused.returncode == 2
        assert "is open in another window, so it was not deleted. Close it there first." in refused.stderr
        assert titles(tmp_path) == ["Which one?"]
        assert deleted_forever(tmp_path, "Which one?").returncode == 0
        assert titles(tmp_path) == []


def titles(home: Path) -> list[str]:
    words = [*PONDER, "sessions", "list", "--json"]
    done = prefork.run(words, env=environment(home), text=True, timeout=PATIENCE_S, check=True)
    return [json.loads(row)["title"] for row in done.stdout.splitlines()]
