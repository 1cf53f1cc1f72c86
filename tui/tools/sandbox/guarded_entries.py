"""Files of the working folder that a shell or a tool runs by itself: which there are, and which a command made.

A sandbox keeps the existing ones as they are. What a command makes anew cannot be told from other files by the kernel,
so it is renamed as soon as the command has ended, under a name that nothing runs.
"""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tui.tools.git_folders import OBEYED, REPOSITORIES

MAX_ENTRIES = 20_000
"""Looked at before a command, folders near the working folder first."""
MAX_ENTRIES_AFTER = 1_000_000
"""A command could otherwise hide a file behind 20,000 others that it makes nearer."""

Guarded = Callable[[Path], bool]


@dataclass(frozen=True, slots=True)
class Guards:
    """What must stay as it is."""

    holds: Guarded
    """Whether a path is run or obeyed by other programs."""
    begins: Callable[[str], bool] = lambda _: False
    """Whether such paths go on below a folder of this name. Links of such names are followed."""


@dataclass(frozen=True, slots=True)
class Entries:
    """The guarded files and folders at one moment."""

    identities: dict[Path, tuple[int, int]]
    left_out: frozenset[Path] = frozenset()
    """Folders that were too many to be looked at."""

    @property
    def paths(self) -> tuple[Path, ...]:
        """All of them; links are left out, because what they lead to is guarded where it is."""
        return tuple(path for path in self.identities if not path.is_symlink())


def guarded_entries(
    folder: Path, guards: Guards, *, most: int = MAX_ENTRIES, but: frozenset[Path] = frozenset()
) -> Entries:
    """What is there now, except in the folders of ``but``. Blocks: in a thread."""
    found: dict[Path, tuple[int, int]] = {}
    waiting: deque[tuple[Path, Path | None]] = deque([(folder, None)])
    while waiting and most > 0:
        place, link = waiting.popleft()
        try:
            with os.scandir(place) as listed:
                entries = list(listed)
        except OSError:
            continue
        most -= len(entries)
        # Git takes such a folder for a repository, whatever its name, and obeys the configuration in it.
        names = {entry.name.lower() for entry in entries}
        of_git = OBEYED if any(signs <= names for signs in REPOSITORIES) else frozenset()
        for entry in entries:
            path = Path(entry.path)
            if entry.name.lower() in of_git or guards.holds(path):
                _add(found, path, folder, link)
            elif entry.is_dir(follow_symlinks=False):
                if path not in but:
                    waiting.append((path, link))
            elif link is None and entry.is_symlink() and guards.begins(entry.name) and _is_folder(entry):
                waiting.append((path, path))
    return Entries(found, frozenset(path for path, _ in waiting))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _add(found: dict[Path, tuple[int, int]], path: Path, folder: Path, link: Path | None) -> None:
    """The entry, and what it leads to inside the working folder: `.git` may be a link."""
    ways = [path, path.resolve()] if path.is_symlink() else [path]
    if link is not None:
        # The kernel and the renaming need real paths. What lies outside is out of reach, but not the link to it.
        real = path.parent.resolve() / path.name
        ways = [real, path.resolve()] if folder in real.parents else [link]
    for one in ways:
        with contextlib.suppress(OSError, RuntimeError):
            status = one.lstat()
            if folder in one.parents:
                found[one] = (status.st_dev, status.st_ino)


@dataclass(frozen=True, slots=True)
class SetAside:
    """What was done after a command."""

    moved: tuple[tuple[Path, Path], ...] = ()
    """Old and new paths."""
    complete: bool = True
    """Whether everything the command made was looked at."""


def set_aside(folder: Path, before: Entries, guards: Guards) -> SetAside:
    """Rename what was made since. Blocks: in a thread."""
    known = set(before.identities.values())
    moved: list[tuple[Path, Path]] = []
    while True:
        now = guarded_entries(folder, guards, most=MAX_ENTRIES_AFTER, but=before.left_out)
        count = len(moved)
        for path, identity in now.identities.items():
            if identity in known and before.identities.get(path, identity) == identity:
                continue
            with contextlib.suppress(OSError):
                moved.append((path, _renamed(path)))
        # A folder that was renamed is looked into: a repository's works under any name.
        if len(moved) == count:
            return SetAside(tuple(moved), complete=now.left_out <= before.left_out)


def _renamed(path: Path) -> Path:
    number = 0
    while True:
        # Patterns such as `.vscode*` and `*.pth` must not fit the new name.
        new = path.with_name(f"set-aside{number or ''}-{path.name.lstrip('.')}-by-ponder")
        if not os.path.lexists(new):  # noqa: TID251 - Path.exists follows links
            path.rename(new)
            return new
        number += 1
