"""The whole output of a command, in a file, where the model is told only its two ends."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from dataclasses import dataclass, field
from pathlib import Path

from tui.domain.counting import count

MOST_BYTES = 10 * 1024 * 1024
"""Bytes of one output that are kept; what comes after them is dropped."""
MOST_FILES = 20
"""Older outputs are removed, so that the folder holds 200 MB at most."""


@dataclass(slots=True)
class KeptOutput:
    """Nothing is written before an output is longer than what the model is told anyway."""

    folder: Path | None
    told: int
    """Bytes that need no file."""
    path: Path | None = None
    written: int = 0
    _early: bytearray = field(default_factory=bytearray)
    _handle: int | None = None
    _given_up: bool = False

    def add(self, data: bytes) -> None:
        """More output. A full disk costs the file, never the call."""
        if self.folder is None or self._given_up:
            return
        try:
            if self._handle is None:
                self._early += data
                if len(self._early) <= self.told:
                    return
                self._handle = self._opened(self.folder)
                data = bytes(self._early)
                self._early.clear()
            room = MOST_BYTES - self.written
            self.written += os.write(self._handle, data[:room]) if room > 0 else 0
        except OSError:
            self._given_up = True

    def close(self) -> None:
        """No more comes."""
        self._early.clear()
        if self._handle is not None:
            os.close(self._handle)
            self._handle, self.folder = None, None

    def words(self) -> str:
        """Where it is, for the model; nothing when there is no file."""
        if self.path is None or not self.written:
            return ""
        how_much = (
            f"The first {count(self.written, 'byte')} of it are" if self.written >= MOST_BYTES else "All of it is"
        )
        return f"{how_much} in `{self.path}`: read_file and grep can look there."

    def _opened(self, folder: Path) -> int:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _prune(folder)
        self.path = folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}.txt"
        return os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)


def _prune(folder: Path) -> None:
    """The names begin with the time, so the first are the oldest."""
    outputs = sorted(folder.glob("*.txt"))
    for old in outputs[: max(0, len(outputs) - MOST_FILES + 1)]:
        with contextlib.suppress(OSError):
            old.unlink()
