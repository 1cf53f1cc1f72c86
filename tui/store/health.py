"""The state of the database file, for ``ponder doctor``."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from tui.domain.counting import count
from tui.domain.errors import PonderError
from tui.settings.user_files import may_exist
from tui.store.open_database import check, open_reader


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
