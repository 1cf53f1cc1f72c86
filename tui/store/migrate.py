"""Brings a database to the newest schema: numbered SQL files, each in one transaction, a backup before the first."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tui.domain.errors import StoreReadOnly

_FOLDER = Path(__file__).parent / "migrations"
SUMMARIES_SINCE = 2
"""The schema's version from which on requests for summaries are kept."""
QUEUE_SINCE = 3
"""The same for queued prompts."""


@cache
def migrations() -> tuple[str, ...]:
    """The SQL of every version, the first at index 0."""
    return tuple(file.read_text(encoding="utf-8") for file in sorted(_FOLDER.glob("*.sql")))


def version(connection: sqlite3.Connection) -> int:
    """The schema's version; 0 is an empty database."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def refuse_newer(connection: sqlite3.Connection, path: Path) -> None:
    """Raises StoreReadOnly for a schema of a later version of this program."""
    found = version(connection)
    if found > len(migrations()):
        raise StoreReadOnly(
            f"`{path}` was written by a newer version (schema {found}, this one knows {len(migrations())}).",
            advice="Update ponder. Until then what is understood can be read, and nothing is saved.",
        )


def migrate(connection: sqlite3.Connection, path: Path, scripts: Sequence[str] | None = None) -> Path | None:
    """Apply what is missing; the backup's path where there was something to lose."""
    known = migrations() if scripts is None else scripts
    start = version(connection)
    if start >= len(known):
        return None
    backup = _backup(connection, path, start) if start else None
    for number in range(start + 1, len(known) + 1):
        connection.execute("BEGIN IMMEDIATE")
        try:
            if version(connection) < number:  # another process may have been faster
                for statement in _statements(known[number - 1]):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {number}")
            connection.execute("COMMIT")
        except BaseException:
            connection.rollback()
            raise
    return backup


def _backup(connection: sqlite3.Connection, path: Path, start: int) -> Path:
    """A copy beside the database, written whole or not at all under its final name."""
    final = path.with_name(f"{path.name}.schema{start}.bak")
    half = final.with_suffix(".half")
    half.unlink(missing_ok=True)
    half.touch(mode=0o600)
    connection.execute("VACUUM INTO ?", (str(half),))
    half.replace(final)
    return final


def _statements(script: str) -> list[str]:
    """The statements one by one: ``executescript`` would commit what is open."""
    found = []
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            found.append(pending)
            pending = ""
    return found
