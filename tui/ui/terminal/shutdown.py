"""Ends the program on signals and when the terminal is gone: in order if there is time, else by force.

Textual restores the terminal only when its own loop ends normally. That loop blocks while a terminal does not read, and
its output thread dies with the terminal, so nothing here waits for it: a second request, or more than ``GRACE_S``,
restores the terminal and ends the process.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType, TracebackType
from typing import NoReturn

if sys.platform != "win32":
    import termios

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
GRACE_S = 1.0
"""Time for an orderly end before the engine is stopped from outside."""
LAST_S = 0.7
"""Time for stopping the engine from outside before the process ends."""
ATTEMPTS, ATTEMPT_EVERY_S = 80, 0.002
"""Attempts to write while another thread is writing, and their interval; with the two above less than two seconds."""
GONE = 129
"""The exit code if the terminal is gone: that of SIGHUP."""

RESTORE = (
    b"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1016l\x1b[?2004l\x1b[?1004l\x1b[?2048l"
    b"\x1b[?7h\x1b[<u\x1b[0m\x1b]22;default\x07\x1b[?1049l\x1b[?25h"
)
"""Mouse, paste, focus and resize reports off, wrapping on, kitty's keyboard off, pointer, main screen, cursor."""


class Shutdown:
    """Ends one program. Entered before anything changes the terminal."""

    def __init__(self, terminal: int = 0, *, signals: Sequence[str] = SIGNALS, restore: bytes = RESTORE) -> None:
        """``restore`` is written to the terminal before the process ends by force."""
        self.last: Callable[[], object] = lambda: None
        """Stops the engine from outside."""
        self._terminal = terminal
        self._leave: Callable[[int], object] | None = None
        self._code: int | None = None
        self._is_late = False
        self._signals = itertools.count()
        self._asked = os.pipe()
        """A byte in this pipe means that the end was requested."""
        self._modes = _modes_of(terminal)
        self._handled = signals
        self._restore = restore
        self.gives_back: Callable[[], object] = lambda: None
        """Called before the terminal is restored; it must not wait for anything."""

    def __enter__(self) -> Shutdown:
        for name in self._handled:
            number = getattr(signal, name, None)
            # A parent that ignores HUP (nohup) means it.
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._signalled)
        # Started now: a signal handler must not start a thread, because the interrupted code may hold the lock for
        # that.
        threading.Thread(target=self._watch, name="shutdown", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave = None

    def register_leave(self, leave: Callable[[int], object]) -> None:
        """Register the orderly end; ``leave`` is called with the exit code, from any thread."""
        self._leave = leave
        if self._code is not None:  # a signal came before
            leave(self._code)

    def is_requested(self) -> bool:
        """Whether the program is to end."""
        return self._code is not None

    def leave_if_signalled(self) -> None:
        """Between two steps of the start: end it if a signal came."""
        if self._code is not None:
            raise SystemExit(self._code)

    def finish(self) -> None:
        """End the process with the requested exit code if the orderly end came too late.

        By then the engine is being stopped from outside and the terminal is non-blocking for a moment, so closing the
        session or flushing the output can fail. That must not decide the exit code.
        """
        if self._is_late:
            self._force()

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        # Handlers can interrupt each other between any two steps; only the counter is atomic.
        asked_before = next(self._signals) > 0
        self._begin(128 + number)
        if asked_before:
            self._force()
        # While the program starts this raises nothing: the code it interrupts may be the making of a class, where
        # Python turns any exception into another, or native code that crashes on one. `check` raises where it is safe.
        if self._leave is not None:
            self._leave(128 + number)

    def _watch(self) -> None:
        """Wait without polling until the terminal is gone or the end was requested; then make sure of it."""
        if not self._is_gone():
            os.read(self._asked[0], 1)
        else:
            self._begin(GONE)
            if self._leave is None:
                self._force()
            self._leave(GONE)
        threading.Event().wait(GRACE_S)
        self._is_late = True
        stopping = threading.Thread(target=self.last, name="last", daemon=True)
        stopping.start()
        stopping.join(LAST_S)
        self._force()

    def _is_gone(self) -> bool:
        """Wait for either; False if the end was requested or the terminal cannot be watched."""
        if sys.platform == "win32" or not os.isatty(self._terminal):
            return False
        poll = select.poll()
        poll.register(self._asked[0], select.POLLIN)
        poll.register(self._terminal, 0)
        return any(found == self._terminal and what & select.POLLHUP for found, what in poll.poll())

    def _begin(self, code: int) -> None:
        if self._code is None:
            self._code = code
            os.write(self._asked[1], b".")

    def _force(self) -> NoReturn:
        with contextlib.suppress(OSError):
            _discard_output()
        self.gives_back()
        restore_terminal(self._terminal, self._modes, self._restore)
        os._exit(self._code if self._code is not None else 1)


def _discard_output() -> None:
    """Send what other threads still write to the null device: after the terminal was restored it would stay there."""
    streams = (sys.__stdout__, sys.__stderr__)
    descriptors = {1, 2, *(stream.fileno() for stream in streams if stream is not None and not stream.closed)}
    null = os.open(os.devnull, os.O_WRONLY)
    for descriptor in descriptors:
        if os.isatty(descriptor):
            os.dup2(null, descriptor)


def restore_terminal(terminal: int, modes: list[object] | None, text: bytes = RESTORE) -> None:
    """Restore the terminal from any thread, without waiting for a terminal that does not read."""
    if sys.platform == "win32" or modes is None:
        return
    with contextlib.suppress(OSError, termios.error):
        os.set_blocking(terminal, False)
        try:
            _insist(terminal, text)
        finally:
            os.set_blocking(terminal, True)
            termios.tcsetattr(terminal, termios.TCSANOW, modes)  # type: ignore[arg-type]  # as tcgetattr gave it
            termios.tcflush(terminal, termios.TCIFLUSH)  # answers that nobody will read


def _insist(terminal: int, text: bytes) -> None:
    # Another thread may be blocked in a write to the terminal. The queued output will not be read in
    # time, so it is flushed; on Linux that does not wake the writer, but stopping and restarting output does.
    for _ in range(ATTEMPTS):
        termios.tcflush(terminal, termios.TCOFLUSH)
        termios.tcflow(terminal, termios.TCOOFF)
        termios.tcflow(terminal, termios.TCOON)
        with contextlib.suppress(BlockingIOError):
            if os.write(terminal, text) == len(text):
                return
        threading.Event().wait(ATTEMPT_EVERY_S)


def _modes_of(terminal: int) -> list[object] | None:
    if sys.platform == "win32":
        return None
    try:
        return list(termios.tcgetattr(terminal))
    except (termios.error, OSError):
        return None
