"""The log file: what went wrong, for bug reports. No key gets into it, whoever writes the record and whichever handler.

Bodies of requests are never logged. ``PONDER_DEBUG`` adds a second file with a line for every request.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Mapping
from pathlib import Path

from tui.providers.redaction import Redactor, quiet_http_loggers
from tui.settings.user_files import open_log_file, put_long_log_aside

DEBUG_VARIABLE = "PONDER_DEBUG"


class _PrivateFile(logging.Handler):
    """A file only its owner can read, made when there is something to write; one that cannot be made stays away."""

    def __init__(self, path: Path, level: int) -> None:
        super().__init__(level)
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        self._path = path

    def emit(self, record: logging.LogRecord) -> None:
        """Open, write, close: it happens rarely, and nothing is lost with the program."""
        with contextlib.suppress(OSError):
            put_long_log_aside(self._path)
            with os.fdopen(open_log_file(self._path), "a", encoding="utf-8", errors="replace") as file:
                file.write(self.format(record) + "\n")


def redact_records(redactor: Redactor) -> None:
    """From now on every log record is cleaned when it is made, traceback included: no handler can be forgotten."""
    make = logging.LogRecord

    def made(*args: object, **kwargs: object) -> logging.LogRecord:
        record = make(*args, **kwargs)  # type: ignore[arg-type]  # passed through
        try:
            words = record.getMessage()
        except (TypeError, ValueError, KeyError):
            words = str(record.msg)
        record.msg, record.args = redactor.clean(words), ()
        if record.exc_info:
            # A formatter takes this text instead of making its own.
            record.exc_text = redactor.clean(logging.Formatter().formatException(record.exc_info))
        return record

    logging.setLogRecordFactory(made)
    quiet_http_loggers()


def open_log(path: Path, redactor: Redactor, environment: Mapping[str, str], *, screen: bool) -> None:
    """Begin to log: problems to ``path`` (the screen has its own handler for it), everything beside it if asked."""
    redact_records(redactor)
    if not screen:
        logging.getLogger().addHandler(_PrivateFile(path, logging.WARNING))
    if environment.get(DEBUG_VARIABLE):
        logging.getLogger("tui").setLevel(logging.DEBUG)
        logging.getLogger().addHandler(_PrivateFile(path.with_name("debug.log"), logging.DEBUG))
