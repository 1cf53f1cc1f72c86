"""The approval sheet on a real terminal: all of a call is shown, and a yes is taken only to what was shown."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.loopback import Loopback
from tests.e2e.terminal import Terminal, environment
from tests.e2e.test_hostile_words import foreign_bytes
from tests.e2e.test_living import PONDER, READY

ALT_1, ALT_4, CTRL_Y, CTRL_END, DOWN = "\x1b1", "\x1b4", "\x19", "\x1b[1;5F", "\x1b[B"
PAGE_UP, PAGE_DOWN = "\x1b[5~", "\x1b[6~"
QUIET_S = 0.4
"""Longer than the sheet ignores keys after it came up."""


@contextmanager
def asking(home: Path, tool: str, size: tuple[int, int] = (80, 24), **arguments: object) -> Iterator[Terminal]:
    """A program whose model wants to call a tool."""
    with Loopback() as model:
        model.configure(home)
        with Terminal(PONDER, environment(home), size=(80, 24)) as terminal:
            terminal.wait_for(READY)
            terminal.type("do it\r")
            terminal.until(lambda: model.asked.acquire(blocking=False), "a request")
            terminal.resize(*size)
            model.call(tool, **arguments)
            model.say("All done.")
            model.finish()
            terminal.wait_for("ASKS")
            settle(terminal)
            yield terminal


def settle(terminal: Terminal, seconds: float = QUIET_S) -> None:
    """Read on for so long: the spinner never stands still."""
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        terminal.pump(0.02)


def press(terminal: Terminal, *keys: str) -> str:
    for key in keys:
        terminal.type(key)
        settle(terminal, 0.15)
    return terminal.text()


def press_until(terminal: Terminal, key: str, holds: Callable[[], bool], what: str) -> None:
    """Press a key again and again: one that comes too early after the last is not taken."""
    pressed = 0.0

    def came() -> bool:
        nonlocal pressed
        if not holds() and time.perf_counter() - pressed > 2 * QUIET_S:
            terminal.type(key)
            pressed = time.perf_counter()
        return holds()

    terminal.until(came, what)


@pytest.mark.long
def test_a_yes_counts_after_the_end_was_seen(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    command = f"touch {ran}" + "".join(f"\n# step {number}" for number in range(60))
    with asking(tmp_path, "shell", command=command) as terminal:
        press(terminal, CTRL_Y, ALT_1, DOWN, "\r")
        press_until(terminal, ALT_1, lambda: "read to the end first" in terminal.text(), "the refusal")
        assert not ran.exists()
        press_until(terminal, PAGE_DOWN, lambda: "read to the end" not in terminal.text(), "the end")
        assert "# step 59" in terminal.text()
        press_until(terminal, ALT_1, lambda: "ASKS" not in terminal.text(), "the answer")
        terminal.wait_for("All done.")
        assert ran.exists()
        assert "\u00a1" not in terminal.text()


@pytest.mark.long
def test_every_key_of_the_sheet_is_named_at_80_columns(tmp_path: Path) -> None:
    with asking(tmp_path, "shell", command="ls") as terminal:
        terminal.wait_for("ctrl+c stop  esc esc no")


@pytest.mark.long
def test_a_long_change_ends_where_it_ends_and_a_no_writes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "file.txt"
    content = "".join(f"row {number}\n" for number in range(3000)) + "\n" * 30 + "the last words"
    with asking(tmp_path, "write_file", path=str(file), content=content) as terminal:
        press_until(terminal, ALT_1, lambda: "read to the end first" in terminal.text(), "the refusal")
        press_until(terminal, CTRL_END, lambda: "+the last words" in terminal.text(), "the end")
        # How many rows there are depends on the length of the path above them.
        press_until(
            terminal, PAGE_UP, lambda: "+\u27e830 blank lines\u27e9" in terminal.text(), "what is above the end"
        )
        press_until(terminal, PAGE_UP, lambda: "row 2999" in terminal.text(), "what is above that")
        press_until(terminal, "\x1b", lambda: "ASKS" not in terminal.text(), "the answer")
        terminal.wait_for("All done.")
        assert not file.exists()


@pytest.mark.long
def test_nothing_that_could_hide_a_part_is_drawn_as_nothing(tmp_path: Path) -> None:
    hidden = "\u2028\u2029\u206a\u206f\u034f\U0001d173\U0001d17a\u3164\u202e\U000e0041\u2800\x9b\u00a0"
    command = (
        "echo " + " ".join(f"{number}{sign}" for number, sign in enumerate(hidden)) + " " * 200 + "\n" * 50 + "echo z"
    )
    with asking(tmp_path, "shell", (120, 40), command=command) as terminal:
        words = [*(f"\\u{{{ord(sign):X}}}" for sign in hidden), "\u27e8200 blanks\u27e9", "\u27e849 blank lines\u27e9"]

        def missing() -> list[str]:
            text = "".join(line.strip(" \u2503\u2502\u21aa") for line in terminal.text().splitlines())
            return [word for word in words if word not in text]

        terminal.until(lambda: not missing(), "every sign")
        assert foreign_bytes(terminal.raw) == []


@pytest.mark.long
@pytest.mark.one_in(3)
@pytest.mark.parametrize("size", [(80, 24), (60, 20), (120, 40)])
def test_every_answer_is_in_sight_and_a_rule_is_shown_whole(tmp_path: Path, size: tuple[int, int]) -> None:
    command = f"touch {tmp_path}/ran # " + "x" * 150 + "\n# " + "y" * 150
    with asking(tmp_path, "shell", size, command=command) as terminal:
        terminal.wait_for("Always allow exactly this command")
        terminal.wait_for("No, and tell the model why")
        press_until(terminal, ALT_4, lambda: "ASKS" not in terminal.text(), "the answer")


@pytest.mark.long
def test_in_a_window_that_is_too_small_it_says_so_and_takes_no_yes(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    with asking(tmp_path, "shell", (20, 5), command=f"touch {ran}") as terminal:
        terminal.until(lambda: "too small" in " ".join(terminal.text().split()), "the words that it is too small")
        press(terminal, CTRL_Y, ALT_1, DOWN, "\r", ALT_1)
        assert not ran.exists()
        terminal.resize(80, 24)
        terminal.wait_for("Yes, once")
        settle(terminal)
        assert not ran.exists()
        press_until(terminal, CTRL_Y, lambda: "ASKS" not in terminal.text(), "the answer")
        terminal.wait_for("All done.")
        assert ran.exists()
