"""Compressed histories as rows: the view of finished turns, and the costs of summaries."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tui.domain.compression import CompressionView, SummaryRun
from tui.domain.cost import Paid
from tui.domain.messages import Message, Role
from tui.store.codec import Unreadable, dumps, loads, message_from, text_of, to_object, whole_or_none
from tui.store.open_database import SUMMARIES_SINCE, version
from tui.store.turns import find_turn, names_of


def view_of(connection: sqlite3.Connection, session: int) -> CompressionView | None:
    """The compression of finished turns; None if they are not compressed or it is unreadable."""
    (text,) = connection.execute("SELECT view FROM session WHERE seq = ?", (session,)).fetchone()
    if text is None:
        return None
    try:
        found = loads(text)
        return view_from(found) if isinstance(found, dict) else None
    except Unreadable:
        return None


def view_object(view: CompressionView) -> dict[str, object]:
    """A view as JSON, with its predecessors in a list, newest first."""
    return {**_one_object(view), "previous": [_one_object(older) for older in _chain(view.previous)]}


def _chain(view: CompressionView | None) -> Iterator[CompressionView]:
    while view is not None:
        yield view
        view = view.previous


def _one_object(view: CompressionView) -> dict[str, object]:
    return {
        "summary": view.summary,
        "folded": sorted(view.compressed_turns),
        "verbatim": list(view.verbatim),
        "shortened": [[message, call, text] for (message, call), text in view.shortened.items()],
        **({} if view.finished is None else {"finished": sorted(view.finished)}),
        "before": view.before,
        "after": view.after,
    }


def view_from(found: Mapping[str, object]) -> CompressionView:
    """Convert from JSON. Raises Unreadable."""
    older: CompressionView | None = None
    for item in reversed(_list(found, "previous")):
        if not isinstance(item, dict):
            raise Unreadable("`previous` is invalid")
        older = replace(_one_from(item), previous=older)
    return replace(_one_from(found), previous=older)


def _one_from(found: Mapping[str, object]) -> CompressionView:
    shortened = {}
    for entry in _list(found, "shortened"):
        if not isinstance(entry, list) or len(entry) != 3 or not all(isinstance(item, str) for item in entry):
            raise Unreadable("`shortened` is invalid")
        shortened[(entry[0], entry[1])] = entry[2]
    return CompressionView(
        summary=text_of(found, "summary", ""),
        compressed_turns=frozenset(_texts(found, "folded")),
        verbatim=tuple(_texts(found, "verbatim")),
        shortened=shortened,
        finished=frozenset(_texts(found, "finished")) if "finished" in found else None,
        before=whole_or_none(found, "before"),
        after=whole_or_none(found, "after"),
    )


def _list(found: Mapping[str, object], name: str) -> list[object]:
    value = found.get(name, [])
    if not isinstance(value, list):
        raise Unreadable(f"`{name}` is not a list")
    return value


def _texts(found: Mapping[str, object], name: str) -> list[str]:
    texts = [item for item in _list(found, name) if isinstance(item, str)]
    if len(texts) != len(_list(found, name)):
        raise Unreadable(f"`{name}` does not hold texts")
    return texts


def set_view(connection: sqlite3.Connection, session: int, view: CompressionView | None) -> None:
    """Store the compression of finished turns."""
    text = None if view is None else dumps(view_object(view))
    connection.execute("UPDATE session SET view = ? WHERE seq = ?", (text, session))


def drop_view_of_others(connection: sqlite3.Connection, session: int, path: Sequence[int]) -> None:
    """Remove a view that summarizes turns outside the path."""
    view = view_of(connection, session)
    fitting = view.fitting(set(names_of(connection, path))) if view is not None else None
    if fitting is not view:
        set_view(connection, session, fitting)


def add_run(connection: sqlite3.Connection, session: int, run: SummaryRun, now: float) -> None:
    """Record a request for a summary; repeating it changes nothing."""
    added = connection.execute(
        "INSERT OR IGNORE INTO summary_run (id, session, turn, meta, cost, created) VALUES (?, ?, ?, ?, ?, ?)",
        (run.id, session, find_turn(connection, session, run.turn), dumps(_run_meta(run)), run.cost, now),
    )
    if added.rowcount:
        _add_cost(connection, session, run.cost)


def drop_runs(connection: sqlite3.Connection, session: int, ids: Sequence[str]) -> None:
    """Remove the costs of answers that are stored as a turn now."""
    for identity in ids:
        found = connection.execute(
            "SELECT seq, cost FROM summary_run WHERE session = ? AND id = ?", (session, identity)
        ).fetchone()
        if found is not None:
            connection.execute("DELETE FROM summary_run WHERE seq = ?", (found[0],))
            _add_cost(connection, session, None if found[1] is None else -found[1])


def _add_cost(connection: sqlite3.Connection, session: int, cost: float | None) -> None:
    if cost is not None:
        connection.execute("UPDATE session SET cost = coalesce(cost, 0) + ? WHERE seq = ?", (cost, session))


def _run_meta(run: SummaryRun) -> dict[str, object]:
    meta = to_object(run)
    for name in ("id", "turn"):
        meta.pop(name, None)
    return meta


def run_object(run: SummaryRun) -> dict[str, object]:
    return {"id": run.id, "turn": run.turn, **_run_meta(run)}


def run_from(identity: str, turn: str, meta: Mapping[str, object]) -> SummaryRun:
    """Convert from JSON. Raises Unreadable."""
    like = message_from(identity, Role.ASSISTANT.value, meta, ())  # Costs are encoded as for an answer.
    if like.origin is None:
        raise Unreadable("a summary without an `origin`")
    return SummaryRun(
        id=identity,
        turn=turn,
        origin=like.origin,
        usage=like.usage,
        seconds=like.seconds,
        cost=like.cost,
        failure=text_of(meta, "failure", ""),
        aside=meta.get("aside") is True,
    )


def paid_elsewhere(connection: sqlite3.Connection, session: int, path: Sequence[int]) -> tuple[Paid, ...]:
    """Costs of turns and summaries outside the path. Messages are returned without blocks."""
    there = set(path)
    paid: list[Paid] = []
    for (turn,) in connection.execute("SELECT seq FROM turn WHERE session = ? ORDER BY seq", (session,)).fetchall():
        if turn not in there:
            paid += _messages_of(connection, turn)
    here = {run.id for run in runs_of(connection, session, path)}
    return (*paid, *(run for run in runs_of(connection, session) if run.id not in here))


def _messages_of(connection: sqlite3.Connection, turn: int) -> Iterator[Message]:
    rows = connection.execute(
        "SELECT id, meta FROM message WHERE turn = ? AND role = ? AND model IS NOT NULL ORDER BY position",
        (turn, Role.ASSISTANT.value),
    )
    for identity, text in rows:
        try:
            meta = loads(text)
            if isinstance(meta, dict):
                yield message_from(identity, Role.ASSISTANT.value, meta, ())
        except Unreadable:
            continue


def runs_of(connection: sqlite3.Connection, session: int, path: Sequence[int] | None = None) -> tuple[SummaryRun, ...]:
    """Requests for summaries, oldest first; with a path, only those of its turns."""
    if version(connection) < SUMMARIES_SINCE:
        return ()  # An older file in a read-only folder cannot be migrated.
    rows = connection.execute(
        "SELECT summary_run.id, coalesce(turn.id, ''), meta, turn FROM summary_run LEFT JOIN turn"
        " ON turn.seq = summary_run.turn WHERE summary_run.session = ? ORDER BY summary_run.seq",
        (session,),
    )
    there = None if path is None else set(path)
    runs = []
    for identity, turn, text, number in rows:
        if there is not None and number not in there:
            continue
        try:
            meta = loads(text)
            if isinstance(meta, dict):
                runs.append(run_from(identity, turn, meta))
        except Unreadable:
            continue
    return tuple(runs)


def copy_runs(connection: sqlite3.Connection, turn: int, session: int, copied: int) -> None:
    """Copy the costs of summaries to a fork."""
    for row in connection.execute(
        "SELECT id, meta, cost, created FROM summary_run WHERE turn = ? ORDER BY seq", (turn,)
    ).fetchall():
        identity, meta, cost, created = row
        connection.execute(
            "INSERT INTO summary_run (id, session, turn, meta, cost, created) VALUES (?, ?, ?, ?, ?, ?)",
            (identity, session, copied, meta, cost, created),
        )
        _add_cost(connection, session, cost)
