"""The folder through which the windows of ponder share the server of one model.

``state.json`` is written by the keeper only. ``alive`` is locked by the keeper for as long as it runs. ``holders`` has
a file for each process that uses the server, locked by that process; its time is that of the last use, and it is not
empty while a request runs. Locks end with their process, however it ends. ``output.log`` is what the server writes.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, field
from enum import StrEnum
from pathlib import Path

from tui.domain.fast_dataclass import dataclass

_RUNS = b"."
"""Content of the file of a process whose request runs."""
LONGEST_TAIL = 20_000
"""Bytes at the end of the log that are read."""


class Stage(StrEnum):
    """How far a server is."""

    LOADING = "loading"
    READY = "ready"
    ENDED = "ended"
    """Nobody needed it any longer."""
    FAILED = "failed"
    """It could not load the model, or crashed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerState:
    """What the keeper says about its server."""

    stage: Stage
    model: str = ""
    """Path of the model's file."""
    keeper: int = 0
    """Process id."""
    process: int = 0
    """Process id of the server."""
    share: float | None = None
    """How much of the model is loaded; None if unknown."""
    port: int = 0
    key: str = ""
    """What requests must carry. Made anew for each server."""
    props: Mapping[str, object] = field(default_factory=dict)
    """What the server says about the model."""
    was_ready: bool = False
    sentence: str = ""
    """Why it failed."""
    advice: str = ""

    @property
    def base_url(self) -> str:
        """The address for requests."""
        return f"http://127.0.0.1:{self.port}/v1"


def try_lock(handle: int) -> bool:
    """Lock an open file unless another process has."""
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class Holder:
    """The claim of this process on a server. Without claims the keeper ends it."""

    def __init__(self, path: Path) -> None:
        self._handle = os.open(path.with_name(f".{path.name}"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try_lock(self._handle)
        self._path = path
        path.with_name(f".{path.name}").rename(path)  # only now can the keeper see it

    def use(self, *, runs: bool) -> None:
        """Record a use; ``runs``: a request runs, so that the server is needed however long it takes."""
        if self._handle >= 0:
            os.truncate(self._handle, len(_RUNS) if runs else 0)
            os.utime(self._handle)

    def release(self) -> None:
        """Give up the claim."""
        if self._handle >= 0:
            self._path.unlink(missing_ok=True)
            os.close(self._handle)
            self._handle = -1


class ServerFolder:
    """The files of one server."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.log = path / "output.log"
        self._state = path / "state.json"
        self._alive = path / "alive"
        self._holders = path / "holders"

    def create(self) -> None:
        """Create the folder, readable only for the user."""
        for folder in (self.path.parent, self.path, self._holders):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def become_keeper(self) -> int | None:
        """Return a descriptor that holds the keeper's lock, to be inherited by the keeper; None if there is one."""
        handle = os.open(self._alive, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if try_lock(handle):
            return handle
        os.close(handle)
        return None

    def has_keeper(self) -> bool:
        """Whether a keeper runs."""
        handle = self.become_keeper()
        if handle is not None:
            os.close(handle)
        return handle is None

    def read(self) -> ServerState | None:
        """Return the state; None if there is none yet."""
        try:
            values = json.loads(self._state.read_bytes())
            return ServerState(**{**values, "stage": Stage(values["stage"])})
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def write(self, state: ServerState) -> None:
        """Replace the state."""
        fresh = self._state.with_suffix(".new")
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(asdict(state), file)
        fresh.replace(self._state)

    def forget_state(self) -> None:
        """Remove the state of an earlier server."""
        self._state.unlink(missing_ok=True)

    def hold(self) -> Holder:
        """Claim the server for this process."""
        import secrets  # loads OpenSSL

        return Holder(self._holders / f"{os.getpid()}-{secrets.token_hex(4)}")

    def last_uses(self) -> list[float]:
        """Return when each process that holds the server used it last, infinite while a request of it runs.

        Claims of ended processes are removed.
        """
        found: list[float] = []
        for path in self._holders.iterdir():
            with suppress(FileNotFoundError):
                handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
                try:
                    if path.name.startswith("."):
                        continue
                    if try_lock(handle):
                        path.unlink()
                    else:
                        status = os.fstat(handle)
                        found.append(math.inf if status.st_size else status.st_mtime)
                finally:
                    os.close(handle)
        return found

    def open_log(self) -> int:
        """Return a descriptor of the empty log."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
        return os.open(self.log, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)

    def log_lines(self) -> list[str]:
        """Return the last lines of the log."""
        try:
            with self.log.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - LONGEST_TAIL))
                return file.read().decode("utf-8", "replace").splitlines()
        except OSError:
            return []

    def shorten_log(self, longest: int) -> None:
        """Empty the log once it is longer."""
        with suppress(OSError):
            if self.log.stat().st_size > longest:
                os.truncate(self.log, 0)
