"""Random damage to the database and its log: always opened, and whatever happened, everything can be saved again.

``--long`` (or PONDER_LONG=1) tries 500 of them.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S
from tests.store.stage import Stage, a_turn, open_stage, rich_turn
from tui.domain.errors import StoreFull
from tui.store.recovery import _TABLES

ROOT = Path(__file__).resolve().parents[2]
PAGE = 4096
SESSIONS, TURNS = 3, 8
AFTER = 20


async def a_crashed_store(folder: Path) -> Path:
    """A database and a log that was not taken in, as kill -9 leaves them; its folder."""
    stage = open_stage(folder / "running")
    for session in range(SESSIONS):
        await stage.keep(f"s{session}", *(a_turn(f"{session}.{number}", said="word " * 90) for number in range(TURNS)))
        await stage.keep(f"s{session}", rich_turn(f"rich{session}"))
    await stage.database.run(lambda connection: None)
    connection = stage.database._connection
    assert connection is not None
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
    await stage.keep("s0", a_turn("late", "in the log"))
    kept = folder / "crashed"
    kept.mkdir()
    for path in (folder / "running" / "data").iterdir():
        if not path.name.endswith((".lock", "-shm")):
            shutil.copyfile(path, kept / path.name)
    stage.database.close()
    return kept


def harm(path: Path, dice: random.Random) -> str:
    content = bytearray(path.read_bytes())
    pages = max(1, len(content) // PAGE)
    kind = dice.choice(["bits", "zeros", "truncated", "swapped", "garbage", "page"])
    match kind:
        case "bits":
            for _ in range(dice.choice([1, 10, 100, 1000])):
                place = dice.randrange(len(content))
                content[place] ^= 1 << dice.randrange(8)
        case "zeros":
            start = dice.randrange(len(content))
            length = min(dice.choice([1, 100, 4096, 20_000]), len(content) - start)
            content[start : start + length] = bytes(length)
        case "truncated":
            del content[dice.randrange(len(content)) :]
        case "swapped":
            one, other = dice.randrange(pages) * PAGE, dice.randrange(pages) * PAGE
            first, second = content[one : one + PAGE], content[other : other + PAGE]
            if len(first) == len(second):
                content[one : one + PAGE], content[other : other + PAGE] = second, first
        case "garbage":
            start = dice.randrange(len(content))
            length = min(dice.choice([10, 1000, 10_000]), len(content) - start)
            content[start : start + length] = dice.randbytes(length)
        case _:
            start = dice.randrange(pages) * PAGE
            content[start : start + PAGE] = b"\xff" * min(PAGE, len(content) - start)
    path.write_bytes(content)
    return kind


async def read_all(stage: Stage) -> int:
    """Open every session that is listed; how many turns there are."""
    rows = await stage.library.sessions()
    return sum([len((await stage.conversations.load(row.id)).turns) for row in rows])


async def save_and_check(stage: Stage, name: str) -> None:
    turns = [a_turn(f"{name}{number}", said="again " * 50) for number in range(AFTER)]
    await stage.keep(name, *turns[: AFTER // 2])
    await stage.keep("s0", *turns[AFTER // 2 :])
    assert (await stage.conversations.load(name)).turns == tuple(turns[: AFTER // 2])
    assert (await stage.conversations.load("s0")).turns[-AFTER // 2 :] == tuple(turns[AFTER // 2 :])


@pytest.mark.long
@pytest.mark.parametrize(
    "rounds",
    [
        pytest.param(range(24), id="some"),
        pytest.param(range(500), id="all", marks=[pytest.mark.minutes, pytest.mark.timeout(1800)]),
    ],
)
async def test_after_any_damage_everything_can_be_saved_again(tmp_path: Path, rounds: range) -> None:
    crashed = await a_crashed_store(tmp_path)
    for seed in rounds:
        dice = random.Random(seed)
        folder = tmp_path / f"round{seed}"
        shutil.copytree(crashed, folder / "data")
        names = ["sessions.db"] * 3 + ["sessions.db-wal"]
        done = [harm(folder / "data" / dice.choice(names), dice) for _ in range(dice.choice([1, 1, 2]))]
        stage = open_stage(folder)
        try:
            await read_all(stage)
            await save_and_check(stage, f"new{seed}-")
        except Exception as fault:
            fault.add_note(f"seed {seed}: {done}")
            raise
        finally:
            stage.database.close()
        connection = sqlite3.connect(folder / "data" / "sessions.db")
        connection.close()
        again = open_stage(folder)
        await read_all(again)
        again.database.close()
        shutil.rmtree(folder)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("pages", [[0], [15], [16], [0, 15, 16], [1, 2, 3, 4, 5]])
async def test_damage_of_the_first_or_inner_pages_costs_what_is_on_them(tmp_path: Path, pages: list[int]) -> None:
    stage = open_stage(tmp_path)
    for session in range(SESSIONS):
        await stage.journal.history_replaced(
            f"s{session}", [a_turn(f"{session}.{number}", said="word " * 200) for number in range(40)]
        )
    stage.database.close()
    content = bytearray(stage.database.path.read_bytes())
    for page in pages:
        content[page * PAGE : (page + 1) * PAGE] = b"\xff" * PAGE
    stage.database.path.write_bytes(content)
    again = open_stage(tmp_path)
    rows = await again.library.sessions()
    texts = [
        block.text
        for row in rows
        for turn in await again.conversations.turns(row.id)
        for message in turn.messages
        for block in message.blocks
        if hasattr(block, "text")
    ]
    answers = sum(text == "word " * 200 for text in texts)
    assert answers >= SESSIONS * 40 - 5 * len(pages), (answers, again.database.notices)
    await save_and_check(again, "new")
    again.database.close()


@pytest.mark.parametrize("was_read", [False, True])
async def test_a_conflict_left_by_an_old_repair_is_mended_and_what_is_read_is_the_new_file(
    stage: Stage, was_read: bool
) -> None:
    """Blocks without a message stood where the next message's blocks belong."""
    await stage.keep("s0", a_turn(1))
    if was_read:
        assert [row.id for row in await stage.library.sessions()] == ["s0"]
    orphan = "INSERT INTO block (place, kind, payload, text) VALUES ((SELECT max(seq) + 1 FROM message) << 20, ?, ?, ?)"
    await stage.database.run(lambda connection: connection.execute(orphan, ("text", "{}", "lost words")))
    await save_and_check(stage, "new")
    assert [row.title for row in await stage.library.sessions("lost words")] == ["Recovered"]


async def test_deleted_words_do_not_come_back(tmp_path: Path) -> None:
    stage = open_stage(tmp_path)
    for number in range(20):
        await stage.keep(f"s{number}", a_turn(number, "secret " * 300, "secret " * 300))
    for number in range(20):
        await stage.library.purge(f"s{number}")
    await stage.keep("kept", a_turn("kept"))
    stage.database.close()
    content = bytearray(stage.database.path.read_bytes())
    at = content.index(b"CREATE TABLE session")
    content[at : at + 6] = b"\xff" * 6
    stage.database.path.write_bytes(content)
    again = open_stage(tmp_path)
    assert [row.id for row in await again.library.sessions()] == ["kept"]
    assert await again.library.sessions("secret") == []
    again.database.close()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="mounting a small disk takes root")
async def test_a_repair_without_room_changes_nothing_and_is_done_when_there_is_room(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=900k", "tmpfs", str(disk)], check=False)
    if mounted.returncode:
        pytest.skip("nothing may be mounted here: a repair on a full disk is not tried")
    stage = open_stage(disk)
    try:
        for number in range(5):
            await stage.keep("s", a_turn(number, said="word " * 400))
        stage.database.close()
        with stage.database.path.open("r+b") as file:
            file.write(b"\xff" * PAGE)
        (disk / "filler").write_bytes(bytes(500_000))
        stage = open_stage(disk)
        for _ in range(7):
            with pytest.raises(StoreFull):
                await stage.keep("s", a_turn("late"))
        (disk / "filler").unlink()
        subprocess.run(["mount", "-o", "remount,size=8m", str(disk)], check=True)
        await stage.keep("s", a_turn("late"))
        assert [(row.id, row.turns) for row in await stage.library.sessions()] == [("s", 6)]
    finally:
        stage.database.close()
        subprocess.run(["umount", str(disk)], check=True)


async def test_the_salvaged_tables_are_those_of_the_schema(stage: Stage) -> None:
    def columns(connection: sqlite3.Connection) -> None:
        for table, (key, known) in _TABLES.items():
            found = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            assert found == [key, *known]

    await stage.database.read(columns)


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.store.stage import open_stage

left = int(sys.argv[2])

def counted(call):
    def run(*arguments, **more):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*arguments, **more)
    return run

for name in ("rename", "replace", "open", "mkdir"):
    setattr(os, name, counted(getattr(os, name)))
stage = open_stage(Path(sys.argv[1]))
stage.database.submit(lambda connection: None).result()
stage.database.close()
print("done", left)
"""


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="no SIGKILL here")
async def test_a_kill_during_a_repair_loses_nothing_that_could_be_read(tmp_path: Path) -> None:
    crashed = await a_crashed_store(tmp_path)
    content = bytearray((crashed / "sessions.db").read_bytes())
    content[:PAGE] = b"\xff" * PAGE
    (crashed / "sessions.db").write_bytes(content)
    killed = 0
    for moment in range(1, 60):
        folder = tmp_path / f"moment{moment}"
        shutil.copytree(crashed, folder / "data")
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(folder), str(moment)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
        killed += done.returncode == -signal.SIGKILL
        stage = open_stage(folder)
        assert sorted((row.id, row.turns) for row in await stage.library.sessions()) == [
            ("s0", TURNS + 2),
            ("s1", TURNS + 1),
            ("s2", TURNS + 1),
        ], (moment, done)
        assert (await stage.conversations.turns("s0"))[-1] == a_turn("late", "in the log")
        assert not list((folder / "data").glob(".salvage-*")) or done.returncode == 0
        stage.database.close()
        if done.returncode == 0:
            break
    assert killed >= 10
    assert done.returncode == 0, done
