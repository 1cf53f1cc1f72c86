"""Keeps the index of the write-ahead log usable if another program truncates its file.

SQLite maps the ``-shm`` file into memory, and reading a mapping beyond the end of its file is SIGBUS: the process dies
without an exception. SQLite can only do without the file where one process alone uses the database. So before each
transaction a truncated file is zeroed and extended: SQLite then sees an index without a header and makes a new one
from the log, where everything acknowledged is. Extended without zeroing, it would hide what the lost part listed.

Nobody may be in a transaction meanwhile, so all of SQLite's own locks are taken for a moment. Only Linux has locks that
two threads of a process do not share.
"""

from __future__ import annotations

import os
import struct
import threading
import time
from contextlib import suppress
from pathlib import Path

REGION = 32 << 10
"""Bytes: SQLite extends the file by this much."""
FIRST_LOCK, LOCKS = 120, 8
"""The bytes of the file that SQLite locks."""
WAIT_S, EVERY_S = 5.0, 0.005


class SharedIndex:
    """The ``-shm`` file of one database, in one process."""

    def __init__(self, database: Path) -> None:
        self._path = database.with_name(database.name + "-shm")
        self._size = 0
        """The size up to which SQLite may have mapped the file."""

    def check(self) -> None:
        """Before a transaction: restore the size. One system call if nothing happened."""
        if self._is_short():
            with suppress(OSError):
                self._restore()

    def _is_short(self) -> bool:
        try:
            size = self._path.stat().st_size
        except OSError:  # removed: what is mapped stays
            self._size = 0
            return False
        self._size = max(self._size, size)
        return size < self._size or size % REGION != 0

    def _restore(self) -> None:
        # Never closed: that would release the locks of this process's connections, too.
        handle = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
        if not _lock(handle):
            return
        if self._is_short():  # otherwise another window has restored it, and may be using it
            os.ftruncate(handle, 0)
            os.ftruncate(handle, -(-self._size // REGION) * REGION)
        _unlock(handle)


def _lock(handle: int) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows
        return False
    if not hasattr(fcntl, "F_OFD_SETLK"):
        return False
    until = time.monotonic() + WAIT_S
    while True:
        try:
            fcntl.fcntl(handle, fcntl.F_OFD_SETLK, _range(fcntl.F_WRLCK))
        except BlockingIOError:
            if time.monotonic() > until:
                return False
            threading.Event().wait(EVERY_S)
        else:
            return True


def _unlock(handle: int) -> None:
    import fcntl

    fcntl.fcntl(handle, fcntl.F_OFD_SETLK, _range(fcntl.F_UNLCK))


def _range(kind: int) -> bytes:
    """The lock as ``struct flock``."""
    return struct.pack("hhqqi", kind, os.SEEK_SET, FIRST_LOCK, LOCKS, 0)
