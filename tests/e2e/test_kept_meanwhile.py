"""What is said is on disk while it is said: whether the terminal reads or not, and however the program ends."""

from __future__ import annotations

import contextlib
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.loopback import Loopback
from tests.e2e.terminal import Terminal
from tests.e2e.test_living import talking
from tests.patience import PATIENCE_S
from tui.ui.terminal.shutdown import RESTORE

MANY = 1_500
"""More than sockets and the terminal hold."""


class Kept:
    """What another program finds in the file meanwhile. Looking reads nothing from the terminal."""

    def __init__(self, home: Path, terminal: Terminal) -> None:
        self._file = home / "ponder" / "data" / "sessions.db"
        self._terminal = terminal

    def words(self, kind: str = "text") -> str:
        """All words of answers, as far as they are kept."""
        query = (
            "SELECT block.text FROM block JOIN message ON message.seq = block.place / 1048576"
            " WHERE message.role = 'assistant' AND block.kind = ? ORDER BY place"
        )
        return "".join(text for (text,) in self._ask(query, kind))

    def is_open(self) -> bool:
        """Whether a turn or a message still counts as coming."""
        return bool(self._ask("SELECT 1 FROM turn WHERE open UNION ALL SELECT 1 FROM message WHERE open"))

    def wait_for(self, words: str, meanwhile: Callable[[], object] = lambda: None) -> None:
        """Until these words are kept; something may go on meanwhile."""
        deadline = time.monotonic() + PATIENCE_S
        while words not in self.words():
            assert time.monotonic() < deadline, f"{words!r} was never kept"
            meanwhile()
            with contextlib.suppress(subprocess.TimeoutExpired):
                raise AssertionError(f"the program ended with {self._terminal.process.wait(0.02)}")

    def _ask(self, query: str, *values: str) -> list[tuple[str]]:
        with contextlib.closing(sqlite3.connect(f"file:{self._file}?mode=ro", uri=True)) as database:
            return database.execute(query, values).fetchall()


class Story:
    """An answer that is told line by line, and can be compared with what was kept."""

    def __init__(self, model: Loopback) -> None:
        self._model = model
        self.told = ""
        self._number = 0

    def go_on(self, lines: int = 1) -> None:
        """So many lines more."""
        more = [f"line {number} {'x' * 400}\n\n" for number in range(self._number, self._number + lines)]
        self._number += lines
        self.say(*more)

    def say(self, *words: str) -> None:
        """Something in between."""
        self._model.say(*words)
        self.told += "".join(words)


def test_a_terminal_that_reads_nothing_holds_up_no_stream_and_what_is_kept_goes_on_growing(tmp_path: Path) -> None:
    with talking(tmp_path) as (terminal, model):
        story, kept = Story(model), Kept(tmp_path, terminal)
        story.say("it begins\n\n")
        terminal.wait_for("it begins")
        # From here on nothing is read.
        for mark in ("so far", "and farther"):
            story.go_on(MANY)
            story.say(f"{mark}\n\n")
            kept.wait_for(mark, story.go_on)
        story.say("and it ends")
        model.finish()
        kept.wait_for("and it ends")
        terminal.wait_for("and it ends")
        assert kept.words() == story.told


@pytest.mark.long
def test_nothing_read_for_half_a_minute_loses_nothing(tmp_path: Path) -> None:
    with talking(tmp_path) as (terminal, model):
        story, kept = Story(model), Kept(tmp_path, terminal)
        story.say("it begins\n\n")
        terminal.wait_for("it begins")
        story.go_on(MANY)
        ends, mark = time.monotonic() + 30, 0
        while time.monotonic() < ends:
            mark += 1
            story.say(f"mark {mark}\n\n")
            kept.wait_for(f"mark {mark}\n", story.go_on)
        story.say("and it ends")
        model.finish()
        terminal.wait_for("and it ends")
        kept.wait_for("and it ends")
        assert kept.words() == story.told


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("name", "unread"), [("SIGTERM", False), ("SIGHUP", True)])
def test_a_signal_in_the_middle_of_an_answer_keeps_what_came_of_it(tmp_path: Path, name: str, *, unread: bool) -> None:
    number = signal.Signals[name]
    with talking(tmp_path) as (terminal, model):
        model.think("let me see, ", "yes")
        model.say("this much ", "has come")
        terminal.wait_for("this much has come")
        story, kept = Story(model), Kept(tmp_path, terminal)
        if unread:
            story.go_on(MANY)
            story.say("unseen")
            kept.wait_for("unseen", story.go_on)
            terminal.signal(number)
            assert terminal.process.wait(PATIENCE_S) == 128 + number
            # Blocked in the middle of a frame, it cannot end in order; the rest of the frame must not follow.
            terminal.until(lambda: terminal.raw.endswith(RESTORE), "the last resort")
            assert terminal.is_clean
            assert terminal.modes() == terminal.modes_before
        else:
            terminal.signal(number)
            assert terminal.exit_code() == 128 + number
            assert terminal.is_clean
        assert kept.words("thinking") == "let me see, yes"
        assert kept.words().startswith("this much has come")
        assert ("unseen" in kept.words()) == unread
        assert not kept.is_open()
