"""Runs ponder as if on Windows: ``python -m tests.windows ARGUMENTS``. There is no Windows to test on.

Modules, functions and signals that only Unix has are removed, and the system's names are Windows's. What other packages
import for Unix was imported before: only our own code is tested.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import importlib.util
import io
import json
import os
import pathlib
import pkgutil
import select
import signal
import sys
import types
from collections.abc import Mapping, Sequence
from typing import Any

BEFORE = (
    "acp", "asyncio", "concurrent.futures.thread", "ctypes", "getpass", "httpx", "jsonschema", "keyring",
    "logging.handlers", "markdown_it", "mcp.client.stdio", "multiprocessing", "orjson", "platform", "platformdirs",
    "pydantic", "pygments.lexers", "rich.console", "selectors", "shutil", "sqlite3", "ssl", "subprocess",
    "tempfile", "textual.app", "textual.drivers.headless_driver", "textual.drivers.linux_driver", "textual.widgets",
    "tomli_w", "urllib.request", "uuid", "webbrowser",
)  # fmt: skip
MODULES = ("fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty")
FUNCTIONS = {
    os: (
        "chown", "ctermid", "fchmod", "fchown", "fork", "forkpty", "getegid", "geteuid", "getgid", "getloadavg",
        "getpgid", "getpgrp", "getuid", "killpg", "mkfifo", "nice", "openpty", "posix_spawn", "pread", "pwrite",
        "sched_getaffinity", "set_blocking", "setpgid", "setsid", "statvfs", "sync", "tcgetpgrp", "ttyname", "uname",
        "wait", "wait3", "wait4", "waitid", "O_CLOEXEC", "O_DIRECTORY", "O_NOCTTY", "O_NOFOLLOW", "O_NONBLOCK",
        "O_PATH", "WIFSIGNALED", "WNOHANG", "WTERMSIG",
    ),
    select: ("epoll", "poll"),
    signal: (
        "ITIMER_REAL", "SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGSTOP", "SIGUSR1", "SIGUSR2",
        "SIGXFSZ", "alarm", "pthread_sigmask", "setitimer",
    ),
}  # fmt: skip
ONLY_UNIX = ("tui.tools.sandbox.child", "tui.ui.terminal.driver")
"""Modules that Windows never imports: the script within the sandbox, and our driver (Textual has one for Windows)."""


def become_windows() -> None:
    """From now on this process has what Windows has. It cannot be undone."""
    for name in BEFORE:
        if importlib.util.find_spec(name.partition(".")[0]) is not None:  # the package of an extra may be missing
            importlib.import_module(name)
    asyncio.new_event_loop().close()  # from Python 3.14 on, the first one decides by the system which loop to use
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]  # as Python marks what cannot be imported
    for module, names in FUNCTIONS.items():
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    if hasattr(os, "process_cpu_count"):  # from Python 3.13 on; here it asks for the affinity
        os.process_cpu_count = os.cpu_count
    sys.modules["msvcrt"] = _msvcrt()
    os.supports_dir_fd.clear()
    opened = os.open

    def open_file(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if dir_fd is not None:
            raise NotImplementedError("dir_fd unavailable on this platform")
        if pathlib.Path(path).is_dir():
            raise PermissionError(13, "Permission denied", path)
        return opened(path, flags, mode)

    os.open = open_file  # type: ignore[assignment]  # fewer kinds of paths
    pathlib.WindowsPath = pathlib.PosixPath  # type: ignore[misc, assignment]  # the paths stay those of this machine
    sys.platform = "win32"
    os.name = "nt"


def _msvcrt() -> types.ModuleType:
    module = types.ModuleType("msvcrt")
    module.__dict__.update(LK_LOCK=1, LK_NBLCK=2, LK_UNLCK=0, locking=lambda *_: None)
    return module


def import_all() -> list[str]:
    """Import all modules of ponder; returns those that cannot be imported, with the reason."""
    import tui

    failed = []
    for module in pkgutil.walk_packages(tui.__path__, "tui."):
        if module.name in ONLY_UNIX or module.name.endswith("__main__"):
            continue
        try:
            importlib.import_module(module.name)
        except (ImportError, AttributeError, NotImplementedError) as error:
            if isinstance(error, ModuleNotFoundError) and error.name in BEFORE:
                continue
            failed.append(f"{module.name}: {error}")
    return failed


async def call_tools() -> None:
    """Print the names of the tools that are offered, and what a model gets that calls one of the others."""
    from tui.domain.blocks import TextBlock, ToolCallBlock
    from tui.domain.tool_run import ToolRun
    from tui.tools.lazy_toolbox import LazyToolbox
    from tui.tools.missing_here import missing_tools
    from tui.tools.toolbox import ToolEnvironment, build_toolbox

    async def no(*_: object) -> str:
        return "no"

    here = pathlib.Path.cwd()
    environment = ToolEnvironment(folder=here, home=here, environment={}, permissions_file=here / "permissions.toml")
    toolbox = LazyToolbox(lambda: build_toolbox(environment))
    offered = [schema.name for schema in toolbox.schemas()]
    run = ToolRun(ask=no, settle=lambda call: None, progress=lambda text: None, tainted=False)
    for name in sorted(missing_tools()):
        result = await toolbox.run(ToolCallBlock(call_id="1", name=name, arguments="{}"), run)
        offered += [schema.name for schema in toolbox.schemas() if schema.name not in offered]
        print(*(part.text for part in result.content if isinstance(part, TextBlock)))
    print(*offered)


def run_all(commands: Sequence[Mapping[str, Any]]) -> list[dict[str, object]]:
    """Run command lines one after the other, with what each reads; returns what each wrote and its exit code."""
    from tui.cli.main import main as ponder

    def stream(content: bytes = b"") -> io.TextIOWrapper:
        return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8")

    def written(text: io.TextIOWrapper) -> str:
        text.flush()
        assert isinstance(text.buffer, io.BytesIO)
        return text.buffer.getvalue().decode()

    done: list[dict[str, object]] = []
    for command in commands:
        out, errors = stream(), stream()
        sys.stdin = stream(command.get("said", "").encode())
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            code = ponder(command["words"])
        done.append({"code": code, "out": written(out), "errors": written(errors)})
    return done


def main() -> int:
    """Import everything, use tools, run command lines that stdin names, or run one that opens the screen."""
    become_windows()
    match sys.argv[1:]:
        case ["import-all"]:
            print("\n".join(import_all()))
        case ["call-tools"]:
            asyncio.run(call_tools())
        case ["run-all"]:
            print(json.dumps(run_all(json.loads(sys.stdin.read()))))
        case words:
            from tui.cli.main import main as ponder

            return ponder(words)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
