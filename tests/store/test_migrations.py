"""Databases of every past version come to the newest, with a copy of what was before, whole or not at all."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.store.stage import open_stage
from tui.store.open_database import migrate, migrations, version

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = Path(__file__).parent / "schemas"
NEXT = ("ALTER TABLE session ADD COLUMN mood TEXT; -- with a ; in a remark\nUPDATE session SET mood = 'a;b';",)


@pytest.mark.parametrize("dump", sorted(SCHEMAS.glob("*.sql")), ids=lambda path: path.stem)
async def test_a_database_of_a_past_version_opens_with_all_that_was_in_it(tmp_path: Path, dump: Path) -> None:
    path = tmp_path / "data" / "sessions.db"
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.executescript(dump.read_text(encoding="utf-8"))
    connection.close()
    stage = open_stage(tmp_path)
    loaded = await stage.conversations.load("s")
    said = [
        [getattr(block, "text", block.kind) for block in message.blocks] for t in loaded.turns for message in t.messages
    ]
    assert said == [["Why is the sky blue?"], ["Rayleigh", "Scattering."], ["And red?"], ["", "tool_call"]]
    assert [row.id for row in await stage.library.sessions("scattering")] == ["s"]
    assert (await stage.database.read(version)) == len(migrations())
    spent = await stage.database.read(
        lambda connection: connection.execute(
            "SELECT id, session, turn, model, cost, final FROM spending ORDER BY created"
        ).fetchall()
    )
    claude = "anthropic/claude-opus-5"
    assert spent[:2] == [("a1", "s", "t1", claude, 0.5, 1), ("a2", "s", "t2", claude, None, 0)]
    assert spent[2:] == ([("r1", "s", "t2", claude, 0.25, 1)] if int(dump.stem) > 1 else [])
    backup = path.with_name(f"sessions.db.schema{int(dump.stem)}.bak")
    assert backup.exists() == (int(dump.stem) < len(migrations()))
    stage.database.close()


def test_every_version_has_a_database_to_try() -> None:
    assert [int(path.stem) for path in sorted(SCHEMAS.glob("*.sql"))] == list(range(1, len(migrations()) + 1))


def a_database(path: Path) -> sqlite3.Connection:
    path.touch(mode=0o600)
    connection = sqlite3.connect(path, isolation_level=None)
    migrate(connection, path)
    connection.execute("INSERT INTO session (id, created, updated, touched) VALUES ('s', 1, 1, 1)")
    return connection


def test_a_migration_keeps_a_copy_of_what_was_before(tmp_path: Path) -> None:
    connection = a_database(tmp_path / "s.db")
    backup = migrate(connection, tmp_path / "s.db", (*migrations(), *NEXT))
    assert connection.execute("SELECT id, mood FROM session").fetchall() == [("s", "a;b")]
    assert version(connection) == len(migrations()) + 1
    assert backup is not None
    assert backup.stat().st_mode & 0o777 == 0o600
    before = sqlite3.connect(backup)
    assert before.execute("SELECT id, title FROM session").fetchall() == [("s", "")]
    before.close()
    connection.close()


def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    connection = a_database(tmp_path / "s.db")
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, tmp_path / "s.db", (*migrations(), NEXT[0] + "\nSELECT nothing FROM nowhere;"))
    assert version(connection) == len(migrations())
    assert "mood" not in [row[1] for row in connection.execute("PRAGMA table_info(session)")]
    connection.close()


KILLED = """
import os, signal, sqlite3, sys
from pathlib import Path
from tests.store.test_migrations import NEXT
from tui.store.open_database import migrate, migrations
path = Path(sys.argv[1])
connection = sqlite3.connect(path, isolation_level=None)
def traced(statement):
    if statement.startswith(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
connection.set_trace_callback(traced)
migrate(connection, path, (*migrations(), *NEXT))
"""


@pytest.mark.one_in(4)
@pytest.mark.skipif(os.name != "posix", reason="no SIGKILL here")
@pytest.mark.parametrize("moment", ["VACUUM INTO", "ALTER", "PRAGMA user_version =", "COMMIT"])
def test_a_kill_during_a_migration_leaves_the_version_before(tmp_path: Path, moment: str) -> None:
    path = tmp_path / "s.db"
    a_database(path).close()
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), moment], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL
    connection = sqlite3.connect(path, isolation_level=None)
    assert version(connection) == len(migrations())
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    migrate(connection, path, (*migrations(), *NEXT))
    assert connection.execute("SELECT id, mood FROM session").fetchall() == [("s", "a;b")]
    connection.close()
