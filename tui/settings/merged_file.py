"""Small files that several windows change. A background thread merges each change into the current content."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from tui.settings.user_files import make_private_folder, read_user_text, write_atomically

Content = dict[str, object]
Change = Callable[[Content], None]

LOCK_WITHIN_S = 2.0
"""After this time the file is changed without the lock: its holder hangs, and each write is atomic."""
LOCK_RETRY_S = 0.02
CLOSE_WITHIN_S = 3.0
LARGEST_FILE = 64_000_000


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock beside a file. The lock file stays: removing it would let two processes lock two files.

    The package ``filelock`` does the same and takes 22 ms to import.
    """
    make_private_folder(path.parent)
    handle = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    pause = threading.Event()
    try:
        for _ in range(int(LOCK_WITHIN_S / LOCK_RETRY_S)):
            try:
                take_lock(handle)
                break
            except (BlockingIOError, PermissionError):
                pause.wait(LOCK_RETRY_S)
            except OSError:
                break  # the file system does not support locks
        yield
    finally:
        os.close(handle)  # releases the lock


if sys.platform == "win32":

    def take_lock(handle: int) -> None:
        """Lock an open file until it is closed. Raises OSError if another process has locked it."""
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

else:

    def take_lock(handle: int) -> None:
        """Lock an open file until it is closed. Raises OSError if another process has locked it."""
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


class MergedFile:
    """Applies changes to the current content of the file, so that windows do not overwrite each other.

    ``change`` returns at once: a thread that starts with the first change reads, writes and syncs.
    """

    def __init__(self, path: Path | None, parse: Callable[[str], Content], format_: Callable[[Content], str]) -> None:
        self._path = path
        self._parse = parse
        self._format = format_
        self._changes: dict[str, Change] = {}
        self._due = threading.Condition()
        self._urgent = False
        self._closed = False
        self._writer: threading.Thread | None = None

    def read(self) -> Content:
        """The content; a file that cannot be read or parsed counts as empty."""
        try:
            text = read_user_text(self._path, LARGEST_FILE) if self._path is not None else None
            return self._parse(text) if text is not None else {}
        except (OSError, ValueError, RecursionError):
            return {}

    def change(self, key: str, change: Change, *, after_s: float = 0.0) -> None:
        """Merge a change into the file within ``after_s`` seconds; it replaces an earlier change of the same key."""
        if self._path is None:
            return
        with self._due:
            self._changes.pop(key, None)
            self._changes[key] = change
            self._urgent = self._urgent or not after_s
            if self._writer is None and not self._closed:
                writer = threading.Thread(target=self._write_changes, args=(after_s,), daemon=True)
                with contextlib.suppress(RuntimeError):  # no more threads now: the next change or ``close`` writes
                    writer.start()
                    self._writer = writer
            self._due.notify()

    def close(self) -> None:
        """Write pending changes."""
        with self._due:
            self._closed = True
            self._due.notify()
            writer = self._writer
        if writer is not None:
            writer.join(CLOSE_WITHIN_S)
        elif self._changes:
            self._merge()

    def _write_changes(self, patience_s: float) -> None:
        """Write until no change is pending."""
        while True:
            with self._due:
                self._due.wait_for(lambda: self._urgent or self._closed, timeout=patience_s)
                if not self._changes:
                    self._writer = None
                    return
            self._merge()

    def _merge(self) -> None:
        with self._due:
            changes, self._changes, self._urgent = self._changes, {}, False
        assert self._path is not None
        with contextlib.suppress(OSError), locked(self._path):
            content = self.read()
            for change in changes.values():
                change(content)
            write_atomically(self._path, self._format(content))
