"""Broken files: moved aside, never deleted, and as much as can be read of them is there again."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest

from tests.store.stage import Stage, a_turn, open_stage, rich_turn
from tui.domain.blocks import OpaqueBlock, TextBlock
from tui.domain.errors import StoreError


async def a_closed_store(folder: Path, sessions: int = 3, turns: int = 12) -> Stage:
    stage = open_stage(folder)
    for session in range(sessions):
        await stage.journal.history_replaced(
            f"s{session}", [a_turn(f"{session}.{number}", said="word " * 200) for number in range(turns)]
        )
        await stage.library.rename(f"s{session}", f"Session {session}")
    stage.database.close()
    return stage


@pytest.mark.parametrize(
    "content", [b"no database at all, but long enough to have been one " * 40, b"SQLite format 3\0cut", b"x"]
)
async def test_what_is_no_database_is_moved_aside_with_all_that_belongs_to_it(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "data" / "sessions.db"
    path.parent.mkdir()
    path.write_bytes(content)
    path.with_name("sessions.db-wal").write_bytes(b"log")
    stage = open_stage(tmp_path)
    await stage.keep("s", a_turn(1))
    assert path.with_name("sessions.db.damaged-1").read_bytes() == content
    assert path.with_name("sessions.db.damaged-1-wal").read_bytes() == b"log"
    assert ["sessions.db.damaged-1" in notice for notice in stage.database.notices] == [True]
    assert (await stage.conversations.load("s")).turns == (a_turn(1),)
    stage.database.close()


async def test_an_empty_file_is_a_new_store(tmp_path: Path) -> None:
    path = tmp_path / "data" / "sessions.db"
    path.parent.mkdir()
    path.touch()
    stage = open_stage(tmp_path)
    await stage.keep("s", a_turn(1))
    assert stage.database.notices == ()
    assert not list(path.parent.glob("*.damaged*"))
    stage.database.close()


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(8))
async def test_an_overwritten_page_costs_what_was_on_it_and_no_more(tmp_path: Path, seed: int) -> None:
    stage = await a_closed_store(tmp_path)
    path = stage.database.path
    content = bytearray(path.read_bytes())
    # The first pages say what tables there are; without them nothing can be read.
    leaves = [page for page in range(24, len(content) // 4096) if content[page * 4096] == 13]
    page = random.Random(seed).choice(leaves) * 4096
    rows = int.from_bytes(content[page + 3 : page + 5])
    content[page : page + 4096] = bytes(4096)
    path.write_bytes(content)
    again = open_stage(tmp_path)
    turns = [turn for row in await again.library.sessions() for turn in await again.conversations.turns(row.id)]
    found = [message for turn in turns for message in turn.messages]
    whole = [m for s in range(3) for n in range(12) for m in a_turn(f"{s}.{n}", said="word " * 200).messages]
    assert sum(message in whole for message in found) >= len(whole) - rows
    await again.keep("new", a_turn("new", "still works"))
    assert await again.titles("works") == ["still works"]
    kept = path.with_name("sessions.db.damaged-1")
    assert bool(again.database.notices) == kept.exists()
    again.database.close()
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


async def test_a_schema_number_that_cannot_be_is_damage(tmp_path: Path) -> None:
    stage = await a_closed_store(tmp_path, sessions=2, turns=3)
    connection = sqlite3.connect(stage.database.path)
    connection.execute("PRAGMA user_version = -5")
    connection.close()
    again = open_stage(tmp_path)
    rows = await again.library.sessions()
    assert {row.title for row in rows} == {"Session 0", "Session 1"}
    assert [len(await again.conversations.turns(row.id)) for row in rows] == [3, 3]
    assert "2 sessions could be recovered" in again.database.notices[0]
    await again.keep("new", a_turn("new"))
    again.database.close()


async def test_an_index_whose_version_is_damaged_keeps_nothing_from_being_saved(tmp_path: Path) -> None:
    stage = await a_closed_store(tmp_path, sessions=2, turns=3)
    connection = sqlite3.connect(stage.database.path)
    connection.execute("UPDATE words_config SET v = 0 WHERE k = 'version'")
    connection.commit()
    connection.close()
    again = open_stage(tmp_path)
    rows = await again.library.sessions()
    await again.keep("new", a_turn("new", "still works"))
    assert {row.title for row in rows} == {"Session 0", "Session 1"}
    assert [len(await again.conversations.turns(row.id)) for row in rows] == [3, 3]
    assert await again.titles("works") == ["still works"]
    again.database.close()


async def test_a_lost_table_of_sessions_leaves_their_turns(tmp_path: Path) -> None:
    stage = await a_closed_store(tmp_path, sessions=2, turns=3)
    connection = sqlite3.connect(stage.database.path)
    (root,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'session'").fetchone()
    connection.close()
    with stage.database.path.open("r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(b"\xff" * 4096)
    again = open_stage(tmp_path)
    rows = await again.library.sessions()
    turns = {row.title: [turn.id for turn in await again.conversations.turns(row.id)] for row in rows}
    assert [row.title for row in rows] == ["Recovered", "Recovered"]
    assert next(iter(turns.values())) in ([f"t{s}.{n}" for n in range(3)] for s in range(2))
    assert "2 sessions could be recovered" in again.database.notices[0]
    again.database.close()


async def test_damage_that_shows_while_running_is_repaired_on_the_spot(tmp_path: Path) -> None:
    stage = open_stage(tmp_path)
    await stage.keep("s", rich_turn(), a_turn(1))
    connection = stage.database._connection
    assert connection is not None
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    (root,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'block'").fetchone()
    with stage.database.path.open("r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(b"\xff" * 4096)
    turns = await stage.conversations.turns("s")
    assert [turn.id for turn in turns] == ["rich", "t1"]
    await stage.keep("s", a_turn(2))
    assert (await stage.conversations.load("s")).turns[2] == a_turn(2)
    assert "1 session could be recovered" in stage.database.notices[0]
    stage.database.close()


async def test_a_damaged_index_is_built_anew(stage: Stage) -> None:
    await stage.keep("s", a_turn(1, "find me"), a_turn(2))
    harm = "UPDATE words_data SET block = x'00000000ffffffffffff' WHERE id > 10"
    await stage.database.run(lambda connection: connection.execute(harm))
    assert await stage.titles("find") == ["find me"]
    await stage.database.run(lambda connection: connection.execute(harm))
    await stage.library.purge("s")
    assert (await stage.titles("find"), stage.database.notices) == ([], ())


@pytest.mark.parametrize("payload", ["", "{", "[1]", "\0\0\0\0", '{"form": 5}', '{"form": "full"'])
async def test_a_block_that_cannot_be_read_says_so_and_the_rest_opens(stage: Stage, payload: str) -> None:
    await stage.keep("s", a_turn(1), a_turn(2))
    await stage.database.run(
        lambda connection: connection.execute(
            "UPDATE block SET payload = ? WHERE kind = 'thinking'"
            " AND place >> 20 = (SELECT seq FROM message WHERE id = 'a1')",
            (payload,),
        )
    )
    first, second = (await stage.conversations.load("s")).turns
    broken, words = first.messages[1].blocks
    assert isinstance(broken, OpaqueBlock)
    assert broken.unread
    assert (words, second) == (TextBlock(text="Because."), a_turn(2))
    assert [row.turns for row in await stage.library.sessions("because")] == [2]
    fork = await stage.conversations.fork("s")
    rows = await stage.database.read(
        lambda connection: connection.execute("SELECT payload FROM block WHERE payload = ?", (payload,)).fetchall()
    )
    assert rows == [(payload,), (payload,)]
    await stage.library.export(fork, "json", "all")


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE message SET meta = '{' WHERE id = 'a1'",
        "UPDATE message SET role = 'oracle' WHERE id = 'a1'",
        "UPDATE session SET settings = '{', spec = '[', view = 'x'",
        "UPDATE block SET text = CAST(x'ff00fe' AS TEXT) WHERE kind = 'text'",
        "DELETE FROM blob",
        "UPDATE session SET head = 999",
    ],
)
async def test_a_damaged_row_never_hides_a_session(stage: Stage, damage: str) -> None:
    await stage.keep("s", rich_turn(), a_turn(1))

    def harm(connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA defer_foreign_keys = 1")
        if damage.startswith("DELETE"):
            connection.execute("DELETE FROM block_blob")
        connection.execute(damage)

    await stage.database.run(harm)
    assert len(await stage.library.sessions()) == 1
    loaded = await stage.conversations.load("s")
    assert bool(loaded.turns) == ("head" not in damage)
    await stage.library.export("s", "md", "all")


@pytest.mark.parametrize("damage", ["'many'", "x'fffe'", "9223372036854775807", "-5", "2.5"])
async def test_a_session_whose_number_of_turns_is_damaged_is_saved_into(stage: Stage, damage: str) -> None:
    await stage.keep("s", a_turn(1))
    await stage.database.run(lambda connection: connection.execute(f"UPDATE session SET turns = {damage}"))
    await stage.keep("s", a_turn(2))
    assert len((await stage.conversations.load("s")).turns) == 2
    assert [row.turns for row in await stage.library.sessions()] == [2]


async def test_a_session_that_never_was_is_no_damage(stage: Stage) -> None:
    with pytest.raises(StoreError):
        await stage.conversations.load("s")
    assert stage.database.notices == ()
