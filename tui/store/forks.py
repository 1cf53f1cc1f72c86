"""Forks: a new session with copies of a path up to some turn or message. The original keeps everything."""

from __future__ import annotations

import sqlite3

from tui.domain.fast_dataclass import dataclass
from tui.store.blocks import copy_blocks
from tui.store.branches import find_turn, head_of, path_to, session_number, set_head, turn_number
from tui.store.sessions import Beginning, ensure
from tui.store.turns import close_turn


@dataclass(frozen=True, slots=True)
class Cut:
    """Where the copy ends."""

    until: str | None = None
    """A turn or a message; None: the end of the active path."""
    keep: bool = True
    """The turn itself is copied too."""


def fork(connection: sqlite3.Connection, source: str, into: Beginning, cut: Cut, now: float) -> int:
    """Copy the path that leads to the cut."""
    from tui.store.summaries import copy_runs, drop_view_of_others

    session = session_number(connection, source)
    end, last_message = _end(connection, session, cut.until)
    if not cut.keep:
        (end,) = connection.execute("SELECT parent FROM turn WHERE seq = ?", (end,)).fetchone() or (None,)
        last_message = None
    new = ensure(connection, into, now)
    connection.execute(
        "UPDATE session SET (model, spec, settings, view, titled, title, forked_from, forked_turn) ="
        " (SELECT old.model, coalesce(session.spec, old.spec),"
        " CASE session.settings WHEN '{}' THEN old.settings ELSE session.settings END, old.view,"
        " session.titled OR old.titled, CASE session.title WHEN '' THEN old.title ELSE session.title END, old.id, ?"
        " FROM session AS old WHERE old.seq = ?) WHERE seq = ?",
        (cut.until, session, new),
    )
    path = path_to(connection, end)
    last = None
    for turn in path:
        last = _copy_turn(connection, turn, new, last, last_message if turn == end else None)
        copy_runs(connection, turn, new, last)
    set_head(connection, new, last, len(path))
    drop_view_of_others(connection, new, path_to(connection, last))
    return new


def _end(connection: sqlite3.Connection, session: int, until: str | None) -> tuple[int | None, int | None]:
    """The last turn, and the position of the last message in it where that is not its last one."""
    if until is None:
        return head_of(connection, session), None
    turn = find_turn(connection, session, until)
    if turn is not None:
        return turn, None
    message = connection.execute(
        "SELECT message.turn, position FROM turn JOIN message ON message.turn = turn.seq"
        " WHERE turn.session = ? AND message.id = ?",
        (session, until),
    ).fetchone()
    return (turn_number(connection, session, until), None) if message is None else (message[0], message[1])


def _copy_turn(
    connection: sqlite3.Connection, turn: int, session: int, parent: int | None, last_message: int | None
) -> int:
    copied = connection.execute(
        "INSERT INTO turn (id, session, parent, open, created) SELECT id, ?, ?, 0, created FROM turn WHERE seq = ?",
        (session, parent, turn),
    ).lastrowid
    assert copied is not None
    if parent is not None:
        connection.execute("UPDATE turn SET chosen = ? WHERE seq = ?", (copied, parent))
    for (message,) in connection.execute(
        "SELECT seq FROM message WHERE turn = ? AND NOT open AND position <= coalesce(?, position)"
        " ORDER BY position, seq",
        (turn, last_message),
    ).fetchall():
        made = connection.execute(
            "INSERT INTO message (id, session, turn, position, role, meta, model, cost, created)"
            " SELECT id, ?, ?, position, role, meta, model, cost, created FROM message WHERE seq = ?",
            (session, copied, message),
        ).lastrowid
        assert made is not None
        copy_blocks(connection, message, made)
    close_turn(connection, session, copied)
    return copied
