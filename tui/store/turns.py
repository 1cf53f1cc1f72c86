"""Turns, their tree and their messages as rows. All functions take a connection inside a transaction of the caller."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from tui.domain.blocks import OpaqueBlock
from tui.domain.errors import StoreError
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import CRASHED, BlockGrowth, Message, Role, Turn
from tui.store.blocks import (
    are_stored,
    clear_blocks,
    finish_blocks,
    gather_blocks,
    grow_block,
    has_blocks,
    read_blocks,
    write_blocks,
)
from tui.store.codec import (
    UNREADABLE,
    Json,
    Unreadable,
    block_from,
    block_object,
    dumps,
    loads,
    message_from,
    message_meta,
)
from tui.store.fulltext import index_turn, unindex

LONG = 256 << 10
"""Characters: a block that grows beyond this is a long answer, whose memory is worth some care."""
MOST_COST = 1e12
"""Dollars: larger and negative values are rejected; the comparison also rejects NaN."""


@dataclass(frozen=True, slots=True)
class WritePosition:
    """The position and time of a message to be written."""

    session: int
    turn: int
    now: float


@dataclass(frozen=True, slots=True)
class _Stored:
    """The stored row of a message."""

    seq: int
    meta: str
    open: bool


def write_message(
    connection: sqlite3.Connection, position: WritePosition, message: Message, *, open_: bool = False
) -> int:
    """Insert or replace by id; repeating it changes nothing. A late checkpoint never replaces a complete message."""
    objects = [block_object(block) for block in message.blocks]
    return write_objects(
        connection, position, (message.id, message.role.value, message_meta(message)), objects, open_=open_
    )


def grow_message(
    connection: sqlite3.Connection,
    position: WritePosition,
    message: Message,
    grown: Sequence[BlockGrowth],
    *,
    whole: bool,
) -> bool:
    """Append to an open message without rewriting it; False if its earlier part is not stored."""
    stored = _find(connection, position.turn, message.id)
    if stored is not None and not stored.open:
        return True  # It is already complete.
    if not whole and (stored is None or not has_blocks(connection, stored.seq)):
        return False
    meta_object = message_meta(message)
    meta, cost = dumps(meta_object), _valid_cost(meta_object.get("cost"))
    if stored is None:
        head = (message.id, message.role.value, meta, _model(meta_object))
        seq = _insert(connection, position, head, cost=cost, open_=True)
    else:
        seq = stored.seq
        connection.execute(
            "UPDATE message SET meta = ?, model = ?, cost = ? WHERE seq = ?", (meta, _model(meta_object), cost, seq)
        )
        if whole:
            clear_blocks(connection, seq)
    for growth in grown:
        if growth.at > LONG:
            from tui.store.freed_memory import keep_no_holes  # not needed for most answers

            keep_no_holes()
        grow_block(connection, seq, growth.position, growth.at, block_object(growth.block))
    return True


def write_objects(
    connection: sqlite3.Connection,
    position: WritePosition,
    head: tuple[str, str, Mapping[str, object]],
    blocks: Sequence[Mapping[str, object]],
    *,
    open_: bool = False,
) -> int:
    """Like ``write_message``, for codec objects; ``head`` is id, role and meta."""
    identity, role, meta_object = head
    meta = dumps(meta_object)
    stored = _find(connection, position.turn, identity)
    if stored is not None and open_ and not stored.open:
        return stored.seq
    cost = _valid_cost(meta_object.get("cost"))
    if stored is None:
        seq = _insert(connection, position, (identity, role, meta, _model(meta_object)), cost=cost, open_=open_)
        write_blocks(connection, seq, blocks)
        return seq
    seq = stored.seq
    if stored.open == open_ and stored.meta == meta and are_stored(connection, seq, blocks):
        return seq
    unindex(connection, [seq])
    connection.execute(
        "UPDATE message SET meta = ?, model = ?, cost = ?, open = ? WHERE seq = ?",
        (meta, _model(meta_object), cost, open_, seq),
    )
    finish_blocks(connection, seq, blocks)
    return seq


def _find(connection: sqlite3.Connection, turn: int, identity: str) -> _Stored | None:
    row = connection.execute(
        "SELECT seq, meta, open FROM message WHERE turn = ? AND id = ?", (turn, identity)
    ).fetchone()
    return None if row is None else _Stored(row[0], row[1], bool(row[2]))


def _insert(
    connection: sqlite3.Connection,
    position: WritePosition,
    head: tuple[str, str, str, str | None],
    *,
    cost: float | None,
    open_: bool,
) -> int:
    identity, role, meta, model = head
    number = connection.execute(
        "SELECT coalesce(max(position) + 1, 0) FROM message WHERE turn = ?", (position.turn,)
    ).fetchone()[0]
    cursor = connection.execute(
        "INSERT INTO message (id, session, turn, position, role, meta, model, cost, open, created)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (identity, position.session, position.turn, number, role, meta, model, cost, open_, position.now),
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def close_turn(
    connection: sqlite3.Connection, session: int, turn: int, known: Mapping[int, Sequence[Json]] | None = None
) -> None:
    """Work done once per turn, not needed to keep a message safe: costs, the model's name, the index."""
    (new,) = connection.execute("SELECT sum(cost) FROM message WHERE turn = ?", (turn,)).fetchone()
    (old,) = connection.execute("SELECT cost FROM turn WHERE seq = ?", (turn,)).fetchone()
    if new != old:
        spent = (new or 0.0) - (old or 0.0)
        connection.execute("UPDATE session SET cost = coalesce(cost, 0) + ? WHERE seq = ?", (spent, session))
        connection.execute("UPDATE turn SET cost = ? WHERE seq = ?", (new, turn))
    last = connection.execute(
        "SELECT model FROM message WHERE turn = ? AND model IS NOT NULL ORDER BY position DESC LIMIT 1", (turn,)
    ).fetchone()
    if last is not None:
        connection.execute("UPDATE session SET model = ? WHERE seq = ? AND model != ?", (last[0], session, last[0]))
    index_turn(connection, turn, known or {})


def _model(meta: Mapping[str, object]) -> str | None:
    origin = meta.get("origin")
    if not isinstance(origin, dict):
        return None
    return f"{origin.get('provider')}/{origin.get('model')}".encode("utf-8", "replace").decode()


def _valid_cost(cost: object) -> float | None:
    return float(cost) if isinstance(cost, int | float) and 0 <= cost < MOST_COST else None


def settle_turn(connection: sqlite3.Connection, position: WritePosition, turn: Turn) -> None:
    """Make the stored turn equal to this one: write missing messages, drop checkpoints that were abandoned."""
    known: dict[int, Sequence[Json]] = {}
    for message in turn.messages:
        known[write_message(connection, position, message)] = [block_object(block) for block in message.blocks]
    connection.execute("UPDATE turn SET open = ? WHERE seq = ? AND open != ?", (turn.open, position.turn, turn.open))
    stored = connection.execute(
        "SELECT seq, id, open FROM message WHERE turn = ? ORDER BY position, seq", (position.turn,)
    ).fetchall()
    wanted = [message.id for message in turn.messages]
    if [identity for _, identity, _ in stored] != wanted:
        _reorder(connection, position, stored, wanted)
    close_turn(connection, position.session, position.turn, known)


def _reorder(
    connection: sqlite3.Connection,
    position: WritePosition,
    stored: Sequence[tuple[int, str, int]],
    wanted: Sequence[str],
) -> None:
    drop_messages(connection, [seq for seq, identity, unfinished in stored if unfinished and identity not in wanted])
    for number, identity in enumerate(wanted):
        connection.execute(
            "UPDATE message SET position = ? WHERE turn = ? AND id = ?", (number, position.turn, identity)
        )


def drop_messages(connection: sqlite3.Connection, messages: Sequence[int]) -> None:
    """Remove messages with their blocks and index entries."""
    unindex(connection, messages)
    connection.executemany("DELETE FROM message WHERE seq = ?", [(message,) for message in messages])


def finish_crashed(connection: sqlite3.Connection, session: int) -> None:
    """Close turns that a crash left open: mark them as interrupted and index them."""
    turns = connection.execute("SELECT seq FROM turn WHERE session = ? AND open", (session,)).fetchall()
    for (turn,) in turns:
        _mark_interrupted(connection, turn)
        connection.execute("UPDATE turn SET open = 0 WHERE seq = ?", (turn,))
        close_turn(connection, session, turn)


def _mark_interrupted(connection: sqlite3.Connection, turn: int) -> None:
    # Tool results record for each call how far it got.
    connection.execute("UPDATE message SET open = 0 WHERE turn = ? AND open AND role = 'tool'", (turn,))
    rows = connection.execute("SELECT seq, meta FROM message WHERE turn = ? AND open", (turn,)).fetchall()
    from tui.store.spending import record_crashed  # only after a crash

    for seq, meta in rows:
        try:
            found = loads(meta)
        except Unreadable:
            found = {}
        gather_blocks(connection, seq)
        known = found if isinstance(found, dict) else {}
        known.setdefault("interrupted", CRASHED)
        connection.execute("UPDATE message SET open = 0, meta = ? WHERE seq = ?", (dumps(known), seq))
        record_crashed(connection, seq)


def read_turns(connection: sqlite3.Connection, turns: Sequence[int]) -> tuple[Turn, ...]:
    """Read turns by row number, in the given order. Damaged parts become unread blocks."""
    names: dict[int, tuple[str, bool]] = {}
    messages: dict[int, list[Message]] = {turn: [] for turn in turns}
    for start in range(0, len(turns), 500):
        some = turns[start : start + 500]
        marks = ",".join("?" * len(some))
        for seq, identity, is_open in connection.execute(
            f"SELECT seq, id, open FROM turn WHERE seq IN ({marks})", some
        ):
            names[seq] = (identity, bool(is_open))
        heads = connection.execute(
            f"SELECT seq, turn, id, role, meta, open FROM message WHERE turn IN ({marks}) ORDER BY turn, position, seq",
            some,
        ).fetchall()
        blocks = read_blocks(connection, [head[0] for head in heads])
        for seq, turn, identity, role, meta, unfinished in heads:
            message = _message(identity, role, meta, blocks[seq])
            if unfinished and message.interrupted is None and message.role is not Role.TOOL:
                message = replace(message, interrupted=CRASHED)
            messages[turn].append(message)
    return tuple(
        Turn(id=names[turn][0], messages=tuple(messages[turn]), open=names[turn][1]) for turn in turns if turn in names
    )


def _message(identity: str, role: str, meta: str, blocks: Sequence[Mapping[str, object]]) -> Message:
    read = tuple(block_from(block) for block in blocks)
    try:
        found = loads(meta)
        if not isinstance(found, dict):
            raise Unreadable("not an object")
        return message_from(identity, role, found, read)
    except Unreadable:
        known = role if role in set(Role) else Role.ASSISTANT
        note = OpaqueBlock(label=UNREADABLE, raw=dumps({"kind": UNREADABLE, "row": meta}), unread=True)
        return Message(id=identity, role=Role(known), blocks=(*read, note))


_UP = """
WITH RECURSIVE up (seq, parent, session) AS (
    SELECT seq, parent, session FROM turn WHERE seq = ?
    UNION
    SELECT turn.seq, turn.parent, turn.session FROM turn JOIN up ON turn.seq = up.parent AND turn.session = up.session
)
SELECT seq FROM up
"""
"""From a turn to the root. UNION, because the parents of a damaged file may form a cycle."""


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


def path_to(connection: sqlite3.Connection, turn: int | None) -> list[int]:
    """The path from the root to this turn, inclusive."""
    if turn is None:
        return []
    return [row[0] for row in connection.execute(_UP, (turn,))][::-1]


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
        write_message(connection, WritePosition(session, number, now), message)
    return number


def set_head(connection: sqlite3.Connection, session: int, head: int | None, turns: int) -> None:
    """Set the end of the active path, which is where the branch is left until a turn follows."""
    connection.execute("UPDATE session SET head = ?, turns = ? WHERE seq = ?", (head, turns, session))
    if head is not None:
        connection.execute("UPDATE turn SET chosen = NULL WHERE seq = ?", (head,))
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


def sibling_places(connection: sqlite3.Connection, session: int) -> dict[str, tuple[int, int]]:
    """The turns with siblings: the place of each among them, counted from 1, and their number."""
    rows = connection.execute(
        "SELECT id, place, number FROM (SELECT id, row_number() OVER (PARTITION BY parent ORDER BY seq) AS place,"
        " count(*) OVER (PARTITION BY parent) AS number FROM turn WHERE session = ?) WHERE number > 1",
        (session,),
    )
    return {name: (place, number) for name, place, number in rows}


def activate(connection: sqlite3.Connection, session: int, turn: str) -> list[int]:
    """Switch to the branch of this turn, down to where it was last left, and return the active path."""
    number = turn_number(connection, session, turn)
    above = path_to(connection, number)
    below: list[int] = []
    seen = set(above)
    last = number
    while (follower := _follower(connection, last)) is not None and follower not in seen:
        below.append(follower)
        seen.add(follower)
        last = follower
    path = above + below
    set_path(connection, session, path)
    return path


def set_path(connection: sqlite3.Connection, session: int, path: Sequence[int]) -> None:
    """Make this the active path."""
    for before, after in pairwise(path):
        connection.execute("UPDATE turn SET chosen = ? WHERE seq = ?", (after, before))
    set_head(connection, session, path[-1] if path else None, len(path))


def _follower(connection: sqlite3.Connection, turn: int) -> int | None:
    """The turn that followed on the path; a side answer that was kept is a child, but never was on it."""
    row = connection.execute(
        "SELECT child.seq FROM turn child JOIN turn ON turn.seq = child.parent AND child.seq = turn.chosen"
        " WHERE turn.seq = ?",
        (turn,),
    ).fetchone()
    return None if row is None else int(row[0])
