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
            with os.scandir(waiting.popleft()) as entries:
                for entry in entries:
                    left -= 1
                    path = Path(entry.path)
                    if guarded(path):
                        status = entry.stat(follow_symlinks=False)
                        found[path] = (status.st_dev, status.st_ino)
                    elif entry.is_dir(follow_symlinks=False):
                        waiting.append(path)
        except OSError:
            continue
    return Entries(found)


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
