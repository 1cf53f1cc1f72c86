"""A damaged database: moved aside whole, what can be read of it copied into a new one. Nothing is ever deleted."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tui.domain.counting import count
from tui.store.migrate import migrate
from tui.store.opening import SIDECARS, connect, open_writer
from tui.store.words import index_all

FARTHEST = 1 << 50
"""How far a scan looks for the other side of a damaged stretch."""
_NUMBERED = {"session": "seq", "turn": "seq", "message": "seq", "block": "place", "summary_run": "seq"}
"""Tables in the order of who refers to whom, with the number of their rows."""

_MENDING = (
    """
    INSERT INTO session (seq, id, title, created, updated, touched)
    SELECT lost.session, 'recovered-' || lost.session, 'Recovered', min(lost.created), max(lost.created), 0
    FROM (SELECT session, created FROM turn UNION ALL SELECT session, created FROM message) AS lost
    WHERE lost.session NOT IN (SELECT seq FROM session) GROUP BY lost.session
    """,
    """
    INSERT INTO turn (seq, id, session, created)
    SELECT turn, 'recovered-' || turn, session, min(created) FROM message
    WHERE turn NOT IN (SELECT seq FROM turn) GROUP BY turn
    """,
    """
    UPDATE turn SET parent = (
        SELECT max(older.seq) FROM turn AS older WHERE older.session = turn.session AND older.seq < turn.seq
    )
    WHERE parent IS NOT NULL AND (parent NOT IN (SELECT seq FROM turn) OR parent >= seq) OR id = 'recovered-' || seq
    """,
    "UPDATE turn SET chosen = NULL WHERE chosen NOT IN (SELECT seq FROM turn)",
    """
    UPDATE session SET head = (SELECT max(seq) FROM turn WHERE turn.session = session.seq)
    WHERE head IS NULL OR head NOT IN (SELECT seq FROM turn)
    """,
    "DELETE FROM summary_run WHERE session NOT IN (SELECT seq FROM session)",
    "UPDATE summary_run SET turn = NULL WHERE turn NOT IN (SELECT seq FROM turn)",
    "DELETE FROM block_blob WHERE hash NOT IN (SELECT hash FROM blob)",
    "DELETE FROM blob WHERE hash NOT IN (SELECT hash FROM block_blob)",
)


def recover(path: Path, file_system: Callable[[Path], str]) -> str:
    """Move the database aside and salvage it; the sentence for the user."""
    aside = _move_aside(path)
    connection = open_writer(path, file_system).connection
    try:
        saved = _salvage(aside, connection)
    finally:
        connection.close()
    sessions = count(saved, "session")
    return f"The session database was damaged. It is kept as `{aside}`; {sessions} could be read from it."


def _move_aside(path: Path) -> Path:
    number = 1
    while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    for suffix in (*SIDECARS, ""):
        part = path.with_name(path.name + suffix)
        if part.exists():
            part.rename(aside.with_name(aside.name + suffix))
    return aside


def _salvage(aside: Path, connection: sqlite3.Connection) -> int:
    """Read from a copy: opening a database writes to it, and what was moved aside stays as it was found."""
    with tempfile.TemporaryDirectory(prefix=".salvage-", dir=aside.parent) as folder:
        copy = Path(folder) / "sessions.db"
        for suffix in ("", *SIDECARS):
            part = aside.with_name(aside.name + suffix)
            if part.exists():
                shutil.copyfile(part, copy.with_name(copy.name + suffix))
        source = connect(copy)
        try:
            migrate(source, copy)
            return _copy(source, connection)
        except (sqlite3.Error, UnicodeDecodeError):  # nothing of the schema can be read
            return 0
        finally:
            source.close()


def _copy(source: sqlite3.Connection, target: sqlite3.Connection) -> int:
    target.execute("PRAGMA foreign_keys = OFF")
    target.execute("BEGIN IMMEDIATE")
    for table, key in _NUMBERED.items():
        names = [row[1] for row in target.execute(f"PRAGMA table_info({table})")]
        statement = f"INSERT OR IGNORE INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
        for row in _rows(source, f"SELECT {', '.join(names)} FROM {table}", key):
            _insert(target, statement, row)
    for (message,) in target.execute("SELECT seq FROM message ORDER BY seq").fetchall():
        _copy_contents(source, target, message)
    _mend(target)
    index_all(target)
    target.execute("COMMIT")
    target.execute("PRAGMA foreign_keys = ON")
    return int(target.execute("SELECT count(*) FROM session WHERE turns > 0").fetchone()[0])


def _rows(source: sqlite3.Connection, select: str, key: str) -> Iterator[tuple[object, ...]]:
    """All rows that can be read, by number; damaged stretches are jumped over.

    One by one: a cursor looks one row ahead, and would take the last good row down with the first bad one.
    """
    first = f"{select} WHERE {key} >= ? ORDER BY {key} LIMIT 1"
    start: int | None = 0
    while start is not None:
        try:
            row = source.execute(first, (start,)).fetchone()
        except sqlite3.Error:
            start = _other_side(source, first, start)
            continue
        if row is None:
            return
        yield row
        start = int(row[0]) + 1


def _other_side(source: sqlite3.Connection, first: str, bad: int) -> int | None:
    """The first number behind a damaged stretch from which on rows can be read; None when there is none."""
    step = 1
    while not _is_readable(source, first, bad + step):
        step *= 2
        if step > FARTHEST:
            return None
    low, high = bad + step // 2, bad + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _is_readable(source, first, middle) else (middle, high)
    return high


def _is_readable(source: sqlite3.Connection, first: str, start: int) -> bool:
    try:
        source.execute(first, (start,)).fetchone()
    except sqlite3.Error:
        return False
    return True


def _insert(target: sqlite3.Connection, statement: str, row: tuple[object, ...]) -> None:
    try:
        target.execute(statement, row)
    except sqlite3.IntegrityError:
        return  # half a row: a required field is gone


def _copy_contents(source: sqlite3.Connection, target: sqlite3.Connection, message: int) -> None:
    for select, insert in (
        (
            "SELECT hash, content FROM blob WHERE hash IN (SELECT hash FROM block_blob WHERE message = ?)",
            "INSERT OR IGNORE INTO blob (hash, content) VALUES (?, ?)",
        ),
        (
            "SELECT message, hash FROM block_blob WHERE message = ?",
            "INSERT OR IGNORE INTO block_blob (message, hash) VALUES (?, ?)",
        ),
    ):
        try:
            for row in source.execute(select, (message,)):
                _insert(target, insert, row)
        except sqlite3.Error:
            continue


def _mend(target: sqlite3.Connection) -> None:
    """Rows whose session, turn or parent is gone get one, so that everything saved can be opened."""
    for statement in _MENDING:
        target.execute(statement)
    for session, head in target.execute("SELECT seq, head FROM session").fetchall():
        target.execute(
            "WITH RECURSIVE up (seq, parent) AS (SELECT seq, parent FROM turn WHERE seq = ?"
            " UNION SELECT turn.seq, turn.parent FROM turn JOIN up ON turn.seq = up.parent)"
            " UPDATE session SET turns = (SELECT count(*) FROM up) WHERE seq = ?",
            (head, session),
        )
