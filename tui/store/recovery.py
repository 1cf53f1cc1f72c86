"""Checks and recovers a database: moves a damaged file aside and copies what can be read into a new one.

Deletes nothing. Loaded only by ``ponder doctor`` and when a file is damaged.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import NoneType

from tui.domain.errors import PonderError
from tui.domain.format_numbers import count
from tui.settings.user_files import may_exist
from tui.store.blocks import ROOM
from tui.store.database_pages import DatabasePages, Row
from tui.store.fulltext import index_all
from tui.store.open_database import HEADER, SIDECARS, check, connect, migrate, open_reader, open_writer, salvage_path

FARTHEST = 1 << 50
"""Largest row number at which a scan looks for the end of a damaged range."""
LARGEST = 1 << 30
"""Bytes: a larger file is not scanned page by page."""
HASH_LENGTH = 64
_TABLES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "session": (
        "seq",
        {
            "id": "text", "title": "text", "titled": "int", "model": "text", "spec": "text?", "settings": "text",
            "view": "text?", "head": "int?", "turns": "int", "cost": "real?", "created": "real", "updated": "real",
            "touched": "int", "pinned": "int", "deleted": "real?", "forked_from": "text?", "forked_turn": "text?",
        },
    ),
    "turn": (
        "seq",
        {
            "id": "text", "session": "int", "parent": "int?", "chosen": "int?", "open": "int", "cost": "real?",
            "created": "real",
        },
    ),
    "message": (
        "seq",
        {
            "id": "text", "session": "int", "turn": "int", "position": "int", "role": "text", "meta": "text",
            "model": "text?", "cost": "real?", "open": "int", "indexed": "int", "created": "real",
        },
    ),
    "block": ("place", {"kind": "text", "text": "text?", "payload": "text"}),
    "queued": ("session", {"prompts": "text"}),
    "summary_run": (
        "seq",
        {"id": "text", "session": "int", "turn": "int?", "meta": "text", "cost": "real?", "created": "real"},
    ),
    "spending": (
        "seq",
        {
            "id": "text", "session": "text", "turn": "text", "model": "text", "run": "text", "reserved": "real?",
            "cost": "real?", "final": "int", "usage": "text?", "created": "real",
        },
    ),
}  # fmt: skip
"""Tables, each after those it refers to, with their row number and their columns in schema order."""
_TYPES: Mapping[str, tuple[type, ...]] = {
    "int": (int,),
    "int?": (int, NoneType),
    "real": (int, float),
    "real?": (int, float, NoneType),
    "text": (str,),
    "text?": (str, NoneType),
}
_EMPTY: Mapping[str, object] = {"int": 0, "real": 0.0, "text": ""}

_MENDING = (
    "UPDATE session SET touched = seq WHERE touched <= 0",
    "UPDATE message SET indexed = 0",
    "UPDATE message SET session = coalesce((SELECT session FROM turn WHERE turn.seq = message.turn), session)",
    """
    INSERT INTO session (seq, id, title, created, updated, touched)
    SELECT lost.session, 'recovered-' || lower(hex(randomblob(8))), 'Recovered', min(lost.created), max(lost.created), 0
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
    """
    UPDATE turn SET chosen = (SELECT max(after.seq) FROM turn AS after WHERE after.parent = turn.seq)
    WHERE chosen NOT IN (SELECT seq FROM turn)
    """,
    """
    UPDATE session SET head = (SELECT max(seq) FROM turn WHERE turn.session = session.seq)
    WHERE head IS NULL OR head NOT IN (SELECT seq FROM turn)
    """,
    "DELETE FROM queued WHERE session NOT IN (SELECT seq FROM session)",
    "DELETE FROM summary_run WHERE session NOT IN (SELECT seq FROM session)",
    "UPDATE summary_run SET turn = NULL WHERE turn NOT IN (SELECT seq FROM turn)",
    "DELETE FROM block_blob WHERE hash NOT IN (SELECT hash FROM blob)",
    "DELETE FROM blob WHERE hash NOT IN (SELECT hash FROM block_blob)",
)


def recover(path: Path, file_system: Callable[[Path], str]) -> str:
    """Copy what can be read into a new database and move the damaged one aside; returns the sentence for the user.

    A crash while the new file is being written changes nothing; after a later one, ``finish`` completes the exchange
    at the next start.
    """
    for left in path.parent.glob(".salvage-*"):  # Left by a crash: only one process repairs at a time.
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=".salvage-", dir=path.parent) as folder:
        fresh = Path(folder) / "new" / path.name
        saved = _salvage(path, Path(folder) / path.name, fresh, file_system)
        fresh.replace(salvage_path(path))
    aside = finish(path)
    sessions = count(saved, "session")
    return f"The session database was damaged. It was saved as `{aside}`; {sessions} could be recovered."


def finish(path: Path) -> Path:
    """Replace the damaged database with the recovered one; returns the new path of the damaged one."""
    aside = _move_aside(path)
    salvage_path(path).replace(path)
    return aside


def _move_aside(path: Path) -> Path:
    number = 1
    while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    for suffix in (*SIDECARS, ""):
        part = path.with_name(path.name + suffix)
        if part.exists():
            part.rename(aside.with_name(aside.name + suffix))
    return aside


def _salvage(damaged: Path, copy: Path, fresh: Path, file_system: Callable[[Path], str]) -> int:
    """Write what can be read to a new database and count the sessions. Reads a copy: opening writes to a file."""
    target = open_writer(fresh, file_system).connection
    try:
        target.execute("PRAGMA foreign_keys = OFF")
        target.execute("BEGIN IMMEDIATE")
        small = damaged.stat().st_size <= LARGEST
        if small or _has_header(damaged):
            for suffix in ("", *SIDECARS):
                part = damaged.with_name(damaged.name + suffix)
                if part.exists():
                    shutil.copyfile(part, copy.with_name(copy.name + suffix))
            # Read before SQLite changes the copy.
            pages = DatabasePages(copy, copy.with_name(copy.name + "-wal")) if small else None
            with suppress(sqlite3.Error, UnicodeDecodeError):  # The schema may be unreadable.
                _copy_by_sql(copy, target)
            if pages is not None:
                _copy_by_pages(pages, target)
        _repair_references(target)
        index_all(target)
        target.execute("COMMIT")
        saved = int(target.execute("SELECT count(*) FROM session WHERE turns > 0").fetchone()[0])
        target.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        target.close()
    return saved


def _has_header(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(HEADER)) == HEADER


def _copy_by_sql(copy: Path, target: sqlite3.Connection) -> None:
    source = connect(copy)
    try:
        migrate(source, copy)
        for table, (key, columns) in _TABLES.items():
            select = f"SELECT {', '.join((key, *columns))} FROM {table}"
            with suppress(sqlite3.Error, UnicodeDecodeError):
                for row in _rows(source, select, key):
                    _insert_if_free(target, table, int(str(row[0])), list(row[1:]))
        for (message,) in target.execute("SELECT seq FROM message ORDER BY seq").fetchall():
            _copy_contents(source, target, message)
    finally:
        source.close()


def _copy_by_pages(pages: DatabasePages, target: sqlite3.Connection) -> None:
    """Copy rows that SQL did not reach. Their columns identify the table: no two tables have the same ones."""
    for key, row in pages.rows():
        if key is None:
            match row:
                case [str(name), bytes(content)] if len(name) == HASH_LENGTH:
                    _insert(target, "INSERT OR IGNORE INTO blob (hash, content) VALUES (?, ?)", (name, content))
                case [int(message), str(name)] if len(name) == HASH_LENGTH:
                    _insert(target, "INSERT OR IGNORE INTO block_blob (message, hash) VALUES (?, ?)", (message, name))
            continue
        for table, (_, columns) in _TABLES.items():
            if len(row) == len(columns) + 1 and row[0] is None and _fits(row[1:], columns):
                _insert_if_free(target, table, key, row[1:])
                break


def _fits(row: Row, columns: Mapping[str, str]) -> bool:
    return all(isinstance(value, _TYPES[kind]) for value, kind in zip(row, columns.values(), strict=True))


def _insert_if_free(target: sqlite3.Connection, table: str, key: int, row: Row) -> None:
    """Insert a row unless its number is taken; values of the wrong type are replaced by empty ones."""
    if not 0 < key < (FARTHEST if table == "block" else FARTHEST >> 20):
        return
    name, columns = _TABLES[table]
    values = [
        value if isinstance(value, _TYPES[kind]) and not _is_absurd(value) else _EMPTY[kind]
        for value, kind in zip(row, columns.values(), strict=True)
    ]
    if "id" in columns and not values[0]:
        values[0] = f"recovered-{key}"
    marks = ", ".join("?" * (len(values) + 1))
    _insert(target, f"INSERT OR IGNORE INTO {table} ({', '.join((name, *columns))}) VALUES ({marks})", (key, *values))


def _is_absurd(value: object) -> bool:
    return isinstance(value, int) and not -FARTHEST < value < FARTHEST


def _rows(source: sqlite3.Connection, select: str, key: str) -> Iterator[tuple[object, ...]]:
    """All readable rows, by number, skipping damaged ranges.

    One query per row: a cursor reads one row ahead, so the first bad row would also lose the last good one.
    """
    first = f"{select} WHERE {key} >= ? ORDER BY {key} LIMIT 1"
    start: int | None = 0
    while start is not None:
        try:
            row = source.execute(first, (start,)).fetchone()
        except sqlite3.Error:
            start = _next_readable(source, first, start)
            continue
        if row is None:
            return
        yield row
        start = int(row[0]) + 1


def _next_readable(source: sqlite3.Connection, first: str, bad: int) -> int | None:
    """The first readable row number after a damaged range, or None."""
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
    with suppress(sqlite3.IntegrityError):  # Part of the row, with a required field missing.
        target.execute(statement, row)


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


def _adopt_orphan_blocks(target: sqlite3.Connection) -> None:
    """Give blocks whose message is lost a new message, in a separate session.

    Left alone they would collide with the blocks of new messages, which get the same numbers.
    """
    lost = target.execute(
        f"SELECT place / {ROOM}, group_concat(kind) FROM block"
        f" WHERE place / {ROOM} NOT IN (SELECT seq FROM message) GROUP BY 1 ORDER BY 1"
    ).fetchall()
    if not lost:
        return
    session = target.execute(
        "INSERT INTO session (id, title, created, updated, touched)"
        " VALUES ('recovered-' || lower(hex(randomblob(8))), 'Recovered', 0, 0, 0)"
    ).lastrowid
    turn = target.execute("INSERT INTO turn (id, session, created) VALUES ('recovered', ?, 0)", (session,)).lastrowid
    role = "assistant"
    for message, kinds in lost:
        role = "user" if kinds == "text" and role != "user" else "tool" if "tool_result" in kinds else "assistant"
        target.execute(
            "INSERT INTO message (seq, id, session, turn, position, role, meta, created)"
            " VALUES (?, 'recovered-' || ?, ?, ?, ?, ?, '{}', 0)",
            (message, message, session, turn, message, role),
        )


def _repair_references(target: sqlite3.Connection) -> None:
    """Give rows whose session, turn or parent is lost a new one, so that everything recovered can be opened."""
    _adopt_orphan_blocks(target)
    for statement in _MENDING:
        target.execute(statement)
    for session, head in target.execute("SELECT seq, head FROM session").fetchall():
        target.execute(
            "WITH RECURSIVE up (seq, parent) AS (SELECT seq, parent FROM turn WHERE seq = ?"
            " UNION SELECT turn.seq, turn.parent FROM turn JOIN up ON turn.seq = up.parent)"
            " UPDATE session SET turns = (SELECT count(*) FROM up) WHERE seq = ?",
            (head, session),
        )


def database_health(path: Path) -> str:
    """The state of the database in a few words. Writes nothing. Blocks."""
    if not may_exist(path):
        return "none yet"
    try:
        reading = open_reader(path)
        try:
            check(reading.connection)
            sessions = reading.connection.execute("SELECT count(*) FROM session").fetchone()[0]
        finally:
            reading.close()
    except PonderError as problem:
        return problem.message
    except (OSError, sqlite3.Error) as fault:
        return f"cannot be read: {fault}"
    return f"whole, {count(sessions, 'session')}, {path.stat().st_size / 1_000_000:.1f} MB"
