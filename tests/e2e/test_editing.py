"""Editing, failing, stopping with a queue, ctrl+d: what sending will do is said before it is done."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.loopback import Loopback
from tests.e2e.terminal import Terminal, environment

PONDER = [sys.executable, "-m", "tui"]
READY = "enter send"
SIZE = (90, 30)


@contextmanager
def started(home: Path, *options: str) -> Iterator[tuple[Terminal, Loopback]]:
    """The program before its first prompt, and its model."""
    with Loopback() as model:
        model.configure(home)
        with Terminal([*PONDER, *options], environment(home), size=SIZE) as terminal:
            terminal.wait_for(READY)
            yield terminal, model


def asked(terminal: Terminal, model: Loopback) -> None:
    terminal.until(lambda: model.asked.acquire(blocking=False), "a request")


def exchange(terminal: Terminal, model: Loopback, prompt: str, answer: str) -> None:
    """A prompt and its whole answer."""
    terminal.type(f"{prompt}\r")
    asked(terminal, model)
    model.say(answer)
    model.finish()
    terminal.wait_for(answer.rpartition("\n")[2])
    terminal.until(lambda: "answering" not in terminal.text() and "waiting" not in terminal.text(), "the end")


def prompts(model: Loopback) -> list[str]:
    """The last message of each request. A prompt without an answer is joined with the one after it."""
    return [json.loads(prompt) for prompt in model.prompts]


def colour_of(terminal: Terminal, words: str) -> str:
    """The colour of the first place on the screen where these words are."""
    for row, line in enumerate(terminal.screen.display):
        if words in line:
            return str(terminal.screen.buffer[row][line.index(words)].fg)
    raise AssertionError(f"«{words}» is not on the screen:\n{terminal.text()}")


def test_an_edit_is_announced_dims_what_it_leaves_behind_and_replaces_its_turn(tmp_path: Path) -> None:
    with started(tmp_path) as (terminal, model):
        for prompt, answer in (("alpha?", "Answer A."), ("beta?", "Answer B."), ("gamma?", "Answer C.")):
            exchange(terminal, model, prompt, answer)
        bright = colour_of(terminal, "Answer B.")
        terminal.type("\x1b[1;3A" * 4)  # alt+up: from the last block to the second prompt
        terminal.type("e")
        terminal.wait_for("editing turn 2 of 3 · 1 later turn moves to a branch · esc cancels")
        assert colour_of(terminal, "Answer A.") == bright
        assert {colour_of(terminal, words) for words in ("Answer B.", "Answer C.")}.isdisjoint({bright})
        terminal.type(" again\r")
        asked(terminal, model)
        model.say("Answer D.")
        model.finish()
        terminal.wait_for("Answer D.")
        assert prompts(model)[-1] == "beta? again"
        terminal.until(lambda: "editing" not in terminal.text(), "the end of the edit mode")
        assert "Answer C." not in terminal.text()
        assert colour_of(terminal, "Answer D.") == bright


EMPTYING = {
    "backspace": "\x7f" * 6,
    "esc": "\x1b",
    "ctrl+c": "\x03",
    "to the start of the line": "\x15",
    "select all and delete": "\x1b[1;2H\x7f",
}


@pytest.mark.long
@pytest.mark.one_in(5)
@pytest.mark.parametrize("keys", EMPTYING.values(), ids=EMPTYING)
def test_emptying_the_composer_ends_an_edit(tmp_path: Path, keys: str) -> None:
    with started(tmp_path) as (terminal, model):
        exchange(terminal, model, "alpha?", "Answer A.")
        terminal.type("\x1b\x1b")
        terminal.wait_for("editing turn 1 of 1 · its answer moves to a branch · esc cancels")
        terminal.type(keys)
        terminal.until(lambda: "editing turn" not in terminal.text(), "the end of the edit")
        exchange(terminal, model, "omega?", "Answer Z.")
        assert "Answer A." in terminal.text()


@pytest.mark.long
def test_an_edit_that_is_emptied_and_written_anew_in_one_burst_replaces_nothing(tmp_path: Path) -> None:
    with started(tmp_path) as (terminal, model):
        exchange(terminal, model, "alpha?", "Answer A.")
        terminal.type("\x1b\x1b")
        terminal.wait_for("editing turn 1 of 1")
        exchange(terminal, model, "\x7f" * 6 + "omega?", "Answer Z.")
        assert "Answer A." in terminal.text()


@pytest.mark.long
def test_a_prompt_restored_after_an_error_is_an_ordinary_draft(tmp_path: Path) -> None:
    with started(tmp_path) as (terminal, model):
        model.fail(401)
        terminal.type("alpha?\r")
        terminal.wait_for("✗")
        terminal.wait_for("failed prompt is back · enter tries again · esc clears")
        exchange(terminal, model, "omega?", "Answer Z.")  # over the prompt, which is selected
        assert "▌ alpha?" in terminal.text()
        assert "▌ omega?" in terminal.text()


@pytest.mark.long
def test_sending_a_restored_prompt_unchanged_asks_it_again_instead_of_twice(tmp_path: Path) -> None:
    with started(tmp_path) as (terminal, model):
        model.fail(401)
        terminal.type("alpha?\r")
        terminal.wait_for("✗")
        terminal.wait_for("❯ alpha?")
        exchange(terminal, model, "", "Answer A.")
        assert terminal.text().count("▌ alpha?") == 1


def test_escape_holds_the_queue_and_enter_sends_it(tmp_path: Path) -> None:
    with started(tmp_path) as (terminal, model):
        terminal.type("alpha?\r")
        asked(terminal, model)
        terminal.type("beta?\rgamma?\r")
        terminal.wait_for("2 queued · tab sends it after this step · ↑ takes the last one back")
        terminal.type("\x1b[A")
        terminal.wait_for("❯ gamma?")
        terminal.wait_for(" 1 queued ")
        terminal.type("!\r")
        terminal.wait_for("2 queued")
        terminal.type("\x1b")
        terminal.wait_for("stopped · 2 queued · enter sends · esc back to the draft")
        model.finish()  # the answer nobody waits for
        terminal.type("\r")
        asked(terminal, model)
        model.say("Answer B.")
        model.finish()
        asked(terminal, model)
        assert prompts(model) == ["alpha?", "alpha?\n\nbeta?", "gamma?!"]


@pytest.mark.long
def test_escape_puts_a_held_queue_back_into_the_draft(tmp_path: Path) -> None:
    with started(tmp_path) as (terminal, model):
        terminal.type("alpha?\r")
        asked(terminal, model)
        terminal.type("beta?\rgamma?\r")
        terminal.wait_for("2 queued")
        terminal.type("\x1b")
        terminal.wait_for("stopped · 2 queued")
        terminal.type("delta?")
        terminal.wait_for("stopped · 2 queued · enter sends only the draft · esc adds them to it")
        terminal.type("\x1b")
        terminal.until(lambda: "queued" not in terminal.text(), "an empty queue")
        model.finish()
        terminal.type("\r")
        asked(terminal, model)
        assert prompts(model) == ["alpha?", "alpha?\n\ndelta?\n\nbeta?\n\ngamma?"]


def test_ctrl_d_scrolls_the_transcript_and_quits_only_from_an_empty_focused_composer(tmp_path: Path) -> None:
    with started(tmp_path) as (terminal, model):
        exchange(terminal, model, "alpha?", "\n\n".join(f"row {number}" for number in range(60)) + "\n\nlast row")
        terminal.type("\x1b[1;3A")  # alt+up focuses the transcript
        terminal.type("\x15\x15")
        terminal.until(lambda: "last row" not in terminal.text(), "an earlier page")
        terminal.type("\x04" * 4)
        terminal.wait_for("last row")
        terminal.type("\x1b")
        terminal.wait_for(READY)
        terminal.type("xy\x1b[H\x04")
        terminal.wait_for("❯ y")
        terminal.type("\x04\x04")
        assert terminal.exit_code() == 0
