"""Opens the database file: private, durable, checked and migrated; or read-only where it cannot be written.

Also maps SQLite errors to the program's: only this module knows their codes.

A migration is a numbered SQL file. Each runs in a transaction of its own, after a backup.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from tui.domain.errors import StoreBusy, StoreError, StoreFull, StoreReadOnly
from tui.domain.fast_dataclass import dataclass
from tui.domain.format_numbers import count
from tui.settings.user_files import make_private_folder, refuse_irregular

if TYPE_CHECKING:
    import tempfile


_FOLDER = Path(__file__).parent / "migrations"
SUMMARIES_SINCE = 2
"""Schema version that introduced summary requests."""
QUEUE_SINCE = 3
"""Schema version that introduced queued prompts."""
SPENDING_SINCE = 4
"""Schema version that introduced the ledger of all requests."""


@cache
def migrations() -> tuple[str, ...]:
    """The migration scripts; the one for version 1 is at index 0."""
    return tuple(file.read_text(encoding="utf-8") for file in sorted(_FOLDER.glob("*.sql")))


def version(connection: sqlite3.Connection) -> int:
    """The schema version; 0 for an empty database. Raises DamagedDatabase for a number that cannot be."""
    found = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if found < 0:
        raise DamagedDatabase(f"the schema number is {found}")
    return found


def refuse_newer(connection: sqlite3.Connection, path: Path) -> None:
    """Raises StoreReadOnly if a later version of this program wrote the schema."""
    found = version(connection)
    if found > len(migrations()):
        raise StoreReadOnly(
            f"`{path}` was written by a newer version (schema {found}, this one knows {len(migrations())}).",
            advice="Update ponder. Until then, sessions can be read in part, and nothing is saved.",
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


BUSY_TIMEOUT_S = 5.0
SILENT_S = 1.5
"""How much of it passes before the user is told that another program has locked the database."""
CHECKED_UP_TO = 4 << 20
"""Bytes: a database up to this size is checked whenever it is opened, which takes milliseconds."""
CHECKED_AFTER_A_CRASH = 64 << 20
"""Bytes: up to this size it is also checked if its last user did not close it."""
HEADER = b"SQLite format 3\0"
HEADER_SIZE = 100
NETWORK_FILE_SYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ncpfs", "fuse.sshfs", "lustre", "ceph", "glusterfs"}
)
LOOK_EVERY_S = 0.02
SIDECARS = ("-wal", "-shm", "-journal")


def salvage_path(path: Path) -> Path:
    """Where a repair builds the new database before it replaces the damaged one."""
    return path.with_name(f"{path.name}.salvaged")


class DamagedDatabase(sqlite3.DatabaseError):
    """An integrity check failed; carries the error code SQLite uses for damage."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedDatabase:
    """The writer's connection and notices for the user."""

    connection: sqlite3.Connection
    notices: tuple[str, ...] = ()


def file_system_of(path: Path) -> str:
    """File system type of a path as the kernel names it; "" if unknown."""
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    resolved = path.resolve()
    best = ("", "")
    for line in mounts:
        _, point, kind, *_ = line.split(" ")
        point = point.replace("\\040", " ")
        if len(point) >= len(best[0]) and resolved.is_relative_to(point):
            best = (point, kind)
    return best[1]


@contextmanager
def one_at_a_time(path: Path, when_locked: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Serialize opening and repairing between processes. Continues without a lock where locking is impossible.

    ``when_locked`` is called when another process has kept the lock for ``SILENT_S``.
    """
    try:
        import fcntl

        handle = os.open(path.with_name(path.name + ".lock"), os.O_CREAT | os.O_RDWR, 0o600)
    except (ImportError, OSError):
        yield
        return
    try:
        with suppress(OSError):
            if not _locked_in_time(lambda: fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)):
                when_locked()
                fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _locked_in_time(try_to_lock: Callable[[], None]) -> bool:
    end = time.monotonic() + SILENT_S
    pause = threading.Event()
    while True:
        try:
            try_to_lock()
        except BlockingIOError:
            if time.monotonic() > end:
                return False
            pause.wait(LOOK_EVERY_S)
        else:
            return True


def open_writer(
    path: Path, file_system: Callable[[Path], str] = file_system_of, timeout_s: float = BUSY_TIMEOUT_S
) -> OpenedDatabase:
    """Open for writing at the newest schema, creating the file if necessary.

    Raises StoreReadOnly if it cannot be written, sqlite3.Error (see ``is_damage``) if it cannot be read.
    """
    make_private(path)
    unclean = _size(path.with_name(path.name + "-wal")) > 0
    _refuse_irregular(path)
    _check_header(path)
    connection = connect(path)
    try:
        wait_for_locks(connection, timeout_s)
        notices = _set_up(connection, path, file_system)
        size = _size(path)
        if size <= CHECKED_UP_TO or (unclean and size <= CHECKED_AFTER_A_CRASH):
            check(connection)
        refuse_newer(connection, path)
        backup = migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    if backup is not None:
        notices.append(f"Sessions were brought to a newer format; `{backup}` is the copy from before.")
    return OpenedDatabase(connection=connection, notices=tuple(notices))


def connect(path: Path, mode: str = "rw") -> sqlite3.Connection:
    """A connection in autocommit mode; transactions are started explicitly."""
    address = f"{_file_uri(path)}?mode={mode}"
    connection = sqlite3.connect(
        address, uri=True, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False, cached_statements=256
    )
    connection.text_factory = lambda text: text.decode("utf-8", "replace")  # A flipped bit must not hide a session.
    return connection


def wait_for_locks(connection: sqlite3.Connection, seconds: float) -> None:
    """Let statements wait that long for a lock of another connection."""
    connection.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")


def _file_uri(path: Path) -> str:
    """As ``Path.as_uri``, which imports an HTTP client and half of the standard library since Python 3.14."""
    absolute = path.absolute().as_posix()
    return "file://" + quote(os.fsencode(absolute if absolute.startswith("/") else f"/{absolute}"), safe="/:")


def check(connection: sqlite3.Connection) -> None:
    """Raises Damaged if pages or indexes are corrupt."""
    result = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if result != "ok":
        raise DamagedDatabase(result)


@dataclass(slots=True)
class ReadConnection:
    """A read-only connection, and the temporary copy it reads where the file itself cannot be opened."""

    connection: sqlite3.Connection
    copy: tempfile.TemporaryDirectory[str] | None = None

    def close(self) -> None:
        self.connection.close()
        if self.copy is not None:
            self.copy.cleanup()


def open_reader(path: Path) -> ReadConnection:
    """Open what exists for reading; if nothing exists, an empty database in memory."""
    if _size(path) == 0 and not _size(path.with_name(path.name + "-wal")):
        return ReadConnection(_empty())
    # The header is left to SQLite: the writer's connection may be open, and closing a handle of our own would release
    # its locks. The next process to close the database would then remove the log that the writer writes to.
    _refuse_irregular(path)
    try:
        return _usable(ReadConnection(connect(path, "ro")))
    except sqlite3.OperationalError:
        # A write-ahead log needs a shared-memory file next to it, which cannot be created in a read-only folder.
        return _usable(_open_copy(path))


def _usable(reading: ReadConnection) -> ReadConnection:
    try:
        reading.connection.execute("PRAGMA query_only = 1")
        found = version(reading.connection)
    except sqlite3.Error:
        reading.close()
        raise
    if found:
        return reading
    reading.close()
    return ReadConnection(_empty())


def _open_copy(path: Path) -> ReadConnection:
    import shutil
    import tempfile

    folder = tempfile.TemporaryDirectory(prefix="ponder-read-", ignore_cleanup_errors=True)
    for suffix in ("", "-wal"):
        source = path.with_name(path.name + suffix)
        if source.exists():
            shutil.copyfile(source, Path(folder.name) / source.name)
    return ReadConnection(connect(Path(folder.name) / path.name), folder)


def _empty() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    migrate(connection, Path(":memory:"))
    assert version(connection) == len(migrations())
    return connection


def _set_up(connection: sqlite3.Connection, path: Path, file_system: Callable[[Path], str]) -> list[str]:
    notices = []
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA mmap_size = 0")
    kind = file_system(path)
    if kind in NETWORK_FILE_SYSTEMS:
        connection.execute("PRAGMA journal_mode = DELETE")
        notices.append(
            f"`{path}` is on a network file system ({kind}): sessions are saved the slow way, and only one ponder "
            "at a time should use them. PONDER_HOME can name a local folder."
        )
    else:
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA journal_size_limit = 1048576")
    connection.execute("BEGIN IMMEDIATE")  # The only reliable test of whether the file can be written.
    connection.execute("ROLLBACK")
    return notices


def make_private(path: Path) -> None:
    """Restrict the folder and the file to their owner. SQLite copies the file's mode to its other files."""
    try:
        make_private_folder(path.parent, tighten=True)
        if path.exists():
            if stat.S_IMODE(path.stat().st_mode) & 0o077 and os.access(path, os.W_OK):
                path.chmod(0o600)
            return
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        _sync_folder(path.parent)
    except OSError as fault:
        if fault.errno == errno.ENOSPC:
            raise store_error(fault, path) from fault
        raise StoreReadOnly(
            f"`{path}` cannot be written: {fault.strerror}.",
            advice="This conversation is not saved. Set PONDER_HOME to a folder you can write.",
        ) from fault


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _refuse_irregular(path: Path) -> None:
    for suffix in ("", *SIDECARS):
        refuse_irregular(path.with_name(path.name + suffix))


def _check_header(path: Path) -> None:
    """Raises DamagedDatabase. Only before this process opens the database: closing a file releases all of its locks."""
    with path.open("rb") as file:
        start = file.read(HEADER_SIZE)
    if start and (len(start) < HEADER_SIZE or not start.startswith(HEADER)):
        raise DamagedDatabase("file is not a database")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


FULL = frozenset({sqlite3.SQLITE_FULL})
BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
READ_ONLY = frozenset({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH})
SHARED_INDEX = 32 << 10
"""Bytes of the shared-memory file of a new database."""
NO_SPACE = 64 << 10
"""Bytes: an I/O error with less free space than this means a full disk (the shared-memory file could not grow)."""
LIMITED = frozenset({sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PROTOCOL})
"""What SQLite says of a file that must not grow."""
DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


def code_of(fault: Exception) -> int:
    """The primary result code; -1 for errors raised by Python."""
    return int(getattr(fault, "sqlite_errorcode", -1)) & 0xFF


def is_locked(fault: Exception) -> bool:
    """Whether another program has locked the database."""
    return code_of(fault) in BUSY


def is_damage(fault: Exception) -> bool:
    """Whether the file is damaged. Names in a damaged schema may not even be valid text."""
    # SQLite has no code of its own for an index whose version is damaged.
    is_of_index = isinstance(fault, sqlite3.OperationalError) and "invalid fts5 file format" in str(fault)
    return code_of(fault) in DAMAGED or is_of_index or isinstance(fault, UnicodeDecodeError)


def is_damage_of_index(fault: Exception) -> bool:
    """Whether only the full-text index is damaged, which can be rebuilt."""
    return getattr(fault, "sqlite_errorcode", -1) == sqlite3.SQLITE_CORRUPT_VTAB


def store_error(fault: Exception, path: Path) -> StoreError:
    """The StoreError for a SQLite error."""
    code = code_of(fault)
    if not isinstance(fault, sqlite3.Error):
        return _of_system(fault, path)
    if code in FULL or (code == sqlite3.SQLITE_IOERR and _is_full(path)):
        return StoreFull(
            "The disk is full: the conversation is not saved.",
            advice=f"Free some space on the disk of `{path}`; ponder tries again every few seconds.",
        )
    if code in BUSY:
        return StoreBusy(
            "Another program has locked the session database.",
            advice="Close the other program, or wait: ponder tries again.",
        )
    if code in READ_ONLY:
        return StoreReadOnly(
            f"`{path}` cannot be written.",
            advice="Check its permissions, or set PONDER_HOME to another folder. `/export` still works.",
        )
    if code in DAMAGED:
        return StoreError(f"`{path}` is damaged.", advice="It will be repaired at the next start. Nothing is deleted.")
    return _of_disk(fault, path)


def _of_disk(fault: sqlite3.Error, path: Path) -> StoreError:
    most = _largest_file(path) if code_of(fault) in LIMITED else None
    if most is not None:
        return StoreError(
            f"No file may be larger than {count(most, 'byte')} here (`ulimit -f`): the conversation is not saved.",
            advice="Raise the limit in the shell and start ponder again.",
        )
    return StoreError(f"Sessions cannot be saved: {fault}.", advice=f"Check the disk of `{path}`.")


def _of_system(fault: Exception, path: Path) -> StoreError:
    if not isinstance(fault, OSError):
        return StoreError(
            f"The session store failed ({type(fault).__name__}).", advice="The log has the details. Please report it."
        )
    if fault.errno == errno.ENOSPC:
        full = sqlite3.OperationalError("database or disk is full")
        full.sqlite_errorcode = sqlite3.SQLITE_FULL
        return store_error(full, path)
    return StoreReadOnly(
        f"`{path}` cannot be used: {fault.strerror or type(fault).__name__}.",
        advice="This conversation is not saved. Move it away, or set PONDER_HOME to a folder you can write.",
    )


def _largest_file(path: Path) -> int | None:
    """The process's limit for the size of files if a file of the database has nearly reached it; else None."""
    try:
        import resource  # not on Windows
    except ImportError:
        return None
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if most == resource.RLIM_INFINITY:
        return None
    sizes = [_size(path.with_name(path.name + end)) for end in ("", "-wal", "-shm")]
    return most if max(*sizes, SHARED_INDEX) + NO_SPACE > most else None


def _is_full(path: Path) -> bool:
    import shutil  # Imported late because it loads every archive format.

    try:
        return shutil.disk_usage(path.parent).free < NO_SPACE
    except OSError:
        return False
