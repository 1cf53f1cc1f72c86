"""The log file, for bug reports. Keys are removed from every record, whatever logger or handler is used.

Request bodies are never logged. ``PONDER_DEBUG`` adds a second file with a line for every request.
"""

from __future__ import annotations

import contextlib
import logging
import os
import traceback
from collections.abc import Mapping
from pathlib import Path

from tui.domain.printable import printable
from tui.providers.redaction import Redactor, quiet_http_loggers
from tui.settings.user_files import open_log_file, put_long_log_aside

DEBUG_VARIABLE = "PONDER_DEBUG"


class _PrivateFile(logging.Handler):
    """Writes to a file that only its owner can read, created with the first record; write errors are ignored."""

    def __init__(self, path: Path, level: int) -> None:
        super().__init__(level)
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        self._path = path

    def emit(self, record: logging.LogRecord) -> None:
        """Open the file, write, close it: records are rare, and none is lost in a crash."""
        with contextlib.suppress(OSError):
            put_long_log_aside(self._path)
            with os.fdopen(open_log_file(self._path), "a", encoding="utf-8", errors="replace") as file:
                file.write(self.format(record) + "\n")


class _Texts:
    """Whether log records may contain texts that are not ponder's own."""

    omitted = False


def omit_texts() -> None:
    """Keep what is said in a private conversation out of the log until the program ends.

    Records no longer contain their arguments and the messages of exceptions; those of libraries contain no text at all.
    """
    _Texts.omitted = True


def _without_texts(record: logging.LogRecord) -> logging.LogRecord:
    own = record.name == "tui" or record.name.startswith("tui.")
    record.msg, record.args = (str(record.msg) if own else "left out: a private conversation was open"), ()
    if record.exc_info and record.exc_info[1] is not None:
        record.exc_text = "\n".join(_frames(record.exc_info[1]))
    return record


def _frames(error: BaseException) -> list[str]:
    """Where an exception and those before it were raised, without their messages."""
    chain: list[str] = []
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        rows = traceback.extract_tb(following.__traceback__)
        chain += [
            f"{type(following).__name__}, raised in:",
            *(f"  {row.filename}:{row.lineno} {row.name}" for row in rows),
        ]
        following = following.__cause__ or following.__context__
    return chain


def redact_records(redactor: Redactor) -> None:
    """Clean every log record when it is created, including its traceback, so that no handler sees a key."""
    make = logging.LogRecord

    def made(*args: object, **kwargs: object) -> logging.LogRecord:
        record = make(*args, **kwargs)  # type: ignore[arg-type]  # passed through
        if _Texts.omitted:
            return _without_texts(record)
        try:
            message = record.getMessage()
        except (TypeError, ValueError, KeyError):
            message = str(record.msg)
        # What a server sent must neither begin a line that looks like a record nor write to the terminal of a reader.
        record.msg, record.args = printable(redactor.clean(message), keep_newlines=False), ()
        if record.exc_info:
            # A formatter takes this text instead of making its own.
            record.exc_text = printable(redactor.clean(logging.Formatter().formatException(record.exc_info)))
        return record

    logging.setLogRecordFactory(made)
    quiet_http_loggers()


def open_log(path: Path, redactor: Redactor, environment: Mapping[str, str], *, screen: bool) -> None:
    """Start logging: warnings to ``path`` (unless the screen does it), everything to ``debug.log`` if enabled."""
    redact_records(redactor)
    if not screen:
        logging.getLogger().addHandler(_PrivateFile(path, logging.WARNING))
    if environment.get(DEBUG_VARIABLE):
        logging.getLogger("tui").setLevel(logging.DEBUG)
        logging.getLogger().addHandler(_PrivateFile(path.with_name("debug.log"), logging.DEBUG))
