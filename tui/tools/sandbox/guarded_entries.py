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

MAX_ENTRIES = 20_000
"""Looked at per walk, folders near the working folder first."""

_OBEYED_BY_GIT = frozenset({"HEAD", "commondir", "config", "config.worktree", "hooks", "info"})

Guarded = Callable[[Path], bool]


@dataclass(frozen=True, slots=True)
class Entries:
    """The guarded files and folders at one moment; links are not followed."""

    identities: dict[Path, tuple[int, int]]

    @property
    def paths(self) -> tuple[Path, ...]:
        """All of them; links are left out, because what they lead to is guarded where it is."""
        return tuple(path for path in self.identities if not path.is_symlink())


def guarded_entries(folder: Path, guarded: Guarded) -> Entries:
    """What is there now. Blocks: in a thread."""
    found: dict[Path, tuple[int, int]] = {}
    waiting = deque([folder])
    left = MAX_ENTRIES
    while waiting and left > 0:
        try:
            with os.scandir(waiting.popleft()) as listed:
                entries = list(listed)
        except OSError:
            continue
        left -= len(entries)
        # Git takes such a folder for a repository, whatever its name, and obeys the configuration in it.
        of_git = _OBEYED_BY_GIT if {"HEAD", "objects", "refs"} <= {entry.name for entry in entries} else frozenset()
        for entry in entries:
            path = Path(entry.path)
            if entry.name in of_git or guarded(path):
                _add(found, path, folder)
            elif entry.is_dir(follow_symlinks=False):
                waiting.append(path)
    return Entries(found)


def _add(found: dict[Path, tuple[int, int]], path: Path, folder: Path) -> None:
    """The entry, and what it leads to inside the working folder: `.git` may be a link."""
    for one in (path, path.resolve()) if path.is_symlink() else (path,):
        with contextlib.suppress(OSError, RuntimeError):
            status = one.lstat()
            if folder in one.parents:
                found[one] = (status.st_dev, status.st_ino)


def set_aside(folder: Path, before: Entries, guarded: Guarded) -> tuple[tuple[Path, Path], ...]:
    """Rename what was made since; old and new paths. Blocks: in a thread."""
    known = set(before.identities.values())
    moved: list[tuple[Path, Path]] = []
    for path, identity in guarded_entries(folder, guarded).identities.items():
        if identity in known and before.identities.get(path, identity) == identity:
            continue
        with contextlib.suppress(OSError):
            moved.append((path, _renamed(path)))
    return tuple(moved)


def _renamed(path: Path) -> Path:
    number = 0
    while True:
        # Patterns such as `.vscode*` and `*.pth` must not fit the new name.
        new = path.with_name(f"set-aside{number or ''}-{path.name.lstrip('.')}-by-ponder")
        if not os.path.lexists(new):  # noqa: TID251 - Path.exists follows links
            path.rename(new)
            return new
        number += 1
