"""Starts of ``python -m tui`` without its imports: one process for all test workers has loaded everything, and forks.

What loading itself does is not tested this way. Only command lines of ``python -m tui`` are forked, and only if their
environment sets nothing that is read while the interpreter or a module loads; ``forkable`` decides. Everything else is
started as usual.

A forked process has the arguments, environment, folder, descriptors, session and terminal that a started one would
have, and ends as the interpreter ends. It is a child of the server, which tells its exit status.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import functools
import gc
import importlib
import inspect
import io
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TextIO

from tests.program_modules import program_modules
from tests.shared_process import Workers, connect

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = [sys.executable, "-m", "tui"]
READ_WHILE_LOADING = ("PYTHON", "TEXTUAL", "LANG", "LC_", "LD_", "MALLOC_", "TZ", "OPENSSL", "SSL", "RICH", "_RICH")
"""Prefixes of variables that are read while the interpreter or a module loads."""
OF_THE_SERVER = {"LANG": "C.UTF-8", "PYTHONPATH": str(ROOT)}
NEVER_READ_WHILE_LOADING = {"PYTHON_KEYRING_BACKEND", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"}
USED_BY_THE_SCREEN = (
    "concurrent.futures.thread",
    "sqlite3",
    "textual.drivers.linux_driver",
    "textual.widgets._input",
    "textual.widgets._static",
)
DESCRIPTORS = 4
"""Of a request: where to tell the end, and the three standard streams."""
REPLY_S = 60.0
NUMBER = struct.Struct("!q")


def forkable(command: Sequence[str], environment: Mapping[str, str] | None) -> bool:
    """Whether a fork of the loaded program is the same as a start of this command line."""
    values = os.environ if environment is None else environment
    read = {name: value for name, value in values.items() if name.startswith(READ_WHILE_LOADING)}
    return (
        sys.platform == "linux"
        and [*command[:3]] == PROGRAM
        and {name: read[name] for name in read.keys() - NEVER_READ_WHILE_LOADING} == OF_THE_SERVER
    )


def surroundings(**more: str) -> dict[str, str]:
    """The environment of this process, as far as a forked program can have it too, and what is added."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(READ_WHILE_LOADING)}
    kept |= {name: os.environ[name] for name in NEVER_READ_WHILE_LOADING & os.environ.keys()}
    return {**kept, **OF_THE_SERVER, **more}


def start(command: Sequence[str], **named: Any) -> subprocess.Popen[Any]:
    """As ``subprocess.Popen``, without shells and functions to run before; forked if that is the same."""
    return (Forked if forkable(command, named.get("env")) else subprocess.Popen)(command, **named)


def run(
    command: Sequence[str], *, said: Any = None, timeout: float = REPLY_S, check: bool = False, **named: Any
) -> subprocess.CompletedProcess[Any]:
    """As ``subprocess.run`` with ``capture_output``, for streams that are not given; ``said`` is its ``input``."""
    named = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **named}
    with start(command, **named) as process:
        try:
            out, err = process.communicate(said, timeout=timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(command, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done


class Forked(subprocess.Popen[Any]):
    """A process that the server forked."""

    def _execute_child(self, args: Sequence[str], *rest: Any) -> None:
        given = dict(zip(_of_a_start(), rest, strict=True))
        streams = [given["p2cread"], given["c2pwrite"], given["errwrite"]]
        environment = os.environ if given["env"] is None else given["env"]
        request = {
            "arguments": list(args[len(PROGRAM) :]),
            "environment": dict(environment),
            "folder": os.fspath(given["cwd"] or Path.cwd()),
            "session": bool(given["start_new_session"]),
        }
        self._end, told = socket.socketpair()
        self._end.settimeout(REPLY_S)
        with told:
            inherited = [own if own != -1 else number for number, own in enumerate(streams)]
            _server().ask(request, [told.fileno(), *inherited])
        self.pid = _number(self._end)
        self._child_created = True
        self._close_pipe_fds(  # type: ignore[attr-defined]
            *(given[name] for name in ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite"))
        )

    def _internal_poll(self, *_: object, **__: object) -> int | None:
        if self.returncode is None and select.select([self._end], [], [], 0)[0]:
            self._take_end()
        return self.returncode

    def _wait(self, timeout: float | None) -> int:
        if self.returncode is None:
            if not select.select([self._end], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            self._take_end()
        return self.returncode

    def _take_end(self) -> None:
        self.returncode = _number(self._end)
        self._end.close()


@functools.cache
def _of_a_start() -> list[str]:
    """The names of what ``Popen`` passes on to start a process, without ``self`` and ``args``."""
    return list(inspect.signature(subprocess.Popen._execute_child).parameters)[2:]  # type: ignore[attr-defined]


def _number(connection: socket.socket) -> int:
    data = b""
    while len(data) < NUMBER.size:
        more = connection.recv(NUMBER.size - len(data))
        if not more:
            raise EOFError("the fork server is gone")
        data += more
    return int(NUMBER.unpack(data)[0])


class Server:
    """The worker's side of the process that forks."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        environment = {name: value for name, value in os.environ.items() if not name.startswith(READ_WHILE_LOADING)}
        kept = {name: value for name, value in os.environ.items() if name in NEVER_READ_WHILE_LOADING}
        self._connection = connect("tests.prefork", {**environment, **kept, **OF_THE_SERVER})

    def ask(self, request: Mapping[str, object], descriptors: Sequence[int]) -> None:
        """Have a process forked; the first descriptor hears of it."""
        body = json.dumps(request).encode()
        with self._turn:
            socket.send_fds(self._connection, [NUMBER.pack(len(body))], list(descriptors))
            self._connection.sendall(body)


@functools.cache
def _server() -> Server:
    return Server()


# In the server


def load() -> None:
    """Import the program, except what only other processes and no start of a screen would load."""
    os.environ["TEXTUAL_FPS"] = importlib.import_module("tui.bootstrap.screen").PAINTS_A_SECOND
    list(program_modules())
    for name in USED_BY_THE_SCREEN:
        importlib.import_module(name)
    del os.environ["TEXTUAL_FPS"]


def serve(workers: Workers) -> dict[str, Any] | None:
    """Fork for every request. Returns a request in the process that is to fulfil it, and ``None`` at the end."""
    woken, waker = socket.socketpair()
    waker.setblocking(False)
    signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    running: dict[int, socket.socket] = {}
    while True:
        ready, _, _ = select.select([woken, *workers.sockets], [], [])
        if woken in ready:
            woken.recv(4096)
            _tell_ends(running)
        for worker in workers.take(ready):
            head, descriptors, _, _ = socket.recv_fds(worker, NUMBER.size, DESCRIPTORS)
            if not head:
                if workers.let_go(worker):
                    return None
                continue
            body = b""
            while len(body) < NUMBER.unpack(head)[0]:
                body += worker.recv(NUMBER.unpack(head)[0] - len(body))
            told = socket.socket(fileno=descriptors[0])
            process = os.fork()
            if not process:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for number, descriptor in enumerate(descriptors[1:]):
                    os.dup2(descriptor, number)
                for kept in (told, woken, waker, *workers.sockets, *running.values()):
                    kept.detach()
                os.closerange(3, max(int(each.name) for each in Path("/proc/self/fd").iterdir()) + 1)
                request: dict[str, Any] = json.loads(body)
                return request
            for descriptor in descriptors[1:]:
                os.close(descriptor)
            running[process] = told
            told.sendall(NUMBER.pack(process))


def _tell_ends(running: dict[int, socket.socket]) -> None:
    while running:
        process, status = os.waitpid(-1, os.WNOHANG)
        if not process:
            return
        with running.pop(process) as told, contextlib.suppress(OSError):  # nobody may want to know
            told.sendall(NUMBER.pack(os.waitstatus_to_exitcode(status)))


def heed_signals() -> None:
    """Take signals as under a login shell; what a script starts in its background inherits that they are ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def become(request: Mapping[str, Any]) -> None:
    """Have everything of this process be as if it had been started."""
    heed_signals()
    if request["session"]:
        os.setsid()
        with contextlib.suppress(OSError):
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = [str(ROOT / "tui" / "__main__.py"), *request["arguments"]]
    sys.path[0] = str(Path.cwd())
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = _stream(number, getattr(sys, name))
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _stream(number: int, as_loaded: TextIO) -> TextIO:
    return io.TextIOWrapper(
        open(number, "wb" if number else "rb", closefd=False),
        encoding=as_loaded.encoding,
        errors=as_loaded.errors,
        line_buffering=number == 2 or os.isatty(number),
    )


def end(code: object) -> NoReturn:
    """End as the interpreter does, without freeing what is loaded: each page that this touches would be copied."""
    if code is not None and not isinstance(code, int):
        sys.exit(code)  # type: ignore[arg-type]  # the interpreter prints it
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads, as the interpreter does
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        sys.exit(code)  # the interpreter tells of it
    os._exit(code or 0)


def main() -> NoReturn:
    """Serve; in a forked process, be the program."""
    workers = Workers(sys.argv[1], int(sys.argv[2]))
    load()
    assert threading.active_count() == 1
    gc.collect()
    gc.freeze()
    request = serve(workers)
    if request is None:
        os._exit(0)
    become(request)
    from tui.cli.main import main as program

    try:
        code: object = program()
    except SystemExit as ended:
        code = ended.code
    end(code)


if __name__ == "__main__":
    main()
