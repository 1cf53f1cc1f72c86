"""A database that another program has locked: it is said soon, and the call waits on."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S
from tui.domain.errors import StoreBusy
from tui.store import database, open_database
from tui.store.database import Database
from tui.store.open_database import one_at_a_time


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Say it at once, and then wait for the test."""
    for module in (database, open_database):
        monkeypatch.setattr(module, "SILENT_S", 0.05)
        monkeypatch.setattr(module, "BUSY_TIMEOUT_S", PATIENCE_S)


@contextmanager
def locked(path: Path, how: str = "BEGIN IMMEDIATE") -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute(how)
        yield other


def made(path: Path) -> Path:
    opened = Database(path)
    opened.submit(lambda connection: connection.execute("CREATE TABLE one(a)")).result()
    opened.close()
    return path


def count_rows(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM one").fetchone()[0])


def add_row(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO one VALUES (1)")


def told_of(store: Database) -> threading.Semaphore:
    told = threading.Semaphore(0)
    store.when_locked = told.release
    return told


@pytest.mark.parametrize("is_open", [False, True])
def test_a_write_says_that_it_waits_once_and_succeeds_when_the_lock_is_released(tmp_path: Path, is_open: bool) -> None:
    store = Database(made(tmp_path / "s.db"))
    told = told_of(store)
    if is_open:
        store.submit(add_row).result()
    for _ in range(2):
        with locked(store.path) as other:
            writes = [store.submit(add_row) for _ in range(3)]
            assert told.acquire(timeout=PATIENCE_S)
            assert not any(write.done() for write in writes)
            other.execute("ROLLBACK")
            for write in writes:
                write.result()
        assert not told.acquire(blocking=False)
    assert store.submit_read(count_rows).result() == 6 + is_open
    store.close()


def test_a_read_that_waits_for_the_opening_says_so(tmp_path: Path) -> None:
    store = Database(made(tmp_path / "s.db"))
    told = told_of(store)
    with locked(store.path) as other:
        read = store.submit_read(count_rows)
        assert told.acquire(timeout=PATIENCE_S)
        assert not read.done()
        other.execute("ROLLBACK")
        assert read.result() == 0
    store.close()


def test_a_read_from_a_database_that_is_locked_as_a_whole_says_so(tmp_path: Path) -> None:
    store = Database(made(tmp_path / "s.db"), file_system=lambda _: "nfs")  # without a write-ahead log
    store.submit_read(count_rows).result()
    told = told_of(store)
    with locked(store.path, "BEGIN EXCLUSIVE") as other:
        read = store.submit_read(count_rows)
        assert told.acquire(timeout=PATIENCE_S)
        other.execute("ROLLBACK")
        assert read.result() == 0
    store.close()


def test_another_ponder_that_opens_or_repairs_it_is_said_too(tmp_path: Path) -> None:
    store = Database(made(tmp_path / "s.db"))
    told = told_of(store)
    with one_at_a_time(store.path):
        write = store.submit(add_row)
        assert told.acquire(timeout=PATIENCE_S)
        assert not write.done()
    write.result()
    store.close()


def test_what_is_never_released_ends_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (database, open_database):
        monkeypatch.setattr(module, "BUSY_TIMEOUT_S", 0.1)
    store = Database(made(tmp_path / "s.db"))
    told = told_of(store)
    with locked(store.path):
        for _ in range(3):
            with pytest.raises(StoreBusy, match="Another program has locked the session database"):
                store.submit(add_row).result()
    assert told.acquire(blocking=False)
    assert not told.acquire(blocking=False)  # once for all three
    store.close()


def test_a_short_lock_is_not_worth_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "SILENT_S", PATIENCE_S)
    store = Database(made(tmp_path / "s.db"))
    store.submit(add_row).result()
    told = told_of(store)
    with locked(store.path) as other:
        write = store.submit(add_row)
        other.execute("ROLLBACK")
        write.result()
    assert not told.acquire(blocking=False)
    store.close()
