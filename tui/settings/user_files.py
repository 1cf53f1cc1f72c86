"""Safe reading and atomic writing of files that users or other programs may have replaced with something else.

Only regular files are read, up to a size limit, and opening never blocks: a pipe or a device at the path of
``config.toml`` would otherwise block the start for ever. Symbolic links are followed: users link their settings.
Every failure is an OSError whose ``strerror`` fits into "cannot be read: …".
"""

from __future__ import annotations

import math
import os
import re
import stat
from collections.abc import Container, Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path

from tui.domain.lazy_regex import lazy_regex

NO_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_CLOEXEC", 0)
MEGABYTE = 1_000_000
LONGEST_LOG = 1_000_000
LARGEST_INTEGER_BITS = 1_024
MOST_ENTRIES = 10_000
"""The most entries of a folder that are read."""


class UnusableFile(OSError):
    """The path is not a regular file."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(0, why, str(path))


def with_home(path: Path) -> Path:
    """``~`` and ``~user`` replaced; an unknown user name is left as it is, as in a shell."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def read_user_file(path: Path, limit: int = MEGABYTE) -> bytes | None:
    """The content of a regular file; None if it does not exist. Raises OSError."""
    try:
        _refuse_irregular(path, path.stat())  # opening some devices has side effects
        handle = os.open(path, os.O_RDONLY | NO_WAITING)
    except (FileNotFoundError, NotADirectoryError):
        if path.is_symlink():
            raise UnusableFile(path, "its link leads nowhere") from None
        return None
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        _refuse_irregular(path, status)
        if status.st_size > limit:
            raise UnusableFile(path, f"it is larger than {_size(limit)}")
        content = file.read(limit + 1)
    if content is None:  # reading would have blocked
        raise UnusableFile(path, "it has no end")
    if len(content) > limit:
        raise UnusableFile(path, f"it is larger than {_size(limit)}")
    return content


def read_user_text(path: Path, limit: int = MEGABYTE) -> str | None:
    """The content as UTF-8 text, without a byte order mark."""
    content = read_user_file(path, limit)
    if content is None:
        return None
    try:
        # Same as text mode: "\r\n" is one line end.
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise UnusableFile(path, f"it is not UTF-8 text (byte {error.start})") from None


DEEPEST_KEY = 50
_KEY = r"""(?:(?<![\w-])[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
_DEEP_KEY = lazy_regex(rf"{_KEY}(?:[ \t]*+\.[ \t]*+{_KEY}){{{DEEPEST_KEY}}}")
"""``a.a.a…``: tomllib takes memory by the square of the number of names, gigabytes for a theme of 64 kB."""


def parse_user_toml(text: str) -> dict[str, object]:
    """Parse a TOML document. Every error is a ValueError."""
    if not text:
        return {}
    import tomllib  # not loaded by a start without settings

    if text.count(".") >= DEEPEST_KEY and _DEEP_KEY.search(text):
        raise ValueError("it is nested too deeply")
    try:
        return {key: _printable_numbers(value) for key, value in tomllib.loads(text).items()}
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError:  # Python's limit for digits of a decimal number
        start = m.start() if (m := re.search(r"\d[\d_]{4299}", text)) else 0
        line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
        raise ValueError(f"A number has too many digits (at line {line}, column {column})") from None


def _printable_numbers(value: object) -> object:
    """Replace integers too large for a float (possible in hexadecimal) by infinity: no message could quote them."""
    if isinstance(value, dict):
        return {key: _printable_numbers(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_printable_numbers(inner) for inner in value]
    return math.inf if isinstance(value, int) and value.bit_length() > LARGEST_INTEGER_BITS else value


def list_user_files(folder: Path, suffix: str, most: int) -> tuple[Path, ...]:
    """Names of files in a folder, up to a limit; () if the folder does not exist. Raises OSError.

    Hidden files are omitted: editors put locks and copies beside a file (Emacs a dangling link).
    """
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in islice(entries, MOST_ENTRIES)]
    except FileNotFoundError:
        if folder.is_symlink():
            raise UnusableFile(folder, "its link leads nowhere") from None
        return ()
    found = sorted(name for name in names if name.endswith(suffix) and not name.startswith("."))
    return tuple(folder / name for name in found[:most])


def may_exist(path: Path) -> bool:
    """False only if the path certainly does not exist; in an unreadable folder it may."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def open_log_file(path: Path) -> int:
    """A descriptor that appends to a private regular file, created if needed. Raises OSError."""
    make_private_folder(path.parent, tighten=True)
    # Do not follow a link: it could point anywhere, and this file is written to.
    no_link = getattr(os, "O_NOFOLLOW", 0)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | NO_WAITING | no_link, 0o600)
    try:
        _refuse_irregular(path, os.fstat(handle))
    except UnusableFile:
        os.close(handle)
        raise
    return handle


def put_long_log_aside(path: Path) -> None:
    """Rename a log that has become long to ``.log.1``, replacing the previous one. Raises OSError."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return
    if stat.S_ISREG(status.st_mode) and status.st_size > LONGEST_LOG:
        path.replace(path.with_suffix(".log.1"))


def make_private_folder(folder: Path, *, tighten: bool = False) -> None:
    """Create a folder and its missing parents, readable only for the owner. Raises OSError.

    With ``tighten``, an existing folder of the user is made private, too.
    """
    if folder.is_dir():
        if tighten and os.name == "posix":
            status = folder.stat()
            if status.st_mode & 0o077 and status.st_uid == os.geteuid():
                folder.chmod(0o700)
        return
    if folder.parent != folder:
        make_private_folder(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)


def close_to_others(folder: Path, *, holding_only: Container[str] | None = None) -> bool:
    """Make a folder private, unless it holds anything else than what is named. False if others can still write there.

    A link is not followed for this: its folder has another purpose.
    """
    if os.name != "posix":
        return True
    try:
        status = folder.stat()
        if not stat.S_ISDIR(status.st_mode) or not status.st_mode & 0o077:
            return True
        with suppress(OSError):
            ours = status.st_uid == os.geteuid() and not folder.is_symlink()
            if ours and (holding_only is None or all(entry.name in holding_only for entry in folder.iterdir())):
                folder.chmod(0o700)
                return True
    except OSError:
        return True  # nothing there, or the reader of its files says what is wrong
    return not status.st_mode & 0o022


def refuse_irregular(path: Path) -> None:
    """Raises OSError if the path exists and is not a regular file."""
    try:
        _refuse_irregular(path, path.stat())
    except (FileNotFoundError, NotADirectoryError):
        if path.is_symlink():
            raise UnusableFile(path, "its link leads nowhere") from None


def _refuse_irregular(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise UnusableFile(path, f"it is {_kind(status.st_mode)}, not a file")


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a folder"
    if stat.S_ISFIFO(mode):
        return "a pipe"
    if stat.S_ISSOCK(mode):
        return "a socket"
    return "a device"


def _size(limit: int) -> str:
    return f"{limit // MEGABYTE} MB" if limit >= MEGABYTE else f"{limit // 1000} kB"


def write_atomically(path: Path, text: str | Iterable[str], *, mode: int = 0o600) -> None:
    """Write a temporary file, sync, rename, sync the folder. Created folders are private.

    A symbolic link stays and its target is replaced. Raises OSError if the path is not a regular file.
    """
    import tempfile  # slow to import, and not needed at start-up

    refuse_irregular(path)
    path = path.resolve() if path.is_symlink() else path
    make_private_folder(path.parent)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.writelines([text] if isinstance(text, str) else text)
            file.flush()
            if os.name == "posix":
                os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if os.name != "posix":
        return
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
