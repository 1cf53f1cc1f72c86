"""Maps SQLite errors to the program's errors. Only this module knows SQLite's error codes."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

from tui.domain.errors import StoreBusy, StoreError, StoreFull, StoreReadOnly

FULL = frozenset({sqlite3.SQLITE_FULL})
BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
READ_ONLY = frozenset({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH})
NO_SPACE = 64 << 10
"""Bytes: an I/O error with less free space than this means a full disk (the shared-memory file could not grow)."""
DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


def code_of(fault: Exception) -> int:
    """The primary result code; -1 for errors raised by Python."""
    return int(getattr(fault, "sqlite_errorcode", -1)) & 0xFF


def is_damage(fault: Exception) -> bool:
    """Whether the file is damaged. Names in a damaged schema may not even be valid text."""
    return code_of(fault) in DAMAGED or isinstance(fault, UnicodeDecodeError)


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


def _is_full(path: Path) -> bool:
    import shutil  # Imported late because it loads every archive format.

    try:
        return shutil.disk_usage(path.parent).free < NO_SPACE
    except OSError:
        return False
