"""The tree of turns: the active path, its siblings, and switching between branches."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import pairwise

from tui.domain.errors import StoreError
from tui.domain.messages import Turn
from tui.store.turns import TurnPosition, close_turn, write_message

_UP = """
WITH RECURSIVE up (seq, parent, depth) AS (
    SELECT seq, parent, 0 FROM turn WHERE seq = ?
    UNION ALL
    SELECT turn.seq, turn.parent, up.depth + 1 FROM turn JOIN up ON turn.seq = up.parent WHERE up.depth + 1 < ?
)
SELECT seq FROM up ORDER BY depth DESC
"""
EVER = 1_000_000
"""Longer than any real path; stops the walk when a damaged file contains a cycle."""


def session_number(connection: sqlite3.Connection, session: str) -> int:
    """The row number of a session. Raises StoreError."""
    row = connection.execute("SELECT seq FROM session WHERE id = ?", (session,)).fetchone()
    if row is None:
        raise StoreError(f"There is no session `{session}`.", advice="`ponder sessions list` shows all.")
    return int(row[0])


def turn_number(connection: sqlite3.Connection, session: int, turn: str) -> int:
    """The row number of a turn. Raises StoreError."""
    found = find_turn(connection, session, turn)
    if found is None:
        raise StoreError("That turn is not in this session.")
    return found


def find_turn(connection: sqlite3.Connection, session: int, turn: str) -> int | None:
    """The row number of a turn, or None."""
    row = connection.execute("SELECT seq FROM turn WHERE session = ? AND id = ?", (session, turn)).fetchone()
    return None if row is None else int(row[0])


def head_of(connection: sqlite3.Connection, session: int) -> int | None:
    """The last turn of the active path."""
    row = connection.execute("SELECT head FROM session WHERE seq = ?", (session,)).fetchone()
    return None if row is None else row[0]


def path_to(connection: sqlite3.Connection, turn: int | None, limit: int = EVER) -> list[int]:
    """The path from the root to this turn, inclusive; with a limit, only its last turns."""
    if turn is None:
        return []
    return [row[0] for row in connection.execute(_UP, (turn, limit))]


def names_of(connection: sqlite3.Connection, turns: Sequence[int]) -> list[str]:
    names: dict[int, str] = {}
    for start in range(0, len(turns), 500):
        some = turns[start : start + 500]
        marks = ",".join("?" * len(some))
        names.update(connection.execute(f"SELECT seq, id FROM turn WHERE seq IN ({marks})", some).fetchall())
    return [names[turn] for turn in turns]


def add_turn(connection: sqlite3.Connection, session: int, parent: int | None, turn: Turn, now: float) -> int:
    """Append a turn with its messages to a path."""
    cursor = connection.execute(
        "INSERT INTO turn (id, session, parent, open, created) VALUES (?, ?, ?, ?, ?)",
        (turn.id, session, parent, turn.open, now),
    )
    number = cursor.lastrowid
    assert number is not None
    for message in turn.messages:
        write_message(connection, TurnPosition(session, number, now), message)
    return number


def set_head(connection: sqlite3.Connection, session: int, head: int | None, turns: int) -> None:
    """Set the end of the active path."""
    connection.execute("UPDATE session SET head = ?, turns = ? WHERE seq = ?", (head, turns, session))
    if head is not None:
        connection.execute(
            "UPDATE turn SET chosen = ? WHERE seq = (SELECT parent FROM turn WHERE seq = ?)", (head, head)
        )


def replace_path(connection: sqlite3.Connection, session: int, turns: Sequence[Turn], now: float) -> None:
    """Make these turns the active path; other turns stay as siblings."""
    path = path_to(connection, head_of(connection, session))
    common = 0
    for name, turn in zip(names_of(connection, path), turns, strict=False):
        if name != turn.id:
            break
        common += 1
    last = path[common - 1] if common else None
    for turn in turns[common:]:
        found = find_turn(connection, session, turn.id)
        if found is None:
            found = add_turn(connection, session, last, turn, now)
            close_turn(connection, session, found)
        else:
            connection.execute("UPDATE turn SET parent = ? WHERE seq = ?", (last, found))
        if last is not None:
            connection.execute("UPDATE turn SET chosen = ? WHERE seq = ?", (found, last))
        last = found
    set_head(connection, session, last, len(turns))


def siblings(connection: sqlite3.Connection, session: int, turn: str) -> tuple[str, ...]:
    """The turns with the same parent, this one included, oldest first."""
    number = turn_number(connection, session, turn)
    rows = connection.execute(
        "SELECT id FROM turn WHERE session = ? AND parent IS (SELECT parent FROM turn WHERE seq = ?) ORDER BY seq",
        (session, number),
    )
    return tuple(row[0] for row in rows)


def activate(connection: sqlite3.Connection, session: int, turn: str) -> list[int]:
    """Switch to the branch of this turn, down to where it was last left, and return the active path."""
    number = turn_number(connection, session, turn)
    above = path_to(connection, number)
    below: list[int] = []
    last = number
    while (follower := _follower(connection, last)) is not None and follower not in below:
        below.append(follower)
        last = follower
    path = above + below
    for before, after in pairwise(path):
        connection.execute("UPDATE turn SET chosen = ? WHERE seq = ?", (after, before))
    set_head(connection, session, last, len(path))
    return path


def _follower(connection: sqlite3.Connection, turn: int) -> int | None:
    row = connection.execute(
        "SELECT child.seq FROM turn child JOIN turn ON turn.seq = child.parent WHERE turn.seq = ?"
        " ORDER BY child.seq = turn.chosen DESC, child.seq DESC LIMIT 1",
        (turn,),
    ).fetchone()
    return None if row is None else int(row[0])
