"""Migrates a database to the newest schema: numbered SQL files, one transaction each, after a backup."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tui.domain.errors import StoreReadOnly

_FOLDER = Path(__file__).parent / "migrations"
SUMMARIES_SINCE = 2
"""Schema version that introduced summary requests."""
QUEUE_SINCE = 3
"""Schema version that introduced queued prompts."""


@cache
def migrations() -> tuple[str, ...]:
    """The migration scripts; the one for version 1 is at index 0."""
    return tuple(file.read_text(encoding="utf-8") for file in sorted(_FOLDER.glob("*.sql")))


def version(connection: sqlite3.Connection) -> int:
    """The schema version; 0 for an empty database."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def refuse_newer(connection: sqlite3.Connection, path: Path) -> None:
    """Raises StoreReadOnly if a later version of this program wrote the schema."""
    found = version(connection)
    if found > len(migrations()):
        raise StoreReadOnly(
            f"`{path}` was written by a newer version (schema {found}, this one knows {len(migrations())}).",
            advice="Update ponder. Until then what is understood can be read, and nothing is saved.",
        )


def migrate(connection: sqlite3.Connection, path: Path, scripts: Sequence[str] | None = None) -> Path | None:
    """Apply missing migrations; returns the path of the backup, or None if the database was empty."""
    known = migrations() if scripts is None else scripts
    start = version(connection)
    if start >= len(known):
        return None
    backup = _backup(connection, path, start) if start else None
    for number in range(start + 1, len(known) + 1):
        connection.execute("BEGIN IMMEDIATE")
        try:
            if version(connection) < number:  # Another process may have migrated it in the meantime.
                for statement in _statements(known[number - 1]):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {number}")
            connection.execute("COMMIT")
        except BaseException:
            connection.rollback()
            raise
    return backup


def _backup(connection: sqlite3.Connection, path: Path, start: int) -> Path:
    """Copy the database next to itself. The copy gets its final name only when it is complete."""
    final = path.with_name(f"{path.name}.schema{start}.bak")
    half = final.with_suffix(".half")
    half.unlink(missing_ok=True)
    half.touch(mode=0o600)
    connection.execute("VACUUM INTO ?", (str(half),))
    half.replace(final)
    return final


def _statements(script: str) -> list[str]:
    """Split into statements, because ``executescript`` would commit the open transaction."""
    found = []
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            found.append(pending)
            pending = ""
    return found
