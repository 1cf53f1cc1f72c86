"""Runs the command that prints a provider's key: ``key_command`` in ``config.toml``, for example ``op read …``."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from typing import IO

from tui.catalog.facts import ProviderFacts
from tui.domain.errors import ErrorKind, ProviderError
from tui.providers.configured_secrets import learn_variables
from tui.providers.redaction import Redactor

LIMIT_S = 60.0
"""A password manager may wait for a fingerprint."""
MOST_BYTES = 64 * 1024
MOST_REASON = 200


class KeyCommands:
    """The commands that run now. ``stop`` ends them, so that none delays the end of the program."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    def output(self, provider: ProviderFacts) -> str:
        """Return the first line that the command prints; raises ProviderError(NO_KEY). Blocking.

        The command gets neither a shell nor the terminal, which belongs to the screen.
        """
        try:
            process = self._start(provider)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise _failed(provider, f"cannot be started: {reason}.") from None
        try:
            output, errors = _communicate(process)
        except subprocess.TimeoutExpired:
            _kill(process)
            process.wait()
            raise _failed(provider, f"did not end within {LIMIT_S:.0f} seconds.") from None
        finally:
            with self._lock:
                self._running.discard(process)
        if len(output) > MOST_BYTES or len(errors) > MOST_BYTES:
            raise _failed(provider, f"printed more than {MOST_BYTES // 1024} KB.")
        if process.returncode:
            raise _failed(provider, f"failed with {_how_it_ended(process.returncode)}{_reason(errors)}.")
        first = output.decode("utf-8", "replace").partition("\n")[0].strip()
        if not first:
            raise _failed(provider, "printed no key.")
        return first

    def stop(self) -> None:
        """End the running commands; later ones end at once."""
        with self._lock:
            self._stopped = True
            running = tuple(self._running)
        for process in running:
            _kill(process)

    def _start(self, provider: ProviderFacts) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._stopped:
                raise ValueError("the program ends")
            process = subprocess.Popen(
                provider.key_command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            self._running.add(process)
            return process


def open_key_commands(redactor: Redactor, environment: Mapping[str, str]) -> KeyCommands:
    """Return the commands. They get the environment and say why they fail: its secrets are known first."""
    learn_variables(redactor, environment)
    return KeyCommands()


def _communicate(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """What it wrote to stdout and stderr; raises TimeoutExpired. It is killed when it writes without end."""
    assert process.stdout is not None
    assert process.stderr is not None
    streams = (process.stdout, process.stderr)
    read: dict[IO[bytes], bytes] = {}

    def read_all(stream: IO[bytes]) -> None:
        read[stream] = stream.read(MOST_BYTES + 1)
        if len(read[stream]) > MOST_BYTES:
            _kill(process)
        stream.close()

    end = time.monotonic() + LIMIT_S
    readers = [threading.Thread(target=read_all, args=(stream,), name="key command", daemon=True) for stream in streams]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join(max(0.0, end - time.monotonic()))
    if any(reader.is_alive() for reader in readers):
        raise subprocess.TimeoutExpired(process.args, LIMIT_S)
    process.wait(max(0.1, end - time.monotonic()))
    return read[process.stdout], read[process.stderr]


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the command and what it started: a child could keep the pipe open."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _how_it_ended(code: int) -> str:
    return f"exit code {code}" if code > 0 else f"signal {-code}"


def _reason(errors: bytes) -> str:
    """The last line of what it wrote to stderr, shortened."""
    lines = [line.strip() for line in errors.decode("utf-8", "replace").splitlines() if line.strip()]
    return f": {lines[-1][:MOST_REASON].rstrip('.')}" if lines else ""


def _failed(provider: ProviderFacts, what: str) -> ProviderError:
    return ProviderError(
        ErrorKind.NO_KEY,
        f"The command for the key of {provider.title}, `{shlex.join(provider.key_command)}`, {what}",
        advice=f"Correct `key_command` of `[providers.{provider.id}]` in `config.toml`, or run the command by hand.",
    )
