"""A search for sessions ends where the words stand, with every occurrence counted and marked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.e2e.loopback import Loopback
from tests.e2e.terminal import Terminal, environment
from tests.e2e.test_clusters import settled
from tests.e2e.test_living import PONDER, READY

LONG = "\n\n".join(f"Plain paragraph number {number}." for number in range(60))
THINKING = f"First thoughts.\n\n{LONG}\n\nThe Café of the zebra, and a second zebra.\n\n{LONG}"
ANSWER = f"An answer.\n\n{LONG}\n\nOne zebra here, and **zeb**ra there.\n\n{LONG}"


def ask(terminal: Terminal, model: Loopback, prompt: str, thinking: str, answer: str) -> None:
    terminal.type(f"{prompt}\r")
    terminal.until(lambda: model.asked.acquire(blocking=False), "a request")
    if thinking:
        model.think(thinking)
    model.say(answer)
    model.finish()
    terminal.wait_for(answer[-20:])
    terminal.until(lambda: settled(terminal), "a still screen")


def marked(terminal: Terminal, word: str) -> list[tuple[int, int]]:
    """Where the word is marked on the screen, underlined or filled: row and column."""
    found: list[tuple[int, int]] = []
    for row, line in enumerate(terminal.screen.display):
        for at in re.finditer(word, line):
            cells = [terminal.screen.buffer[row][column] for column in range(*at.span())]
            if all(cell.underscore or (cell.bold and cell.reverse) for cell in cells):
                found.append((row, at.start()))
    return found


def test_a_search_for_sessions_opens_the_session_at_the_hit(tmp_path: Path) -> None:
    with Loopback() as model:
        model.configure(tmp_path)
        with Terminal(PONDER, environment(tmp_path), size=(110, 34)) as terminal:
            terminal.wait_for(READY)
            ask(terminal, model, "about animals", THINKING, ANSWER)
            terminal.type("\x0e")  # ctrl+n
            terminal.until(lambda: "Plain paragraph" not in terminal.text(), "a new chat")
            ask(terminal, model, "something else", "", "Nothing of it.")
            terminal.wait_for("Nothing of it.")
            terminal.type("\x13")  # ctrl+s
            terminal.wait_for("2 sessions")
            terminal.type("zebra")
            terminal.wait_for("1 session")
            terminal.wait_for("One zebra")
            terminal.type("\r")
            terminal.wait_for("3 of 4")
            terminal.wait_for("One zebra here, and")
            terminal.until(lambda: bool(marked(terminal, "zebra")), "the mark")
            terminal.type("N")
            terminal.wait_for("2 of 4")
            terminal.wait_for("The Café of the zebra, and a second zebra.")
            terminal.until(lambda: len(marked(terminal, "zebra")) == 2, "two marks")
            terminal.type("\x1b")
            terminal.until(lambda: not marked(terminal, "zebra") and "2 of 4" not in terminal.text(), "no mark")


@pytest.mark.long
def test_several_words_are_found_wherever_they_stand_with_or_without_accents(tmp_path: Path) -> None:
    with Loopback() as model:
        model.configure(tmp_path)
        with Terminal(PONDER, environment(tmp_path), size=(110, 34)) as terminal:
            terminal.wait_for(READY)
            ask(terminal, model, "about animals", THINKING, "Short.")
            terminal.type("\x13")
            terminal.wait_for("1 session")
            terminal.type("in:thinking zebra cafe")
            terminal.wait_for("The Café of the zebra")
            terminal.type("\r")
            terminal.wait_for("1 of 3")
            terminal.wait_for("The Café of the zebra, and a second zebra.")
            terminal.until(lambda: len(marked(terminal, "zebra")) == 2, "marks")
