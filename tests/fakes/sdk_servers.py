"""Starts of MCP servers by the official SDK without its import, which is most of the time of such a test.

One process per test worker has imported the SDK, and forks for each server. What is run as the server is a small
program that hands over its streams, arguments, environment and folder, and lives as long as the forked server does.
Servers whose process itself is tested are started as usual; so are all where there is no Linux.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import runpy
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

LENGTH = struct.Struct("!q")
ROOT = Path(__file__).resolve().parents[2]

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
    address = f"ponder-sdk-servers-{os.getpid()}"
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.fakes.sdk_servers", address],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.stdout.close()
    atexit.register(process.wait)
    atexit.register(process.stdin.close)
    return address


# In the process that forks


def main(address: str) -> None:
    """Fork for each connection, until the input is closed. In a forked process, be the server."""
    import mcp.server.mcpserver  # noqa: F401

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them: the connection tells their end
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("\0" + address)
        listener.listen(64)
        print("ready", flush=True)
        while True:
            ready, _, _ = select.select([listener, sys.stdin], [], [])
            if sys.stdin in ready:
                return
            connection, _ = listener.accept()
            if not os.fork():
                listener.close()
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
    main(sys.argv[1])
