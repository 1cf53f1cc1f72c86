"""A shell in a tmux of its own: what a terminal looks like after a program has left it."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping
from types import TracebackType

import pytest

from tests.patience import PATIENCE_S


class Tmux:
    """One server, one window, one shell with a prompt we know."""

    def __init__(self, environment: Mapping[str, str], *, size: tuple[int, int] = (100, 30)) -> None:
        self._socket = f"ponder-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._environment = {**environment, "PS1": "code=$?. shell$ ", "SHELL": "/bin/sh", "TERM": "xterm-256color"}
        self._size = size

    def __enter__(self) -> Tmux:
        if shutil.which("tmux") is None:
            pytest.skip("no tmux here: what is left of the terminal is NOT tested")
        width, height = self._size
        self.ask(
            *("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height), "-s", "s"),
            *("exec bash --norc --noprofile -i" if shutil.which("bash") else "exec sh -i",),
        )
        self.ask("set-option", "-g", "remain-on-exit", "on")
        self.wait_for("shell$")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        subprocess.run(["tmux", "-L", self._socket, "kill-server"], capture_output=True, check=False)

    def ask(self, *words: str) -> str:
        """Run a tmux command."""
        done = subprocess.run(
            ["tmux", "-L", self._socket, *words],
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
        assert done.returncode == 0, f"tmux {words[0]}: {done.stderr}"
        return done.stdout

    def text(self) -> str:
        """What the screen says."""
        return self.ask("capture-pane", "-p", "-t", "s")

    def flags(self) -> str:
        """Alternate screen, mouse, cursor."""
        return self.ask("display-message", "-p", "-t", "s", "#{alternate_on} #{mouse_any_flag} #{cursor_flag}").strip()

    def line(self, words: str) -> None:
        """Type a line into whatever reads."""
        self.ask("send-keys", "-t", "s", "-l", words)
        self.keys("Enter")

    def keys(self, *names: str) -> None:
        """Press keys by tmux's names."""
        self.ask("send-keys", "-t", "s", *names)

    def run(self, command: list[str]) -> None:
        """Start a program in the shell, whose prompt then says its exit code."""
        self.line("clear; " + shlex.join(command))

    def resize(self, width: int, height: int) -> None:
        """Another size."""
        self.ask("resize-window", "-t", "s", "-x", str(width), "-y", str(height))

    def child(self) -> int:
        """The process the shell runs."""
        shell = int(self.ask("display-message", "-p", "-t", "s", "#{pane_pid}"))
        found: list[int] = []

        def there() -> bool:
            out = subprocess.run(
                ["ps", "-o", "pid=", "--ppid", str(shell)], capture_output=True, text=True, check=False
            )
            found[:] = [int(word) for word in out.stdout.split()]
            return bool(found)

        self.until(there, "a child of the shell")
        return found[-1]

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the program the shell runs."""
        os.kill(self.child(), number)

    def wait_for(self, words: str) -> None:
        """Until the screen says these words."""
        self.until(lambda: words in self.text(), f"«{words}»")

    def until(self, holds: Callable[[], bool], what: str, patience: float = PATIENCE_S) -> None:
        """Look again and again, with a deadline."""
        deadline = time.monotonic() + patience
        while not holds():
            if time.monotonic() > deadline:
                raise AssertionError(f"{what} never came to be; the screen says:\n{self.text()}")
            # Asking costs a process, so this does not spin; nothing depends on how long it is.
            time.sleep(0.03)
