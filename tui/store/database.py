"""The database: one writer thread, one reader thread, and complete transactions only.

``run(work)`` calls ``work(connection)`` between BEGIN IMMEDIATE and COMMIT; when it returns, the data is on disk.
``read(work)`` sees one consistent snapshot. Both may be called from any event loop and any thread. Nothing is
opened before the first call.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from tui.domain.errors import PonderError, StoreError, StoreReadOnly
from tui.domain.fast_dataclass import dataclass
from tui.store.fulltext import index_all
from tui.store.leases import LeaseHolder
from tui.store.open_database import (
    BUSY_TIMEOUT_S,
    SILENT_S,
    OpenedDatabase,
    ReadConnection,
    check,
    file_system_of,
    is_damage,
    is_damage_of_index,
    is_locked,
    make_private,
    one_at_a_time,
    open_reader,
    open_writer,
    salvage_path,
    store_error,
    wait_for_locks,
)
from tui.store.shared_index import SharedIndex

IDLE_WAL = 1 << 20
"""Bytes: a longer write-ahead log is checkpointed and truncated when no write is waiting."""
MOST_REPAIRS = 5
"""Per process: a disk that fails repeatedly must not be filled with damaged copies."""
LOG = logging.getLogger(__name__)
LOG.addHandler(logging.NullHandler())  # Without a log file, nothing may go to the terminal.

LOCKED = "Another program has locked the session database; ponder waits for it."

Result = TypeVar("Result")
Work = Callable[[sqlite3.Connection], Result]


class Database:
    """All sessions of a user in one file."""

    def __init__(self, path: Path, *, file_system: Callable[[Path], str] = file_system_of) -> None:
        self.path = path
        self._file_system = file_system
        self._writing = ThreadPoolExecutor(1, thread_name_prefix="ponder-store-write")
        self._reading = ThreadPoolExecutor(1, thread_name_prefix="ponder-store-read")
        for executor in (self._writing, self._reading):
            executor.submit(int)  # starts its thread now: later, the system may allow no more
        self._connection: sqlite3.Connection | None = None
        self._reader: ReadConnection | None = None
        self._index = SharedIndex(path)
        self._file: int | None = None
        """The inode of the file that was opened for writing."""
        self._read_file: int | None = None
        """The inode of the file that was opened for reading."""
        self._tried = False
        """Whether opening for writing was attempted; readers wait for that."""
        self._repairs = 0
        self._waiting = 0
        self._lock = threading.Lock()
        self._closed = False
        self._notices: list[str] = []
        self.tell: Callable[[str], None] = lambda sentence: None
        """Called with each new notice, in the writer thread."""
        self.when_locked: Callable[[], None] = lambda: None
        """Called once, in any thread, when a call has waited for the lock of another program and waits on."""
        self._told_locked = False

    @property
    def notices(self) -> tuple[str, ...]:
        """Sentences for the user about how the database was opened: damage, network disk, read-only."""
        return tuple(self._notices)

    @property
    def can_write(self) -> bool:
        return self._connection is not None

    async def run(self, work: Work[Result]) -> Result:
        """Run a write transaction. Any exception rolls it back and is raised as a PonderError."""
        return await asyncio.wrap_future(self.submit(work))

    async def read(self, work: Work[Result]) -> Result:
        """Run a read transaction. Raises StoreError."""
        return await asyncio.wrap_future(self.submit_read(work))

    def submit(self, work: Work[Result]) -> Future[Result]:
        """Like ``run``, for callers without an event loop."""
        self._must_be_open()
        with self._lock:
            self._waiting += 1
        future = self._writing.submit(self._write_next, work)
        future.add_done_callback(self._forget_cancelled)
        return future

    def submit_read(self, work: Work[Result]) -> Future[Result]:
        """Like ``read``, for callers without an event loop."""
        self._must_be_open()
        return self._reading.submit(self._read, work)

    def close(self) -> None:
        """Finish waiting work, checkpoint the log and close the file. Thread-safe."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._reading.shutdown(wait=True)
        self._close_reader()
        self._writing.shutdown(wait=True)
        if self._connection is not None:
            self._truncate_log()
            self._connection.close()
            self._connection = None

    def _must_be_open(self) -> None:
        if self._closed:
            raise StoreError("The session store is closed.")

    def _write(self, work: Work[Result]) -> Result:
        self._reopen_if_replaced()
        self._index.check()
        try:
            try:
                result = self._patiently(self._writable(), work, "BEGIN IMMEDIATE")
                self._told_locked = False
                return result
            except Exception as fault:
                if not _can_be_repaired(fault) or self._repairs >= MOST_REPAIRS:
                    raise
                self._repair(fault)
                return _transaction(self._writable(), work, "BEGIN IMMEDIATE")
        except PonderError:
            raise
        except Exception as fault:  # Whatever the cause, the conversation must continue, even unsaved.
            raise _as_store_error(fault, self.path) from fault

    def _reopen_if_replaced(self) -> None:
        """Reopen when the file was removed or replaced: writes to the old one would be lost."""
        if self._connection is None or _identity(self.path) == self._file:
            return
        # SQLite sees that the file has moved, and leaves the log of the one that replaced it alone.
        self._connection.close()
        self._connection = None
        with suppress(RuntimeError):  # The executor is shutting down, so nothing reads any more.
            self._reading.submit(self._close_reader)
        self._notice(
            f"`{self.path}` was removed or replaced while it was open. What comes from now on is saved; what was there "
            "before may be missing."
        )

    def _writable(self) -> sqlite3.Connection:
        if self._connection is None:
            try:
                make_private(self.path)
                with one_at_a_time(self.path, self._tell_locked):
                    if salvage_path(self.path).exists():  # A repair was interrupted.
                        from tui.store.recovery import finish

                        self._notice(f"The session database was damaged. It was saved as `{finish(self.path)}`.")
                    self._file = _identity(self.path)
                    opened = self._open_writer()
            except StoreReadOnly as refusal:
                self._notice(f"{refusal.message} {refusal.advice}")
                raise
            except (sqlite3.Error, OSError) as fault:
                error = store_error(fault, self.path)
                if isinstance(error, StoreReadOnly):
                    self._notice(f"{error.message} {error.advice}")
                raise
            finally:
                self._tried = True
            wait_for_locks(opened.connection, SILENT_S)
            self._connection = opened.connection
            self._file = _identity(self.path)
            for notice in opened.notices:
                self._notice(notice)
        return self._connection

    def _open_writer(self) -> OpenedDatabase:
        try:
            return open_writer(self.path, self._file_system, SILENT_S)
        except sqlite3.OperationalError as fault:
            if not is_locked(fault):
                raise
        self._tell_locked()
        return open_writer(self.path, self._file_system, BUSY_TIMEOUT_S - SILENT_S)

    def _patiently(self, connection: sqlite3.Connection, work: Work[Result], begin: str) -> Result:
        """A transaction that waits for the lock of another program, and says so when it takes long."""
        try:
            return _transaction(connection, work, begin)
        except sqlite3.OperationalError as fault:
            if not is_locked(fault):
                raise
        self._tell_locked()
        wait_for_locks(connection, BUSY_TIMEOUT_S - SILENT_S)
        try:
            return _transaction(connection, work, begin)
        finally:
            wait_for_locks(connection, SILENT_S)

    def _tell_locked(self) -> None:
        if not self._told_locked:
            self._told_locked = True
            self.when_locked()

    def _repair(self, fault: Exception) -> None:
        from tui.store.recovery import recover

        if is_damage_of_index(fault):
            self._repairs += 1
            _transaction(self._writable(), index_all, "BEGIN IMMEDIATE")
            return
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        with one_at_a_time(self.path):
            if _identity(self.path) == self._file:  # Otherwise another process has already repaired it.
                self._notice(recover(self.path, self._file_system))
                self._repairs += 1  # A repair that failed for lack of space is not counted.

    def _notice(self, sentence: str) -> None:
        if sentence not in self._notices:
            self._notices.append(sentence)
            self.tell(sentence)

    def _write_next(self, work: Work[Result]) -> Result:
        try:
            return self._write(work)
        finally:
            # Here and not in a callback of the future: a callback added after the work is done runs in the
            # caller's thread, which is the screen's and must not ask the file system for anything.
            with self._lock:
                self._waiting -= 1
                if self._waiting == 0 and not self._closed and _log_size(self.path) > IDLE_WAL:
                    self._writing.submit(self._truncate_log)

    def _forget_cancelled(self, future: Future[Result]) -> None:
        if future.cancelled():
            with self._lock:
                self._waiting -= 1

    def _truncate_log(self) -> None:
        """Checkpoint and truncate the log. A reader may block it; it is tried again later."""
        if self._connection is None or self._waiting:
            return
        self._index.check()
        with suppress(sqlite3.Error):
            # The next writer must not wait for a reader.
            self._connection.execute("PRAGMA busy_timeout = 50")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        with suppress(sqlite3.Error):
            wait_for_locks(self._connection, SILENT_S)

    def _read(self, work: Work[Result]) -> Result:
        if not self._tried:
            self._writing.submit(self._let_writer_open).result()
        self._index.check()
        try:
            try:
                return self._patiently(self._readable(), work, "BEGIN")
            except Exception as fault:
                if not is_damage(fault):
                    raise
                self._close_reader()
                # The writer meets the same damage and repairs it; it has nothing else to do.
                look = index_all if is_damage_of_index(fault) else _check_from_disk
                self._writing.submit(self._write, look).result()
                return _transaction(self._readable(), work, "BEGIN")
        except PonderError:
            raise
        except Exception as fault:  # As in ``_write``, every failure must become a StoreError.
            raise _as_store_error(fault, self.path) from fault

    def _let_writer_open(self) -> None:
        """Let the writer create, migrate and repair first. If it fails, readers open what exists."""
        try:
            self._write(lambda _: None)
        except StoreError:
            return

    def _readable(self) -> sqlite3.Connection:
        found = _identity(self.path)
        if found != self._read_file:  # The writer, or another program, repaired it, or the user put another one there.
            self._close_reader()
        if self._reader is None:
            self._reader, self._read_file = open_reader(self.path), found
            wait_for_locks(self._reader.connection, SILENT_S)
        return self._reader.connection

    def _close_reader(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None


def _as_store_error(fault: Exception, path: Path) -> StoreError:
    if not isinstance(fault, sqlite3.Error | OSError):
        LOG.error("the session store failed", exc_info=fault)
    return store_error(fault, path)


def _can_be_repaired(fault: Exception) -> bool:
    """A uniqueness violation also counts as damage: of an index, or left by an earlier repair."""
    return is_damage(fault) or isinstance(fault, sqlite3.IntegrityError)


def _identity(path: Path) -> int | None:
    """The inode, to notice that the file was replaced."""
    try:
        return path.stat().st_ino
    except OSError:
        return None


def _log_size(path: Path) -> int:
    try:
        return path.with_name(path.name + "-wal").stat().st_size
    except OSError:
        return 0


def _transaction(connection: sqlite3.Connection, work: Work[Result], begin: str) -> Result:
    connection.execute(begin)
    try:
        result = work(connection)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    return result


def _check_from_disk(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA shrink_memory")  # Cached pages could hide what is now on the disk.
    check(connection)


def _as_it_is(text: str) -> str:
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreContext:
    """Identity, clock, id generator and redaction, passed in by the program."""

    holder: LeaseHolder
    now: Callable[[], float]
    new_id: Callable[[], str]
    conceal: Callable[[str], str] = _as_it_is
    """Removes the keys the program knows from exports; anything that looks like a key is removed as well."""
