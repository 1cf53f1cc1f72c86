"""Sessions as rows: create, list, find, rename, delete. Plain functions of a connection."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import field
from itertools import count
from math import isfinite

from tui.domain.blocks import TextBlock
from tui.domain.fast_dataclass import dataclass
from tui.domain.listing import SessionInfo
from tui.domain.messages import Role, Turn
from tui.domain.thinking import ModelSpec
from tui.store.codec import Unreadable, dumps, loads, spec_from, to_object
from tui.store.fulltext import drop_removed_words, unindex
from tui.store.open_database import SUMMARIES_SINCE, version

FILE_END = "\n</file>"
TITLE_LENGTH = 60
LAST_DATE = 1e11
"""Seconds since the epoch; later values are not accepted as dates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSession:
    """Initial values of a session."""

    id: str
    spec: ModelSpec | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    title: str = ""


_OPEN_COST = """
(SELECT sum(message.cost) FROM turn JOIN message ON message.turn = turn.seq
 WHERE turn.session = session.seq AND turn.open AND turn.cost IS NULL AND NOT message.open)
"""
"""A running turn is added to the session's cost when it ends; until then its answers are summed here."""
_COST = f"CASE WHEN {_OPEN_COST} IS NULL THEN session.cost ELSE coalesce(session.cost, 0) + {_OPEN_COST} END"
_UNPRICED = f"""
(SELECT count(*) FROM turn JOIN message ON message.turn = turn.seq
 WHERE turn.session = session.seq AND role = '{Role.ASSISTANT.value}' AND message.model IS NOT NULL AND NOT message.open
 AND (message.cost IS NULL OR (json_valid(meta) AND json_extract(meta, '$.interrupted') IS NOT NULL
                               AND json_extract(meta, '$.stop') IS NULL AND message.cost != 0)))
"""
"""The same condition as ``domain.cost.is_cost_final``."""
_UNPRICED_RUNS = """
(SELECT count(*) FROM summary_run AS run WHERE run.session = session.seq AND (run.cost IS NULL
 OR (json_valid(meta) AND json_extract(meta, '$.aside') AND coalesce(json_extract(meta, '$.failure'), '') != '')))
"""


def _row(connection: sqlite3.Connection) -> str:
    """The columns that ``row_of`` expects."""
    runs = f" + {_UNPRICED_RUNS}" if version(connection) >= SUMMARIES_SINCE else ""
    unpriced = f"CASE WHEN session.cost IS NULL THEN 0 ELSE {_UNPRICED}{runs} END"
    return f"id, title, model, turns, {_COST}, updated, pinned, deleted IS NOT NULL, {unpriced}"


def row_of(values: Sequence[object]) -> SessionInfo:
    """Convert a row with the columns of ``listed``."""
    identity, title, model, turns, cost, updated, pinned, deleted, unpriced = values
    return SessionInfo(
        id=str(identity),
        title=str(title),
        model=str(model),
        turns=turns if isinstance(turns, int) else 0,
        cost=cost if isinstance(cost, float | int) and isfinite(cost) else None,
        updated=float(updated) if isinstance(updated, float | int) and 0 < updated < LAST_DATE else 0.0,
        pinned=bool(pinned),
        deleted=bool(deleted),
        unpriced=unpriced if isinstance(unpriced, int) else 0,
    )


def infos(connection: sqlite3.Connection, limit: int, *, deleted: bool = False) -> list[SessionInfo]:
    """Pinned sessions first, then the most recently changed; sessions without turns only if pinned or named."""
    rows = connection.execute(
        f"SELECT {_row(connection)} FROM session WHERE (deleted IS NOT NULL) = ? AND (turns > 0 OR titled OR pinned)"
        " ORDER BY pinned DESC, touched DESC LIMIT ?",
        (deleted, limit),
    )
    return [row_of(row) for row in rows]


def info_of(connection: sqlite3.Connection, session: int) -> SessionInfo:
    return row_of(connection.execute(f"SELECT {_row(connection)} FROM session WHERE seq = ?", (session,)).fetchone())


MOST_MEANT = 4
"""Sessions that are looked up for an ambiguous name."""


def named(connection: sqlite3.Connection, name: str, *, deleted: bool = False) -> list[tuple[str, str]]:
    """Sessions (id, title) that a name could mean, newest first.

    A name is an id, the start or end of one, or a whole title in any letter case. An exact id means one session only,
    and an empty name none.
    """
    name = name.encode("utf-8", "replace").decode()
    if not name.strip():
        return []
    here = "(deleted IS NULL OR ?)"
    exact = connection.execute(f"SELECT id, title FROM session WHERE id = ? AND {here}", (name, deleted)).fetchall()
    # Compared by length and not by LIKE, which has wildcards and refuses long patterns.
    found = exact or connection.execute(
        "SELECT id, title FROM session WHERE (substr(id, 1, length(:name)) = :name COLLATE NOCASE"
        " OR (length(id) > length(:name) AND substr(id, -length(:name)) = :name COLLATE NOCASE)"
        " OR title = :name COLLATE NOCASE) AND (deleted IS NULL OR :deleted) ORDER BY touched DESC LIMIT :most",
        {"name": name, "deleted": deleted, "most": MOST_MEANT},
    )
    return [(str(id_), str(title)) for id_, title in found]


def ensure(connection: sqlite3.Connection, beginning: NewSession, now: float) -> int:
    """The session's row number; the row is created if necessary."""
    found = find(connection, beginning.id)
    if found is not None:
        return found
    cursor = connection.execute(
        "INSERT INTO session (id, title, titled, spec, settings, created, updated, touched)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, (SELECT coalesce(max(touched), 0) + 1 FROM session))",
        (
            beginning.id,
            _in_one_line(beginning.title),
            bool(beginning.title),
            None if beginning.spec is None else dumps(to_object(beginning.spec)),
            dumps(dict(beginning.settings)),
            now,
            now,
        ),
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def find(connection: sqlite3.Connection, session: str) -> int | None:
    """The row number of a session, or None."""
    row = connection.execute("SELECT seq FROM session WHERE id = ?", (session,)).fetchone()
    return None if row is None else int(row[0])


def newest(connection: sqlite3.Connection) -> SessionInfo | None:
    """The most recently changed session, pinned or not."""
    row = connection.execute(
        f"SELECT {_row(connection)} FROM session WHERE deleted IS NULL AND turns > 0 ORDER BY touched DESC LIMIT 1"
    ).fetchone()
    return None if row is None else row_of(row)


def save_settings(
    connection: sqlite3.Connection, session: str, spec: ModelSpec | None, settings: Mapping[str, object]
) -> None:
    """Store the current model and settings for the next time it is opened."""
    connection.execute(
        "UPDATE session SET spec = ?, settings = ? WHERE id = ?",
        (None if spec is None else dumps(to_object(spec)), dumps(dict(settings)), session),
    )


def restore(connection: sqlite3.Connection, session: int) -> bool:
    """Restore a deleted session; False if it does not exist."""
    found = connection.execute("UPDATE session SET deleted = NULL WHERE seq = ? AND deleted IS NOT NULL", (session,))
    return found.rowcount > 0


def touch(connection: sqlite3.Connection, session: int, now: float) -> None:
    """Update the time of the last change, which moves the session to the top of the list."""
    connection.execute(
        "UPDATE session SET updated = ?, touched = (SELECT max(touched) + 1 FROM session) WHERE seq = ?",
        (now, session),
    )


def title_from(turn: Turn) -> str:
    """A title from the last text of a prompt, because piped input and attachments come before the question."""
    prompt = next((message for message in turn.messages if message.role is Role.USER), None)
    texts = [block.text for block in prompt.blocks if isinstance(block, TextBlock)] if prompt is not None else []
    asked = [rest for rest in map(_without_files, texts) if rest.strip()] or texts
    words = _in_one_line(asked[-1][: 8 * TITLE_LENGTH] if asked else "").split()
    title = ""
    for word in words:
        longer = f"{title} {word}".strip()
        if len(longer) > TITLE_LENGTH:
            return (title or longer[: TITLE_LENGTH - 1]) + "…"
        title = longer
    return title


def _without_files(text: str) -> str:
    """A text without the files before it: in a draft that begins with ``@``, they are one text with the question."""
    while text.startswith("<file ") and FILE_END in text:
        text = text.partition(FILE_END)[2].lstrip()
    return "" if text.startswith("<file ") else text


def _in_one_line(text: str) -> str:
    """Remove control characters and what UTF-8 cannot encode."""
    return " ".join("".join(c if c.isprintable() or c == "\u200d" else " " for c in text).split())


def name_untitled(connection: sqlite3.Connection, session: int, title: str) -> str:
    """Set the automatic title unless a title exists. Returns it if it had to be numbered, else ""."""
    sql = "SELECT title = '' AND NOT titled FROM session WHERE seq = ?"
    (is_untitled,) = connection.execute(sql, (session,)).fetchone()
    if not title or not is_untitled:
        return ""
    given = numbered(connection, session, title)
    connection.execute("UPDATE session SET title = ? WHERE seq = ?", (given, session))
    return given if given != title else ""


def numbered(connection: sqlite3.Connection, session: int, title: str) -> str:
    """The title with the next free number behind it, if another session has it: ``Fix the sums (2)``."""
    base = re.sub(r" \(\d+\)$", "", title)
    start = f"{base} ("
    rows = connection.execute(
        "SELECT title FROM session WHERE seq <> ? AND deleted IS NULL AND (title = ? OR substr(title, 1, ?) = ?)",
        (session, base, len(start), start),
    )
    taken = {other for (other,) in rows}
    if title not in taken:
        return title
    return next(name for number in count(2) if (name := f"{start}{number})") not in taken)


def set_written_title(connection: sqlite3.Connection, session: int, title: str) -> str:
    """Set a title that a model wrote, unless the user has set one. Returns it as it is stored, or ""."""
    (is_titled,) = connection.execute("SELECT titled FROM session WHERE seq = ?", (session,)).fetchone()
    clean = _in_one_line(title)
    if is_titled or not clean:
        return ""
    given = numbered(connection, session, clean)
    connection.execute("UPDATE session SET title = ? WHERE seq = ?", (given, session))
    return given


def rename(connection: sqlite3.Connection, session: int, title: str) -> None:
    """Set the user's title; an empty one allows an automatic title again."""
    clean = _in_one_line(title)
    connection.execute("UPDATE session SET title = ?, titled = ? WHERE seq = ?", (clean, bool(clean), session))


def settings_of(connection: sqlite3.Connection, session: int) -> tuple[ModelSpec | None, dict[str, object]]:
    """Model and settings at the last use; unreadable ones are omitted."""
    spec_text, settings_text = connection.execute(
        "SELECT spec, settings FROM session WHERE seq = ?", (session,)
    ).fetchone()
    spec = None
    settings: dict[str, object] = {}
    try:
        found = loads(settings_text)
        settings = found if isinstance(found, dict) else {}
        if spec_text is not None:
            asked = loads(spec_text)
            spec = spec_from(asked) if isinstance(asked, dict) else None
    except Unreadable:
        pass
    return spec, settings


def purge(connection: sqlite3.Connection, sessions: Sequence[int]) -> None:
    """Delete permanently, including index entries and large contents that no other session uses."""
    connection.execute("PRAGMA secure_delete = ON")  # Else what was deleted is in the file until it is overwritten.
    for session in sessions:
        messages = [
            row[0]
            for row in connection.execute(
                "SELECT message.seq FROM turn JOIN message ON message.turn = turn.seq"
                " WHERE turn.session = ? AND indexed",
                (session,),
            )
        ]
        unindex(connection, messages)
        connection.execute("UPDATE turn SET parent = NULL WHERE session = ?", (session,))
        connection.execute("DELETE FROM session WHERE seq = ?", (session,))
    connection.execute("DELETE FROM blob WHERE hash NOT IN (SELECT hash FROM block_blob)")
    drop_removed_words(connection)
