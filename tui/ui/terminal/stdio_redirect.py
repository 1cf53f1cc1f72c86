"""Redirects stdout and stderr to the log file while the screen is active.

Child processes, C libraries and stray tracebacks write to descriptors 1 and 2, so those are redirected, and Textual
gets a descriptor of its own. The log has errors, never prompts or keys: exceptions are written without locals.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import select
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TextIO, cast

from tui.settings.user_files import open_log_file, put_long_log_aside

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

LOG = logging.getLogger("tui")


class StdioRedirect:
    """A context manager around the screen."""

    def __init__(self, log_file: Path) -> None:
        self.log_file = log_file
        self._log = -1
        self._kept: tuple[int, int] | None = None
        self._streams: tuple[TextIO | None, TextIO | None] = (None, None)
        self._screen: TextIO | None = None
        self._handler: logging.StreamHandler[TextIO] | None = None

    def __enter__(self) -> StdioRedirect:
        self._log = _opened(self.log_file)
        self._streams = (sys.__stdout__, sys.__stderr__)
        # Textual writes to these streams; a pipe (textual serve) is left unchanged.
        if os.isatty(1):
            self._screen = _text_output(os.dup(1))
            sys.__stdout__ = sys.__stderr__ = self._screen  # type: ignore[misc,assignment]  # where Textual looks
            self.redirect()
        self._listen()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        threading.excepthook = threading.__excepthook__
        sys.unraisablehook = sys.__unraisablehook__
        if self._handler is not None:
            logging.getLogger().removeHandler(self._handler)
            self._handler.stream.close()
        self.restore()
        sys.__stdout__, sys.__stderr__ = self._streams  # type: ignore[misc,assignment]  # as they were
        if self._screen is not None:
            with contextlib.suppress(OSError):
                self._screen.close()
        os.close(self._log)

    def redirect(self) -> None:
        """Redirect descriptors 1 and 2 to the log."""
        if self._kept is None and self._screen is not None:
            self._kept = (os.dup(1), os.dup(2))
            os.dup2(self._log, 1)
            os.dup2(self._log, 2)

    def restore(self) -> None:
        """Restore the descriptors, at the end or while another program has the terminal."""
        for descriptor, kept in enumerate(self._kept or (), start=1):
            os.dup2(kept, descriptor)
            os.close(kept)
        self._kept = None

    def _listen(self) -> None:
        self._handler = logging.StreamHandler(os.fdopen(os.dup(self._log), "a", encoding="utf-8", errors="replace"))
        self._handler.setLevel(logging.WARNING)
        self._handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        logging.getLogger().addHandler(self._handler)
        threading.excepthook = _thread_died
        sys.unraisablehook = _log_unraisable


class _WaitingOutput(io.FileIO):
    """Writes all of it, also where another process has made the terminal non-blocking.

    That mode belongs to the open terminal, which every process started from the same shell shares. An exception would
    end Textual's output thread, and then the screen waits for it for ever.
    """

    def write(self, data: ReadableBuffer, /) -> int:
        # None means that the terminal takes nothing at the moment.
        while (written := cast(int | None, super().write(data))) is None:
            poll = select.poll()
            poll.register(self, select.POLLOUT)
            poll.poll()
        return written


def _text_output(descriptor: int) -> TextIO:
    raw = io.FileIO(descriptor, "w") if sys.platform == "win32" else _WaitingOutput(descriptor, "w")
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8", errors="replace", newline="", line_buffering=True)


def _thread_died(found: threading.ExceptHookArgs) -> None:
    if found.exc_value is not None:
        LOG.error("a thread died", exc_info=found.exc_value)


def _log_unraisable(found: sys.UnraisableHookArgs) -> None:
    LOG.error("passed over: %s", found.err_msg or "an exception nobody could be told of", exc_info=found.exc_value)


def _opened(path: Path) -> int:
    """The log, or the null device if the log cannot be written."""
    try:
        put_long_log_aside(path)
        return open_log_file(path)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY)
