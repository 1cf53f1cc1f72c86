"""Gives the terminal back if ponder is killed (``kill -9``, no memory left), when nothing in the process can.

A small shell waits for the end of its input, which ponder alone holds. A parent of ponder could do the same, but it
would stand between ponder and the shell for every signal and for ``ctrl+z``.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading

from tui.ui.terminal.shutdown import RESTORE

TOLD = "ponder was killed. What was saved is there: `ponder -c` continues the last session."
_ON, _OFF = b"on\n", b"off\n"
_GUARD = """
trap '' HUP INT QUIT TERM
cd /
while read -r word; do
    state=$word
    [ "$state" = on ] && modes=$(stty -g <&1)
done
[ "$state" = on ] || exit
printf '%s\\r\\n%s\\r\\n' "$1" "$2"
[ "$(stty -g <&1)" != "$modes" ] || stty sane <&1
"""
"""Shells that restore the modes of a terminal themselves have done so by then: their modes are left as they are."""


class TerminalGuard:
    """The shell beside one program. The methods may be called from any thread, and from a signal handler."""

    def __init__(self, terminal: int = 0) -> None:
        self._terminal = terminal
        self._pipe: int | None = None
        self._state = _ON

    def start(self) -> None:
        """Start it in a thread of its own. Call this once the screen is drawn."""
        if sys.platform != "win32" and os.isatty(self._terminal):
            threading.Thread(target=self._start, name="terminal guard", daemon=True).start()

    def taken(self) -> None:
        """The terminal is ponder's."""
        self._say(_ON)

    def given_back(self) -> None:
        """The terminal is not ponder's: the program ends, is stopped, or has started another one."""
        self._say(_OFF)

    def _say(self, state: bytes) -> None:
        self._state = state
        if self._pipe is not None:
            with contextlib.suppress(OSError):
                os.write(self._pipe, state)

    def _start(self) -> None:
        with contextlib.suppress(OSError, NotImplementedError):
            reading, writing = os.pipe()
            terminal = os.open(os.ttyname(self._terminal), os.O_RDWR | os.O_NOCTTY)
            try:
                os.posix_spawn(
                    "/bin/sh",
                    ("sh", "-c", _GUARD, "sh", RESTORE.decode(), TOLD),
                    {"PATH": os.defpath},
                    file_actions=[
                        (os.POSIX_SPAWN_DUP2, reading, 0),
                        (os.POSIX_SPAWN_DUP2, terminal, 1),
                        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
                    ],
                    setsid=True,  # it outlives a signal to the whole group
                )
            finally:
                os.close(reading)
                os.close(terminal)
            self._pipe = writing
            self._say(self._state)
