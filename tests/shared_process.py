"""Processes that serve all workers of a run, because what they import takes long.

The worker that needs one first starts it; it ends when the last worker that has asked for it has ended. Its address is
a name that only this run knows, and it talks only to processes of its own user.
"""

from __future__ import annotations

import atexit
import errno
import os
import select
import socket
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID") or f"{os.getpid()}"
"""Of all workers of a run, or of a run without workers."""
LOADED_S = 120.0
"""Seconds in which a process has imported everything, also on a machine that has much else to do."""
STARTS = 5
"""A process may end between a question and its answer, with the last of the workers it knows of."""
GREETING = b"!"
CREDENTIALS = struct.Struct("3i")


def address_of(module: str) -> str:
    """The name at which the process listens that runs this module."""
    return f"ponder-{module}-{RUN}"


def connect(module: str, environment: Mapping[str, str] | None = None) -> socket.socket:
    """A connection to the process that runs this module; until the end of this one, that one lives."""
    started: list[subprocess.Popen[bytes]] = []
    for _ in range(STARTS):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(LOADED_S)
        try:
            connection.connect("\0" + address_of(module))
            if connection.recv(len(GREETING)):
                connection.settimeout(None)
                atexit.register(_leave, connection, started)
                return connection
        except (ConnectionRefusedError, ConnectionResetError):
            pass
        connection.close()
        started.append(_start(module, environment))
    raise AssertionError(f"python -m {module} ended {STARTS} times before it answered")


def _start(module: str, environment: Mapping[str, str] | None) -> subprocess.Popen[bytes]:
    """Have the process started, if no other worker was faster; either way something listens afterwards."""
    listens, told = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", module, address_of(module), str(told)],
        pass_fds=[told],
        stdin=subprocess.DEVNULL,
        env=environment,
        cwd=ROOT,
        start_new_session=True,
    )
    os.close(told)
    with os.fdopen(listens, "rb") as waited_for:
        waited_for.read()
    return process


def _leave(connection: socket.socket, started: Sequence[subprocess.Popen[bytes]]) -> None:
    connection.close()
    for process in started:
        process.wait(LOADED_S)


# In the process


def listen(address: str) -> socket.socket:
    """A socket at this address. Where another process has it already, this one ends."""
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind("\0" + address)
    except OSError as taken:
        os._exit(0 if taken.errno == errno.EADDRINUSE else 1)
    listener.listen(64)
    return listener


def accept(listener: socket.socket) -> socket.socket | None:
    """The next connection, if it comes from the same user."""
    connection, _ = listener.accept()
    _, user, _ = CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size))
    if user == os.getuid():
        return connection
    connection.close()
    return None


class Workers:
    """The workers that this process serves: it is to end when there was one, and all have gone."""

    def __init__(self, address: str, told: int) -> None:
        self._listener = listen(address)
        self._connections: list[socket.socket] = []
        os.close(told)

    @property
    def sockets(self) -> list[socket.socket]:
        """What may become readable: a worker asks, comes or goes."""
        return [self._listener, *self._connections]

    def take(self, ready: Sequence[object]) -> list[socket.socket]:
        """Greet a worker that is new. Returns those that have asked for something or have gone."""
        if self._listener in ready:
            connection = accept(self._listener)
            if connection is not None:
                connection.sendall(GREETING)
                self._connections.append(connection)
        return [connection for connection in self._connections if connection in ready]

    def let_go(self, connection: socket.socket) -> bool:
        """Forget a worker. Returns whether it was the last."""
        connection.close()
        self._connections.remove(connection)
        return not self._connections and not select.select([self._listener], [], [], 0)[0]
