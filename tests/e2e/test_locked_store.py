"""A session database that another program has locked, as a user meets it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.terminal import Terminal, environment
from tests.e2e.test_odd_files import PONDER, READY, asked

SENTENCE = "Another program has locked the session database; ponder waits for it."


@pytest.fixture
def other(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """Another program, which has locked the database of a user with one session."""
    assert asked(tmp_path, "-p", "hello", "-m", "demo/fast").returncode == 0
    store = tmp_path / "ponder" / "data" / "sessions.db"
    with closing(sqlite3.connect(store, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield connection


@pytest.mark.long
@pytest.mark.parametrize("form", [(), ("--json",), ("-c",)])
def test_a_prompt_says_on_stderr_that_it_waits_and_then_how_it_ended(
    tmp_path: Path, other: sqlite3.Connection, form: tuple[str, ...]
) -> None:
    done = asked(tmp_path, "-p", "hello", "-m", "demo/fast", *form)
    assert done.returncode == 1
    first, *rest = done.stderr.splitlines()
    assert first == f"ponder: {SENTENCE}"
    assert SENTENCE not in "".join(rest)


@pytest.mark.long
def test_the_list_of_sessions_says_it(tmp_path: Path, other: sqlite3.Connection) -> None:
    done = asked(tmp_path, "sessions", "list")
    assert (done.returncode, done.stderr) == (0, f"ponder: {SENTENCE}\n")


def test_the_screen_says_it_and_saves_when_the_lock_is_released(tmp_path: Path, other: sqlite3.Connection) -> None:
    with Terminal([*PONDER, "-m", "demo/fast"], environment(tmp_path), size=(120, 40)) as terminal:
        terminal.wait_for(READY)
        terminal.type("hello\r")
        terminal.wait_for("ponder waits for it")
        other.execute("ROLLBACK")
        terminal.wait_for("1 turn ")
        assert "NOT SAVED" not in terminal.text()


@pytest.mark.long
def test_the_terminal_says_it_while_a_session_is_opened_for_the_screen(
    tmp_path: Path, other: sqlite3.Connection
) -> None:
    with Terminal([*PONDER, "-m", "demo/fast", "-c"], environment(tmp_path), size=(120, 40)) as terminal:
        terminal.wait_for("ponder waits for it")
        other.execute("ROLLBACK")
        terminal.wait_for(READY)
        terminal.wait_for("hello")
