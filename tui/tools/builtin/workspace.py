"""The working folder: resolves paths, classifies them, and opens files safely.

A path is resolved once. To open it, each folder is opened in turn from the root without following links, so that a
link created after the permission was given causes an error instead of an escape.
"""

from __future__ import annotations

import glob as glob_patterns
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tui.domain.errors import ToolError
from tui.domain.format_numbers import count
from tui.domain.printable import printable
from tui.tools.git_folders import is_of_repository
from tui.tools.permissions.guarded_paths import GuardedPaths, spellings
from tui.tools.permissions.permissions import IntendedAction, offered
from tui.tools.permissions.rules import Access, GuardedKind, RequestedAccess
from tui.tools.tool import CallContext, on_a_line

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NO_BLOCK = getattr(os, "O_NONBLOCK", 0)
_FOLDER = getattr(os, "O_DIRECTORY", 0)
_CLOSE = getattr(os, "O_CLOEXEC", 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspacePath:
    """A path with all links resolved."""

    real: Path
    inside: bool
    shown: str
    """Relative to the working folder if inside, else absolute; safe to display."""
    root: Path
    """The working folder."""
    read_guard: GuardedKind
    """Whether the file may hold secrets."""
    write_guard: GuardedKind
    """Whether other programs, or ponder, automatically run or read files there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """Metadata that distinguishes two versions of a file."""

    device: int
    inode: int
    size: int
    changed_ns: int
    mode: int

    @classmethod
    def of(cls, status: os.stat_result) -> Stamp:
        return cls(
            device=status.st_dev,
            inode=status.st_ino,
            size=status.st_size,
            changed_ns=status.st_mtime_ns,
            mode=status.st_mode,
        )


@dataclass(frozen=True, slots=True)
class Workspace:
    """``root`` is a real path. Writing to ``protected`` folders (the program's own) always needs permission."""

    root: Path
    home: Path
    guarded: GuardedPaths
    protected: tuple[Path, ...] = ()

    def resolve(self, text: str) -> WorkspacePath:
        """Resolve a path. Raises ToolError if it is invalid."""
        if not text or "\0" in text:
            raise ToolError("`path` is empty or contains a NUL character.")
        try:
            path = self.root / (self.home / text[2:] if text.startswith("~/") else Path(text))
            real = path.resolve()
            str(real).encode()
            names = [*spellings(path), real]
            is_secret = self.is_ours(real) or self.guarded.secret.holds(names)
            runs_itself = self.is_ours(real) or self.guarded.startup.holds(names) or is_of_repository(real)
        except (OSError, RuntimeError, UnicodeEncodeError, ValueError) as error:
            raise ToolError(f"`{printable(text[:200])}` is not a path: {_reason(error)}.") from None
        inside = real == self.root or self.root in real.parents
        shown = str(real.relative_to(self.root)) if inside else str(real)
        read_guard = GuardedKind.SECRET if is_secret else GuardedKind.NONE
        return WorkspacePath(
            real=real,
            inside=inside,
            shown=printable(shown, keep_newlines=False),
            root=self.root,
            read_guard=read_guard,
            write_guard=GuardedKind.ALWAYS_ASKS if runs_itself else read_guard,
        )

    def holds_secrets(self, real: Path) -> bool:
        """Whether a file found by a search may hold secrets; takes the real path."""
        return self.guarded.secret.fits(real) or self.is_ours(real)

    def is_ours(self, real: Path) -> bool:
        """Whether a path belongs to the program itself."""
        return any(real == folder or folder in real.parents for folder in self.protected)


@contextmanager
def opened_folder(folder: Path, *, create: bool = False) -> Iterator[int]:
    """A descriptor of a resolved folder, opened without following links; ``create`` makes missing folders."""
    handle = os.open(folder.anchor, os.O_RDONLY | _FOLDER | _CLOSE)
    try:
        for part in folder.parts[1:]:
            if create:
                _make(part, handle)
            deeper = os.open(part, os.O_RDONLY | _FOLDER | _NO_FOLLOW | _CLOSE, dir_fd=handle)
            os.close(handle)
            handle = deeper
        yield handle
    except OSError as error:
        raise _tool_error(folder, error) from None
    finally:
        os.close(handle)


@contextmanager
def opened_file(real: Path) -> Iterator[tuple[int, os.stat_result]]:
    """A descriptor of a resolved regular file and its stat; other kinds of files are rejected."""
    with opened_folder(real.parent) as folder:
        try:
            handle = os.open(real.name, os.O_RDONLY | _NO_FOLLOW | _NO_BLOCK | _CLOSE, dir_fd=folder)
        except OSError as error:
            raise _tool_error(real, error) from None
        try:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise ToolError(f"`{real.name}` is {_kind(status.st_mode)}, not a regular file.")
            yield handle, status
        finally:
            os.close(handle)


def read_whole(real: Path, limit: int) -> tuple[bytes, Stamp]:
    """All bytes of a file and its stamp. Raises ToolError if it is larger than ``limit``."""
    with opened_file(real) as (handle, status):
        if status.st_size > limit:
            raise ToolError(f"`{real.name}` has {count(status.st_size, 'byte')}; the limit is {limit:,}.")
        with os.fdopen(os.dup(handle), "rb") as file:
            data = file.read(limit + 1)
        if len(data) > limit:
            raise ToolError(f"`{real.name}` has more than {count(limit, 'byte')}.")
        return data, Stamp.of(os.fstat(handle))


def stamp_of(real: Path) -> Stamp | None:
    """The stamp of a resolved path; None if it does not exist."""
    try:
        return Stamp.of(real.lstat())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _tool_error(real, error) from None


def _make(part: str, parent: int) -> None:
    try:
        os.mkdir(part, 0o777, dir_fd=parent)
    except FileExistsError:
        return


def _tool_error(path: Path, error: OSError) -> ToolError:
    return ToolError(f"`{printable(str(path), keep_newlines=False)}`: {_reason(error)}.")


def _reason(error: Exception) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__


def _kind(mode: int) -> str:
    kinds = (
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    )
    return next((words for test, words in kinds if test(mode)), "something else")


def read_intent(tool: str, path: WorkspacePath) -> IntendedAction:
    """Reading a file or listing a folder."""
    guard = path.read_guard
    where = "" if path.inside else " outside the working folder"
    return IntendedAction(
        requested=RequestedAccess(
            tool=tool, access=Access.READ, target=str(path.real), inside=path.inside, guard=guard
        ),
        summary=f"Read {path.shown}{where}",
        note=_where(path),
        patterns=offered("read", (_literal(path.real), *_folder_pattern(path, guard))),
    )


def write_intent(tool: str, path: WorkspacePath, summary: str, diff: str) -> IntendedAction:
    """Writing a file; ``session`` allows the working folder, or only the file if it lies outside."""
    guard = path.write_guard
    literal = _literal(path.real)
    offers = () if guard is GuardedKind.ALWAYS_ASKS else offered("write", (literal, *_folder_pattern(path, guard)))
    return IntendedAction(
        requested=RequestedAccess(
            tool=tool, access=Access.WRITE, target=str(path.real), inside=path.inside, guard=guard
        ),
        summary=summary,
        detail=diff,
        note=_where(path),
        patterns=offers,
        session="write(**)" if path.inside and guard is GuardedKind.NONE else "",
    )


def withheld(tool: str, agreed: IntendedAction, root: Path, running: CallContext) -> Callable[[Path], bool]:
    """Tells which files of a search the user's rules deny or ask about, although the folder may be read."""

    def is_withheld(real: Path) -> bool:
        inside = root in real.parents
        requested = RequestedAccess(tool=tool, access=Access.READ, target=str(real), inside=inside)
        return running.withholds(requested, agreed.requested)

    return is_withheld


def _where(path: WorkspacePath) -> str:
    """Where the path leads: the summary names it below the working folder, or the note in full."""
    return f"in {on_a_line(path.root)}" if path.inside else on_a_line(path.real)


def _literal(path: Path) -> str:
    return glob_patterns.escape(str(path))


def _folder_pattern(path: WorkspacePath, guard: GuardedKind) -> tuple[str, ...]:
    return () if guard is not GuardedKind.NONE else (f"{_literal(path.real.parent)}/**",)
