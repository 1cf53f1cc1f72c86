"""Disks that are full, read-only, far away or broken; databases of later versions; other programs in the way."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S
from tests.store.stage import Stage, a_turn, open_stage, rich_turn
from tui.domain.errors import StoreBusy, StoreError, StoreFull, StoreReadOnly
from tui.domain.messages import Turn
from tui.store import database
from tui.store.database import Database
from tui.store.open_database import SILENT_S, file_system_of, migrations, store_error


async def test_a_full_disk_is_told_and_what_was_there_stays(stage: Stage) -> None:
    await stage.keep("s", a_turn(1))
    await stage.database.run(_limit_to_what_is_there)
    with pytest.raises(StoreFull, match="The disk is full"):
        await stage.keep("s", rich_turn())
    assert (await stage.conversations.turns("s"))[0] == a_turn(1)
    await stage.database.run(lambda connection: connection.execute("PRAGMA max_page_count = 1073741823").fetchall())
    await stage.keep("s", rich_turn())
    assert (await stage.conversations.load("s")).turns == (a_turn(1), rich_turn())


async def test_the_caller_never_looks_at_the_file_even_if_the_write_is_done_at_once(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller, submit = threading.current_thread(), ThreadPoolExecutor.submit
    looked: set[threading.Thread] = set()

    def submit_and_wait(self: ThreadPoolExecutor, work: Callable[..., object], *args: object) -> Future[object]:
        future = submit(self, work, *args)
        if threading.current_thread() is caller:
            future.exception(timeout=PATIENCE_S)
        return future

    def log_size(path: Path) -> int:
        looked.add(threading.current_thread())
        return 0

    monkeypatch.setattr(ThreadPoolExecutor, "submit", submit_and_wait)
    monkeypatch.setattr("tui.store.database._log_size", log_size)
    await stage.keep("s", a_turn(1))
    assert looked
    assert caller not in looked


@pytest.mark.parametrize("replaced", [False, True])
async def test_a_file_that_is_removed_or_replaced_while_it_is_open_is_told_and_what_follows_is_saved(
    stage: Stage, tmp_path: Path, replaced: bool
) -> None:
    await stage.keep("s", a_turn(1))
    assert [row.id for row in await stage.library.sessions("")] == ["s"]
    for file in stage.database.path.parent.glob(f"{stage.database.path.name}*"):
        file.unlink()
    if replaced:
        backup = open_stage(tmp_path / "backup")
        await backup.keep("old", a_turn(7))
        backup.database.close()
        shutil.copy(backup.database.path, stage.database.path)
    await stage.keep("s", a_turn(2), a_turn(3))
    assert any("was removed or replaced while it was open" in notice for notice in stage.database.notices)
    assert {row.id for row in await stage.library.sessions("")} == ({"s", "old"} if replaced else {"s"})
    stage.database.close()
    again = Stage(Database(stage.database.path))
    assert [turn.id for turn in (await again.conversations.load("s")).turns] == ["t2", "t3"]
    again.database.close()


async def test_what_cannot_be_opened_for_writing_on_a_full_disk_is_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = sqlite3.OperationalError("disk I/O error")
    fault.sqlite_errorcode = sqlite3.SQLITE_IOERR_SHMSIZE
    assert type(store_error(fault, tmp_path / "sessions.db")) is StoreError
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(1 << 20, 1 << 20, 0))
    assert type(store_error(fault, tmp_path / "sessions.db")) is StoreFull


def _limit_to_what_is_there(connection: sqlite3.Connection) -> None:
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}").fetchall()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="mounting a small disk takes root")
async def test_a_real_small_disk_fills_up_and_is_whole_afterwards(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], check=False)
    if mounted.returncode:
        pytest.skip("nothing may be mounted here: a full file system is not tried")
    stage = open_stage(disk)
    try:
        kept: list[Turn] = []
        with pytest.raises(StoreFull):
            await _keep_until_it_fails(stage, kept)
        loaded = await stage.conversations.turns("s")
        assert list(loaded[: len(kept)]) == kept
        subprocess.run(["mount", "-o", "remount,size=8m", str(disk)], check=True)
        await stage.keep("s", a_turn("last"))
        checked = await stage.database.read(lambda connection: connection.execute("PRAGMA integrity_check").fetchall())
        assert checked == [("ok",)]
    finally:
        stage.database.close()
        subprocess.run(["umount", str(disk)], check=True)


async def _keep_until_it_fails(stage: Stage, kept: list[Turn]) -> None:
    for number in range(500):
        turn = a_turn(number, "word " * 500)
        await stage.keep("s", turn)
        kept.append(turn)


@contextmanager
def disk_that_can_be_frozen(folder: Path) -> Iterator[Callable[[], None]]:
    """For root a mounted disk that becomes read-only, for others a folder that loses its permissions."""
    folder.mkdir()
    if os.geteuid() != 0:

        def forbid() -> None:
            for path in (folder, folder / "data", *(folder / "data").iterdir()):
                path.chmod(0o500)

        yield forbid
        (folder / "data").chmod(0o700)
        folder.chmod(0o700)
        return
    if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(folder)], check=False).returncode:
        pytest.skip("nothing may be mounted here: a read-only file system is not tried")

    def remount() -> None:
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)

    try:
        yield remount
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no such permissions here")
async def test_a_folder_that_cannot_be_written_is_read(tmp_path: Path) -> None:
    with disk_that_can_be_frozen(tmp_path / "disk") as freeze:
        stage = open_stage(tmp_path / "disk")
        await stage.keep("s", a_turn(1, "findable"))
        stage.database.close()
        freeze()
        frozen = open_stage(tmp_path / "disk")
        assert await frozen.titles("findable") == ["findable"]
        assert (await frozen.conversations.load("s")).turns == (a_turn(1, "findable"),)
        with pytest.raises(StoreReadOnly, match="cannot be written"):
            await frozen.keep("s", a_turn(2))
        assert len(frozen.database.notices) == 1
        frozen.database.close()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no such permissions here")
async def test_what_a_crash_left_in_the_log_is_read_from_a_read_only_folder_too(tmp_path: Path) -> None:
    stage = open_stage(tmp_path)
    await stage.keep("s", a_turn(1))
    with disk_that_can_be_frozen(tmp_path / "disk") as freeze:
        shutil.copytree(tmp_path / "data", tmp_path / "disk" / "data")
        (tmp_path / "disk" / "data" / "sessions.db-shm").unlink()
        assert (tmp_path / "disk" / "data" / "sessions.db-wal").stat().st_size
        freeze()
        frozen = open_stage(tmp_path / "disk")
        assert await frozen.conversations.turns("s") == (a_turn(1),)
        frozen.database.close()
    stage.database.close()


async def test_a_place_that_is_no_folder_leaves_an_empty_store_that_refuses(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    stage = open_stage(tmp_path)
    assert await stage.titles() == []
    with pytest.raises(StoreReadOnly, match=r"cannot be written: (Not a directory|File exists)"):
        await stage.keep("s", a_turn(1))
    assert len(stage.database.notices) == 1
    stage.database.close()


async def test_a_database_of_a_later_version_is_read_and_never_written(tmp_path: Path) -> None:
    stage = open_stage(tmp_path)
    await stage.keep("s", a_turn(1))
    await stage.database.run(lambda connection: connection.execute(f"PRAGMA user_version = {len(migrations()) + 1}"))
    stage.database.close()
    before = stage.database.path.read_bytes()
    later = open_stage(tmp_path)
    assert (await later.conversations.load("s")).turns == (a_turn(1),)
    with pytest.raises(StoreReadOnly, match=f"schema {len(migrations()) + 1}, this one knows {len(migrations())}"):
        await later.keep("s", a_turn(2))
    later.database.close()
    assert later.database.path.read_bytes() == before


async def test_a_network_disk_is_written_without_a_shared_log(tmp_path: Path) -> None:
    database = Database(tmp_path / "sessions.db", file_system=lambda _: "nfs4")
    stage = Stage(database)
    await stage.keep("s", a_turn(1))
    mode = await database.read(lambda connection: connection.execute("PRAGMA journal_mode").fetchone())
    assert mode == ("delete",)
    assert ["network file system (nfs4)" in notice for notice in database.notices] == [True]
    assert (await stage.conversations.load("s")).turns == (a_turn(1),)
    database.close()


@pytest.mark.skipif(not Path("/proc/self/mounts").exists(), reason="only Linux tells what is mounted")
def test_the_kernel_says_which_file_system_a_path_is_on() -> None:
    assert file_system_of(Path("/proc/self/status")) == "proc"


async def test_another_program_in_the_way_is_told(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_TIMEOUT_S", SILENT_S)  # instead of waiting for it much longer
    await stage.keep("s", a_turn(1))
    await stage.database.run(lambda connection: None)
    other = sqlite3.connect(stage.database.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert stage.database._connection is not None
    stage.database._connection.execute("PRAGMA busy_timeout = 20")
    with pytest.raises(StoreBusy):
        await stage.keep("s", a_turn(2))
    other.execute("ROLLBACK")
    other.close()
    await stage.keep("s", a_turn(2))


async def test_only_the_owner_can_read(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        stage = open_stage(tmp_path)
        await stage.keep("s", a_turn(1))
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "data").iterdir()}
    finally:
        os.umask(before)
    assert {"sessions.db", "sessions.db-wal", "sessions.db-shm"} <= set(modes)
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
    stage.database.close()


async def test_a_file_that_others_can_read_is_closed_to_them(tmp_path: Path) -> None:
    stage = open_stage(tmp_path)
    await stage.keep("s", a_turn(1))
    stage.database.close()
    stage.database.path.chmod(0o644)
    again = open_stage(tmp_path)
    await again.keep("s", a_turn(2))
    assert stat.S_IMODE(again.database.path.stat().st_mode) == 0o600
    again.database.close()


async def test_the_log_is_cut_when_there_is_nothing_to_do(stage: Stage) -> None:
    log = stage.database.path.with_name("sessions.db-wal")
    for number in range(12):
        await stage.keep("s", a_turn(number, "word " * 20_000))
    stage.database.submit(lambda _: None).result()
    stage.database.submit(lambda _: None).result()
    assert log.stat().st_size <= 4 << 20
    stage.database.close()
    assert not log.exists()


async def test_work_that_fails_is_undone(stage: Stage) -> None:
    await stage.keep("s", a_turn(1))

    def half(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM block")
        raise LookupError("not so")

    with pytest.raises(StoreError, match="LookupError") as fault:
        await stage.database.run(half)
    assert isinstance(fault.value.__cause__, LookupError)
    assert (await stage.conversations.load("s")).turns == (a_turn(1),)


async def test_a_closed_store_says_so(stage: Stage) -> None:
    stage.database.close()
    stage.database.close()
    with pytest.raises(StoreError, match="closed"):
        await stage.titles()


def test_nothing_is_opened_before_it_is_needed(tmp_path: Path) -> None:
    Database(tmp_path / "data" / "sessions.db").close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("limit", [pytest.param(8 << 10, marks=pytest.mark.long), 100 << 10])
def test_a_limit_for_the_size_of_files_is_named(tmp_path: Path, limit: int) -> None:
    resource = pytest.importorskip("resource")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PONDER_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [sys.executable, "-m", "tui", "-p", "Hello", "-m", "demo/fast"],
        env=environment | {"PYTHONPATH": str(Path(__file__).parents[2])},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        check=False,
    )
    assert (done.returncode, bool(done.stdout)) == (1, True)
    assert f"NOT SAVED: No file may be larger than {limit:,} bytes here (`ulimit -f`)" in done.stderr


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (sqlite3.SQLITE_FULL, StoreFull),
        (sqlite3.SQLITE_BUSY | 2 << 8, StoreBusy),
        (sqlite3.SQLITE_READONLY, StoreReadOnly),
        (sqlite3.SQLITE_CANTOPEN, StoreReadOnly),
        (sqlite3.SQLITE_CORRUPT, StoreError),
        (sqlite3.SQLITE_IOERR, StoreError),
    ],
)
def test_every_fault_is_a_sentence_with_advice(code: int, kind: type[StoreError]) -> None:
    fault = sqlite3.OperationalError("no idea")
    fault.sqlite_errorcode = code
    told = store_error(fault, Path("s.db"))
    assert type(told) is kind
    assert told.message.endswith(".")
    assert told.advice


async def test_a_copy_of_the_folder_is_a_whole_store(tmp_path: Path, stage: Stage) -> None:
    await stage.keep("s", rich_turn())
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "data", copy / "data")
    copied = open_stage(copy)
    assert await copied.conversations.turns("s") == (rich_turn(),)
    copied.database.close()


@pytest.mark.one_in(4)
@pytest.mark.skipif(sys.platform != "linux", reason="no locks between the threads of a process here")
@pytest.mark.parametrize("left", [0, 1, 4096, 20_000])
async def test_a_truncated_index_of_the_log_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: int
) -> None:
    monkeypatch.setattr("tui.store.database.IDLE_WAL", 1 << 30)  # so that nothing uses the file between the calls
    stage, other = open_stage(tmp_path), open_stage(tmp_path)
    index = tmp_path / "data" / "sessions.db-shm"
    told: list[Turn] = []
    for number in range(12):
        told += [a_turn(2 * number), a_turn(2 * number + 1)]
        await stage.keep("s", told[-2])
        assert (await other.conversations.turns("s"))[-1] == told[-2]
        os.truncate(index, left)
        await (stage if number % 2 else other).keep("s", told[-1])
        assert await stage.conversations.turns("s") == tuple(told)
        assert await other.conversations.turns("s") == tuple(told)
        os.truncate(index, left)
    stage.database.close()
    other.database.close()
    third = open_stage(tmp_path)
    assert await third.conversations.turns("s") == tuple(told)
    assert third.database.notices == ()
    third.database.close()


async def test_another_process_that_closes_the_database_leaves_the_log_of_this_one(tmp_path: Path) -> None:
    stage = open_stage(tmp_path)
    await stage.keep("first", a_turn(1))
    assert await stage.library.sessions()  # the reader's connection is opened after the writer's
    database = tmp_path / "data" / "sessions.db"
    look = (
        f"import sqlite3; c = sqlite3.connect({str(database)!r}); c.execute('SELECT * FROM turn').fetchall(); c.close()"
    )
    subprocess.run([sys.executable, "-c", look], check=True)
    assert database.with_name("sessions.db-wal").exists()
    stage.database.close()
