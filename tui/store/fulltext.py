"""The full-text index: adding and removing rows.

The index stores no text of its own, so removing a row requires the same text again: ``indexed_text`` must never change
without a migration that rebuilds the index. Chinese, Japanese, Korean, Thai and similar scripts write without
spaces or attach particles to words: their characters are indexed one by one and searched as phrases.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from tui.domain.lazy_regex import lazy_regex
from tui.store.blocks import read_blocks, searchable_text
from tui.store.codec import Json

_WITHOUT_SPACES = lazy_regex(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3100-\u312f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)
LONG = 1 << 20
"""Characters: a longer text is not bound to its statement. SQLite would copy it twice, and keep one of the copies as
long as Python keeps the statement."""
PART = 32 << 10
_ADD = "INSERT INTO words (rowid, prompts, answers, thinking, tools) VALUES (?, {})"
_REMOVE = "INSERT INTO words (words, rowid, prompts, answers, thinking, tools) VALUES ('delete', ?, {})"
_BOUND = "?, ?, ?, ?"
_CALLED = "column_text(0), column_text(1), column_text(2), column_text(3)"
_LONG_TEXTS = threading.local()
_NOT_WORDS = lazy_regex("[\0\ud800-\udfff]")
_BETWEEN_WORDS = lazy_regex(
    "[\0-/:-@\\[-`{-\x7f\u2010-\u2027\u3000-\u3003\u3008-\u3011\u3014-\u301f\uff01-\uff0f\uff1a-\uff20\ud800-\udfff]+"
)
"""Signs that are in no word for the index either, in Latin and in Chinese text."""


def indexed_text(text: str) -> str:
    """Text as it is indexed."""
    if text.isascii():
        return text.replace("\0", " ")
    return "".join(_NOT_WORDS.sub(" ", part) for part in _spaced_parts(text))


def _spaced_parts(text: str) -> Iterator[str]:
    """In parts, because no other thread runs during one substitution. The words are the same wherever a part ends."""
    for start in range(0, len(text), PART):
        yield _WITHOUT_SPACES.sub(_spaced, text[start : start + PART])


def _spaced(found: re.Match[str]) -> str:
    return f" {' '.join(found[0])} "


def _encoded(text: str) -> str | bytearray:
    """``indexed_text`` for a long text, in UTF-8: as a string it would be in memory twice while SQLite copies it.

    The words are the same; what is between them becomes one space, for each byte is in memory twice.
    """
    if text.isascii():
        return indexed_text(text)
    encoded = bytearray()
    for part in _spaced_parts(text):
        encoded += _BETWEEN_WORDS.sub(" ", part).encode()
    return encoded


def index(connection: sqlite3.Connection, message: int, role: str, blocks: Sequence[Json]) -> None:
    """Add a message to the index."""
    columns = searchable_text(role, blocks)
    if any(columns):
        _execute(connection, _ADD, message, columns)
    connection.execute("UPDATE message SET indexed = 1 WHERE seq = ?", (message,))


def _execute(connection: sqlite3.Connection, statement: str, message: int, columns: Sequence[str]) -> None:
    if sum(map(len, columns)) <= LONG:
        connection.execute(statement.format(_BOUND), (message, *map(indexed_text, columns)))
        return
    from tui.store.freed_memory import release_freed_memory

    release_freed_memory()  # The pieces of the text were freed when it was joined; the index needs as much for a copy.
    with suppress(sqlite3.OperationalError):  # It exists, and a statement is running.
        connection.create_function("column_text", 1, _column_text)
    _LONG_TEXTS.columns = dict(enumerate(map(_encoded, columns)))
    try:
        connection.execute(statement.format(_CALLED), (message,))
    finally:
        del _LONG_TEXTS.columns
        release_freed_memory()


def _column_text(number: int) -> str | bytearray:
    """A text, once: when SQLite has its copy, this one is freed."""
    columns: dict[int, str | bytearray] = _LONG_TEXTS.columns
    return columns.pop(number)


def unindex(connection: sqlite3.Connection, messages: Iterable[int]) -> None:
    """Remove messages from the index; their blocks must still be stored."""
    for message in messages:
        row = connection.execute("SELECT role FROM message WHERE seq = ? AND indexed", (message,)).fetchone()
        if row is None:
            continue
        columns = searchable_text(row[0], read_blocks(connection, [message])[message])
        if any(columns):
            _execute(connection, _REMOVE, message, columns)
        connection.execute("UPDATE message SET indexed = 0 WHERE seq = ?", (message,))


def drop_removed_words(connection: sqlite3.Connection) -> None:
    """Write the index anew without what ``unindex`` only marked as removed: words with their places are a text."""
    connection.execute("INSERT INTO words (words) VALUES ('optimize')")


def index_all(connection: sqlite3.Connection) -> None:
    """Rebuild the index."""
    connection.execute("INSERT INTO words (words) VALUES ('delete-all')")
    _index_some(connection, connection.execute("SELECT seq, role FROM message WHERE NOT open").fetchall())


def index_turn(connection: sqlite3.Connection, turn: int, known: Mapping[int, Sequence[Json]]) -> None:
    """Index the messages of a turn that are not yet indexed; blocks in ``known`` are not read again."""
    found = connection.execute(
        "SELECT seq, role FROM message WHERE turn = ? AND NOT indexed AND NOT open", (turn,)
    ).fetchall()
    for seq, role in found:
        if seq in known:
            index(connection, seq, role, known[seq])
    _index_some(connection, [(seq, role) for seq, role in found if seq not in known])


def _index_some(connection: sqlite3.Connection, rows: Sequence[tuple[int, str]]) -> None:
    for start in range(0, len(rows), 500):
        some = rows[start : start + 500]
        blocks = read_blocks(connection, [seq for seq, _ in some])
        for seq, role in some:
            index(connection, seq, role, blocks[seq])
