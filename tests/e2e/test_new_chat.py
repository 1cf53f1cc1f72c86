"""A new chat begins with what is typed for it, at once, and with nothing that was written for another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.terminal import Terminal, environment
from tests.e2e.test_stopped import PONDER, READY

EMPTY = "Talk to models that think"
SIZE = (90, 30)


@pytest.mark.long
@pytest.mark.one_in(2)
@pytest.mark.parametrize("way", ["half\x0ehello", "/new\rhello"], ids=["ctrl+n", "/new"])
def test_keys_after_the_key_of_a_new_chat_go_to_the_new_one(tmp_path: Path, way: str) -> None:
    with Terminal(PONDER, environment(tmp_path), size=SIZE) as terminal:
        terminal.wait_for(READY)
        for number in range(4):
            terminal.type(f"prompt {number}\r")
            terminal.until(lambda: "· $0" in terminal.text() and "esc stop" not in terminal.text(), "an answer")
            terminal.type(way)
            terminal.wait_for("❯ hello\n")
            terminal.until(lambda: EMPTY in terminal.text(), "a new chat")
            terminal.type("\x15")
            terminal.wait_for("❯ Write a message")


def test_a_draft_stays_with_its_session_and_comes_back_there(tmp_path: Path) -> None:
    with Terminal(PONDER, environment(tmp_path), size=SIZE) as terminal:
        terminal.wait_for(READY)
        terminal.type("prompt\r")
        terminal.until(lambda: "· $0" in terminal.text() and "esc stop" not in terminal.text(), "an answer")
        terminal.type("half\x0ehello")
        terminal.wait_for("❯ hello\n")
        terminal.type("\x15\x13")
        terminal.wait_for("1 session")
        terminal.type("\r")
        terminal.wait_for("❯ half\n")


def test_the_draft_of_another_window_is_not_the_draft_of_a_new_chat(tmp_path: Path) -> None:
    with Terminal(PONDER, environment(tmp_path), size=SIZE) as terminal:
        terminal.wait_for(READY)
        terminal.type("half a thought")
        terminal.wait_for("❯ half a thought")
        with Terminal(PONDER, environment(tmp_path), size=SIZE) as other:
            other.wait_for(READY)
            other.type("x")
            other.wait_for("❯ x\n")
