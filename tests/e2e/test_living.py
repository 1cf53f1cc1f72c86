"""The whole program on a terminal of its own, before, while and after a model answers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.loopback import Loopback
from tests.e2e.terminal import Terminal, environment

PONDER = [sys.executable, "-m", "tui"]
READY = "enter send"
ANSWERED = 5.0


@contextmanager
def talking(home: Path, **more: str) -> Iterator[tuple[Terminal, Loopback]]:
    """A program that has asked its model something and hears nothing yet."""
    with Loopback() as model:
        model.configure(home)
        with Terminal(PONDER, environment(home, **more), size=(80, 24)) as terminal:
            terminal.wait_for(READY)
            terminal.type("first question\r")
            terminal.until(lambda: model.asked.acquire(blocking=False), "a request")
            yield terminal, model


def test_a_new_user_types_presses_enter_and_reads_an_answer_with_thinking(tmp_path: Path) -> None:
    with Terminal(PONDER, environment(tmp_path), size=(100, 40), started=True) as terminal:
        terminal.wait_for(READY)
        terminal.type("what can you do?\r")
        terminal.wait_for("Thinking")
        terminal.wait_for("Thought")
        terminal.wait_for("Welcome to ponder")


def test_what_is_typed_while_an_answer_streams_is_echoed(tmp_path: Path) -> None:
    with talking(tmp_path) as (terminal, model):
        model.think("hmm, ", "let me see")
        terminal.wait_for("let me see")
        model.say(*(f"word{number} " for number in range(200)))
        terminal.type("typed meanwhile")
        terminal.wait_for("typed meanwhile")
        model.say("\n\nand the end.")
        model.finish()
        terminal.wait_for("and the end.")


def test_escape_stops_the_answer_at_once_and_keeps_what_came(tmp_path: Path) -> None:
    with talking(tmp_path) as (terminal, model):
        model.say("this much ", "has come")
        terminal.wait_for("this much has come")
        terminal.type("\x1b")
        terminal.wait_for("stopped by you")
        while not model.hung_up.wait(0.005):
            model.say("never seen ")
        terminal.type("the keyboard is free")
        terminal.wait_for("the keyboard is free")
        assert "this much has come" in terminal.text()
        assert "never seen" not in terminal.text()


@pytest.mark.long
def test_a_second_prompt_waits_and_is_then_asked(tmp_path: Path) -> None:
    with talking(tmp_path) as (terminal, model):
        model.say("the first answer")
        terminal.wait_for("the first answer")
        terminal.type("second question\r")
        terminal.wait_for("1 queued")
        model.finish()
        terminal.until(lambda: model.asked.acquire(blocking=False), "the second request")
        model.say("the second answer")
        model.finish()
        terminal.wait_for("the second answer")
        assert [prompt.strip('"') for prompt in model.prompts] == ["first question", "second question"]


def test_a_session_goes_on_after_its_terminal_reads_again(tmp_path: Path) -> None:
    with talking(tmp_path) as (terminal, model):
        model.say("one")
        model.finish()
        terminal.wait_for("one")
        terminal.type("again\r")
        terminal.until(lambda: model.asked.acquire(blocking=False), "a request")
        model.say("two")
        model.finish()
        terminal.wait_for("two")
