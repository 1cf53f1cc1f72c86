"""Starts of MCP servers by the official SDK without its import, which is most of the time of such a test.

One process for all test workers has imported the SDK, and forks for each server. What is run as the server is a small
program that hands over its streams, arguments, environment and folder, and lives as long as the forked server does.
Servers whose process itself is tested are started as usual; so are all where there is no Linux.
"""

from __future__ import annotations

import functools
import json
import os
import runpy
import select
import signal
import socket
import struct
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.shared_process import Workers, accept, address_of, connect, listen

LENGTH = struct.Struct("!q")

LAUNCHER = """
import json, os, socket, struct, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect("\\0" + sys.argv[1])
request = {"arguments": sys.argv[2:], "environment": dict(os.environ), "folder": os.getcwd()}
body = json.dumps(request).encode()
socket.send_fds(connection, [struct.pack("!q", len(body))], [0, 1, 2])
connection.sendall(body)
code = connection.recv(1)
sys.exit(code[0] if code else 1)
"""


def sdk_server(file: str, *ways: str) -> tuple[str, list[str]]:
    """The command of a server of ``tests/fakes`` and its arguments."""
    program = str(Path(__file__).parent / file)
    if sys.platform != "linux" or not file.startswith("mcp_"):  # the plain one needs no import
        return sys.executable, [program, *ways]
    return sys.executable, ["-I", "-S", "-c", LAUNCHER, _address(), program, *ways]


@functools.cache
def _address() -> str:
    """Where the process listens that has imported the SDK."""
    connect("tests.fakes.sdk_servers")
    return _of_launchers(address_of("tests.fakes.sdk_servers"))


def _of_launchers(address: str) -> str:
    return f"{address}-launchers"


# In the process that forks


def main(address: str, told: int) -> None:
    """Fork for each launcher, until no worker is left. In a forked process, be the server."""
    workers = Workers(address, told)
    with listen(_of_launchers(address)) as launchers:
        import mcp.server.mcpserver  # noqa: F401

        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them: the connection tells their end
        while True:
            ready, _, _ = select.select([launchers, *workers.sockets], [], [])
            if any(workers.let_go(worker) for worker in workers.take(ready)):  # they ask for nothing
                return
            connection = accept(launchers) if launchers in ready else None
            if connection is None:
                continue
            if not os.fork():
                for kept in (launchers, *workers.sockets):
                    kept.close()
                serve(connection)
            connection.close()


def serve(connection: socket.socket) -> None:
    """Run the program that the launcher names, with its streams."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    head, descriptors, _, _ = socket.recv_fds(connection, LENGTH.size, 3)
    body = b""
    while len(body) < LENGTH.unpack(head)[0]:
        body += connection.recv(LENGTH.unpack(head)[0] - len(body))
    request: dict[str, Any] = json.loads(body)
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = request["arguments"]
    threading.Thread(target=_end_with_launcher, args=(connection,), daemon=True).start()
    connection.sendall(bytes([_exit_code(sys.argv)]))
    os._exit(0)


def _end_with_launcher(connection: socket.socket) -> None:
    connection.recv(1)
    os._exit(1)


def _exit_code(arguments: Sequence[str]) -> int:
    try:
        runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
