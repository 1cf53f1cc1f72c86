"""Runs programs that print a key or a login, without the terminal, and ends those that do not end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO

from tui.domain.format_numbers import count

MOST_BYTES = 64 * 1024
LEFT_S = 0.2
"""Time for the children of a program that ended, before they are ended."""
CLOSE_S = 1.0
"""Least time for reading what is left in the pipes of a program that ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramOutput:
    """What a program printed, and how it ended."""

    output: bytes
    errors: bytes
    code: int

    @property
    def is_too_long(self) -> bool:
        """Whether it was killed because it printed without end."""
        return max(len(self.output), len(self.errors)) > MOST_BYTES


class Programs:
    """The programs that run now. ``stop`` ends them, so that none delays the end of ponder."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[subprocess.Popen[bytes], str] = {}
        self._stopped = False

    def run(
        self, words: Sequence[str], limit_s: float, is_given_up: Callable[[], bool] = lambda: False
    ) -> ProgramOutput:
        """Run a program to its end; raises TimeoutError, or what starting it raises. Blocking.

        It gets neither a shell nor the terminal, which belongs to the screen.
        """
        process = self._start(words)
        if is_given_up():  # before ``end`` could see it
            _kill(process)
        try:
            output, errors = _communicate(process, limit_s)
        except subprocess.TimeoutExpired:
            _kill(process)
            process.wait()
            raise TimeoutError(f"`{words[0]}` did not end within {count(round(limit_s), 'second')}") from None
        finally:
            with self._lock:
                self._running.pop(process, None)
        return ProgramOutput(output=output, errors=errors, code=process.returncode)

    def end(self) -> tuple[str, ...]:
        """End the running programs; returns their names."""
        with self._lock:
            running = dict(self._running)
        for process in running:
            _kill(process)
        return tuple(running.values())

    def stop(self) -> None:
        """End the running programs; later ones do not start."""
        with self._lock:
            self._stopped = True
        self.end()

    def _start(self, words: Sequence[str]) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._stopped:
                raise ValueError("the program ends")
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            self._running[process] = words[0]
            return process


def _communicate(process: subprocess.Popen[bytes], limit_s: float) -> tuple[bytes, bytes]:
    """What it wrote to stdout and stderr until it ended; raises TimeoutExpired.

    It is killed when it writes without end, and its children end with it: one of them may hold the pipes for ever.
    """
    assert process.stdout is not None
    assert process.stderr is not None
    streams = (process.stdout, process.stderr)
    read: dict[IO[bytes], bytes] = {}

    def read_all(stream: IO[bytes]) -> None:
        read[stream] = stream.read(MOST_BYTES + 1)
        if len(read[stream]) > MOST_BYTES:
            _kill(process)
        stream.close()

    end = time.monotonic() + limit_s
    readers = [threading.Thread(target=read_all, args=(stream,), name="key command", daemon=True) for stream in streams]
    for reader in readers:
        reader.start()
    process.wait(limit_s)
    for reader in readers:  # a part of a pipeline may be a moment behind
        reader.join(LEFT_S / len(readers))
    _kill(process)
    for reader in readers:
        reader.join(max(CLOSE_S, end - time.monotonic()))
    if any(reader.is_alive() for reader in readers):
        raise subprocess.TimeoutExpired(process.args, limit_s)
    return read[process.stdout], read[process.stderr]


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the program and what it started: a child could keep the pipe open."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
