"""Finds files in the working folder that a shell or tool runs automatically, and those a command created.

A sandbox makes existing ones read-only. The kernel cannot tell newly created ones from other files, so they are
renamed when the command has ended, to names that nothing runs.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tui.tools.git_folders import OBEYED, REPOSITORIES

MAX_ENTRIES = 1_000_000
"""Entries visited before a command, folders near the working folder first. A larger folder cannot be guarded."""
MAX_ENTRIES_AFTER = 2_000_000
"""Higher, because a command could otherwise hide a file behind those it made."""

MAX_NAME = 200
"""Bytes of the old name in the new one; file systems allow 255."""

Guarded = Callable[[Path], bool]


@dataclass(frozen=True, slots=True)
class Guards:
    """Which entries are guarded."""

    holds: Guarded
    """Whether other programs run or read a path automatically."""
    may_hold: Callable[[str], bool] = lambda _: True
    """Whether ``holds`` can be true for an entry of this name. Most entries need no further look."""
    begins: Callable[[str], bool] = lambda _: False
    """Whether guarded paths can continue below a folder of this name. Links with such names are followed."""


@dataclass(frozen=True, slots=True)
class Entries:
    """The guarded files and folders at one moment."""

    identities: dict[Path, tuple[int, int]]
    links: dict[Path, str] = field(default_factory=dict)
    """Where the links among them lead."""
    complete: bool = True
    """Whether all folders were visited."""
    unreadable: frozenset[Path] = frozenset()
    """Folders that could not be listed."""

    @property
    def paths(self) -> tuple[Path, ...]:
        """All guarded paths, without links: their targets are guarded instead."""
        return tuple(path for path in self.identities if path not in self.links)


def guarded_entries(
    folder: Path,
    guards: Guards,
    may_open: Callable[[Path], bool] = lambda _: False,
    *,
    most: int = MAX_ENTRIES,
) -> Entries:
    """The current guarded entries. Blocks: call it in a thread.

    A folder without permission to list it gets that permission if ``may_open`` says so.
    """
    found: dict[Path, tuple[int, int]] = {}
    unreadable: set[Path] = set()
    waiting: deque[tuple[Path, Path | None]] = deque([(folder, None)])
    while waiting and most > 0:
        folder_path, link = waiting.popleft()
        entries = _listed(folder_path, opens=link is None and may_open(folder_path))
        if entries is None:
            unreadable.add(folder_path)
            continue
        most -= len(entries)
        # Git treats such a folder as a repository, whatever its name, and reads the configuration in it.
        names = {entry.name.lower() for entry in entries}
        of_git = OBEYED if any(signs <= names for signs in REPOSITORIES) else frozenset()
        for entry in entries:
            if entry.name.lower() in of_git or (guards.may_hold(entry.name) and guards.holds(Path(entry.path))):
                _add(found, Path(entry.path), folder, link)
            elif entry.is_dir(follow_symlinks=False):
                waiting.append((Path(entry.path), link))
            elif link is None and entry.is_symlink() and guards.begins(entry.name) and _is_folder(entry):
                waiting.append((Path(entry.path), Path(entry.path)))
    links = {path: target for path in found if (target := _link_at(path)) is not None}
    return Entries(found, links, not waiting, frozenset(unreadable))


def _listed(folder_path: Path, *, opens: bool) -> list[os.DirEntry[str]] | None:
    try:
        with os.scandir(folder_path) as listed:
            return list(listed)
    except PermissionError:
        return _listed(folder_path, opens=False) if opens and _made_accessible(folder_path) else None
    except OSError:
        return None


def _made_accessible(folder: Path) -> bool:
    """Give the owner all rights to a folder; False if that fails."""
    try:
        folder.chmod(stat.S_IMODE(folder.stat().st_mode) | stat.S_IRWXU)
    except OSError:
        return False
    return True


def _link_at(path: Path) -> str | None:
    """Where a link leads; None if it is none."""
    try:
        return os.readlink(path)  # noqa: PTH115 - as text, unchanged
    except OSError:
        return None


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _add(found: dict[Path, tuple[int, int]], path: Path, folder: Path, link: Path | None) -> None:
    """Add the entry, and its target inside the working folder: `.git` may be a link."""
    target = _target(path)
    paths = [path, target]
    if link is not None:
        # The kernel and renaming need real paths. Targets outside cannot be written, but the link itself can.
        real = path.parent.resolve() / path.name
        paths = [real, target] if folder in real.parents else [link]
    for one in paths:
        with contextlib.suppress(OSError, RuntimeError):
            status = one.lstat()
            if folder in one.parents:
                found[one] = (status.st_dev, status.st_ino)


def _target(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path  # A loop of links leads nowhere, but the link itself is an entry.


@dataclass(frozen=True, slots=True)
class SetAsideResult:
    """What was renamed after a command."""

    renamed: tuple[tuple[Path, Path], ...] = ()
    """Old and new paths."""
    not_renamed: tuple[Path, ...] = ()
    """What could not be renamed."""
    complete: bool = True
    """Whether all created files were checked."""


def set_aside(folder: Path, before: Entries, guards: Guards) -> SetAsideResult:
    """Rename guarded entries created since ``before``. Blocks: call it in a thread."""
    known = set(before.identities.values())
    renamed: list[tuple[Path, Path]] = []
    while True:
        now = guarded_entries(folder, guards, lambda path: path not in before.unreadable, most=MAX_ENTRIES_AFTER)
        count, left = len(renamed), []
        for path, identity in now.identities.items():
            same = identity in known and before.identities.get(path, identity) == identity
            # A new link may have the number of the one it replaces.
            if same and before.links.get(path) == _link_at(path):
                continue
            try:
                renamed.append((path, _renamed(path)))
            except FileNotFoundError:
                continue  # Its folder was renamed before.
            except OSError:
                left.append(path)
        # A renamed folder is searched too, because a repository works under any name.
        if len(renamed) == count:
            _put_back(before.links)
            complete = now.complete and now.unreadable <= before.unreadable
            return SetAsideResult(tuple(renamed), tuple(left), complete=complete)


def _put_back(links: dict[Path, str]) -> None:
    """Make links again that the command removed: no sandbox can make a link read-only."""
    for path, target in links.items():
        with contextlib.suppress(OSError, RuntimeError):
            if path.parent.resolve() == path.parent:
                path.symlink_to(target)  # fails if there is something


def _renamed(path: Path) -> Path:
    # Patterns such as `.vscode*` and `*.pth` must not match the new name, and the prefix must fit beside a long one.
    name = os.fsdecode(os.fsencode(path.name.lstrip("."))[:MAX_NAME])
    number = 0
    while True:
        new = path.with_name(f"set-aside{number or ''}-{name}-by-ponder")
        if not os.path.lexists(new):  # noqa: TID251 - Path.exists follows links
            return _moved(path, new)
        number += 1


def _moved(path: Path, new: Path) -> Path:
    try:
        return path.rename(new)
    except PermissionError:
        if not _made_accessible(path.parent):
            raise
        return path.rename(new)
