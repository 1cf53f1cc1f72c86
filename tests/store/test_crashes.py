"""kill -9 at random and at chosen moments: whatever was acknowledged is there, byte for byte, and the rest is whole.

``PONDER_KILLS=500 pytest tests/store/test_crashes.py`` runs as many rounds.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.store.stage import open_stage
from tests.store.writer import the_turn
from tui.domain.messages import CRASHED, Turn

ROUNDS = int(os.environ.get("PONDER_KILLS", "12"))
ROOT = Path(__file__).resolve().parents[2]


def start(folder: Path, *words: str, before: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    command = [*before, sys.executable, "-m", "tests.store.writer", str(folder), *words]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def acknowledged(process: subprocess.Popen[str]) -> list[list[str]]:
    """What was told, in whole lines."""
    assert process.stdout is not None
    said = process.stdout.read()
    process.stdout.close()
    process.wait()
    return [line.split()[1:] for line in said[: said.rfind("\n") + 1].splitlines()]


async def check(folder: Path, session: str, acks: list[list[str]]) -> None:
    """Everything acknowledged is there and equal; what is there beyond it is whole or marked."""
    database = folder / "data" / "sessions.db"
    if not acks and not database.exists():
        return
    stage = open_stage(folder)
    turns: dict[str, Turn] = {}
    view = None
    if session in [row.id for row in await stage.library.sessions()]:
        loaded = await stage.conversations.load(session)
        turns, view = {turn.id: turn for turn in loaded.turns}, loaded.compression
    stage.database.close()
    wanted = {m.id: m for turn in turns for m in the_turn(session, int(turn.rpartition("-")[2])).messages}
    found = {m.id: m for turn in turns.values() for m in turn.messages}
    for kind, name in (ack for ack in acks if ack != ["done"]):
        match kind:
            case "message":
                assert found[name] == wanted[name]
            case "checkpoint":
                assert name in found
            case "turn":
                assert turns[name] == the_turn(session, int(name.rpartition("-")[2]))
            case _:
                assert view is not None
                assert int(view.summary.split()[1]) >= int(name)
    assert [name for name, message in found.items() if message != wanted[name] and message.interrupted != CRASHED] == []
    connection = sqlite3.connect(database)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()


@pytest.mark.long
@pytest.mark.timeout(180 + 3 * ROUNDS)
async def test_a_kill_at_any_moment_loses_nothing_acknowledged(tmp_path: Path) -> None:
    dice = random.Random(7)
    told = 0
    for number in range(ROUNDS):
        folder = tmp_path / str(number)
        process = start(folder, "s", "1000")
        assert process.stdout is not None
        if number % 4:  # every fourth round dies while starting: in the imports, the opening or the migration
            first = process.stdout.readline()
            time.sleep(dice.uniform(0.001, 0.3))
        else:
            first = ""
            time.sleep(dice.uniform(0.05, 0.35))
        process.send_signal(signal.SIGKILL)
        acks = [first.split()[1:]] if first else []
        acks += acknowledged(process)
        told += len(acks)
        await check(folder, "s", acks)
        shutil.rmtree(folder, ignore_errors=True)
    assert told > ROUNDS


@pytest.mark.one_in(2)
@pytest.mark.parametrize("when", ["before-commit", "after-commit"])
async def test_a_kill_around_each_kind_of_commit_leaves_it_whole_or_undone(tmp_path: Path, when: str) -> None:
    # Commits of a turn: begun, checkpoint, four messages (the first with the turn), finished; of every fifth a view.
    for count in (2, 3, 4, 7, 35) if ROUNDS > 12 else (3, 35):
        folder = tmp_path / f"{when}{count}"
        process = start(folder, "s", "20", f"{when}:{count}")
        acks = acknowledged(process)
        assert process.returncode == -signal.SIGKILL
        await check(folder, "s", acks)


def test_the_disk_has_it_before_it_is_acknowledged(tmp_path: Path) -> None:
    if shutil.which("strace") is None:
        pytest.skip("no strace: that commits reach the disk is not proved here")
    log = tmp_path / "calls"
    calls = "trace=write,pwrite64,fsync,fdatasync,openat"
    tracing = ("strace", "-f", "-y", "-e", calls, "-e", "signal=none", "-o", str(log))
    process = start(tmp_path, "s", "5", before=tracing)
    acks = acknowledged(process)
    if process.returncode != 0:
        pytest.skip("strace may not trace here: that commits reach the disk is not proved here")
    waiting, proved = False, 0
    for line in log.read_text(errors="replace").splitlines():
        if re.search(r"pwrite64\(\d+<[^>]*-wal>", line):
            waiting = True
        elif re.search(r"f(data)?sync\(\d+<[^>]*-wal>", line):
            waiting = False
        elif re.search(r'write\(1<[^>]*>, "ACK', line):
            assert not waiting, "told before the log was synced"
            proved += 1
    assert proved == len(acks) >= 5 * 6


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "turns",
    [
        pytest.param(25, id="short"),
        pytest.param(1_000, id="long", marks=[pytest.mark.minutes, pytest.mark.timeout(600)]),
    ],
)
async def test_two_processes_write_side_by_side_and_none_is_turned_away(tmp_path: Path, turns: int) -> None:
    writers = [start(tmp_path, name, str(turns)) for name in ("one", "two")]
    for name, process in zip(("one", "two"), writers, strict=True):
        acks = acknowledged(process)
        assert (process.returncode, acks[-1]) == (0, ["done"])
        await check(tmp_path, name, acks)
    stage = open_stage(tmp_path)
    assert {row.id: row.turns for row in await stage.library.sessions()} == {"one": turns, "two": turns}
    assert (await stage.conversations.load("one")).turns == tuple(the_turn("one", n) for n in range(turns))
    stage.database.close()
