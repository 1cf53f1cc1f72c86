"""Whatever lies in the place of the session store: the conversation goes on, and it is said that nothing is saved."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.terminal import Terminal, environment
from tests.e2e.test_odd_files import (
    PONDER,
    READY,
    asked,
    broken_link,
    device,
    fails_when_read,
    fifo,
    folder,
    loop,
    prepared,
    tidy,
    unreadable,
    unreadable_folder,
)
from tests.unprivileged import bits_are_obeyed

STORE = "data/sessions.db"


def harm_schema(path: Path) -> None:
    """Names in the schema that are no text: Python refuses to decode them."""
    asked(path.parents[2], "-p", "hello", "-m", "demo/fast")
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    content = path.read_bytes()
    path.write_bytes(content.replace(b"CREATE TABLE session", b"CREATE \xff\xfe\xfdLE \xc3\x28ssion", 1))


BAD = (fifo, device, loop, folder, broken_link, fails_when_read, unreadable)


@pytest.mark.one_in(14)
@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.__name__)
@pytest.mark.parametrize("name", [STORE, f"{STORE}-shm"])
def test_a_prompt_is_answered_and_the_exit_code_says_that_it_was_not_saved(
    tmp_path: Path, bad: Callable[[Path], None], name: str
) -> None:
    if bad is unreadable and not bits_are_obeyed(tmp_path):
        pytest.skip("nothing is unreadable for this user: unreadable files are not tested here")
    prepared(tmp_path, name, bad)
    done = asked(tmp_path, "-p", "hello", "-m", "demo/fast")
    assert "Traceback" not in done.stderr
    assert "Welcome to ponder" in done.stdout
    assert (done.returncode, "NOT SAVED" in done.stderr) == (1, True), done.stderr
    again = asked(tmp_path, "-p", "hello", "-m", "demo/fast", "-c")
    assert (again.returncode, "Traceback" in again.stderr, bool(again.stderr.strip())) == (1, False, True)


@pytest.mark.long
def test_a_folder_that_cannot_be_looked_into_is_said(tmp_path: Path) -> None:
    if not bits_are_obeyed(tmp_path):
        pytest.skip("nothing is unreadable for this user: unreadable folders are not tested here")
    path = prepared(tmp_path, "data", unreadable_folder)
    done = asked(tmp_path, "-p", "hello", "-m", "demo/fast")
    tidy(path)
    assert (done.returncode, "NOT SAVED" in done.stderr, "Traceback" in done.stderr) == (1, True, False)


@pytest.mark.long
def test_a_schema_that_is_no_text_is_repaired_and_saved_into(tmp_path: Path) -> None:
    harm_schema(prepared(tmp_path, STORE, lambda path: None))
    done = asked(tmp_path, "-p", "hello", "-m", "demo/fast")
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert "damaged-1" in done.stderr


@pytest.mark.one_in(4)
@pytest.mark.parametrize("bad", [fifo, unreadable], ids=lambda bad: bad.__name__)
@pytest.mark.parametrize("words", [(), ("-c",)])
def test_the_screen_goes_on_and_shows_that_nothing_is_saved(
    tmp_path: Path, bad: Callable[[Path], None], words: tuple[str, ...]
) -> None:
    if bad is unreadable and not bits_are_obeyed(tmp_path):
        pytest.skip("nothing is unreadable for this user: unreadable files are not tested here")
    prepared(tmp_path, STORE, bad)
    command = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search", *PONDER] if os.geteuid() == 0 else PONDER
    with Terminal([*command, "-m", "demo/fast", *words], environment(tmp_path), size=(120, 40)) as terminal:
        terminal.wait_for(READY)
        terminal.type("hello\r")
        terminal.wait_for("1 turn ")
        terminal.wait_for("NOT SAVED")
        terminal.type("and again\r")
        terminal.wait_for("2 turns")


@pytest.mark.long
def test_a_stored_session_is_opened_with_what_the_command_line_says(tmp_path: Path) -> None:
    profiles = tmp_path / "ponder" / "config" / "profiles"
    profiles.mkdir(parents=True)
    (profiles / "mine.toml").write_text('model = "demo/chat"\n[context]\nkeepTurns = 7\n')
    assert asked(tmp_path, "-p", "hello", "-m", "demo/demo/low").returncode == 0
    for words, expected in (
        (("-c", "-m", "demo/fast"), "demo/fast"),
        (("-c", "--thinking-budget", "high"), "demo · high"),
        (("-c", "--profile", "mine"), "demo/chat"),
        (("-c",), "demo · low"),
    ):
        with Terminal([*PONDER, *words], environment(tmp_path), size=(80, 24)) as terminal:
            terminal.wait_for(READY)
            terminal.wait_for("hello")
            assert expected in terminal.text(), (words, terminal.text())
