"""The files and folders below the working folder, for completion: read now and then, on a thread."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tui.app.ignore_files import IgnoreFile, is_ignored, read_ignore_files
from tui.domain.fuzzy import best

MOST = 200_000
"""Paths that are remembered."""
MOST_SECONDS = 5.0
"""Longest time that one reading may take; what was found until then is used."""
FRESH_S = 10.0
"""Seconds after which the tree is read again."""
MOST_RANKED = 2_000
"""Paths that are compared in detail. Of more the shortest are taken."""


class FileTree:
    """Paths relative to a folder; those of folders end with ``/``. Used by threads, one at a time."""

    def __init__(self, folder: Path, skipped: frozenset[str], now: Callable[[], float] = time.monotonic) -> None:
        """``skipped`` are names of folders that are never looked into."""
        self._folder = folder
        self._skipped = skipped
        self._now = now
        self._lock = threading.Lock()
        self._paths: tuple[str, ...] = ()
        self._read_at: float | None = None

    def paths(self) -> Sequence[str]:
        """All paths that are neither hidden nor ignored, folders before what is in them. Blocking."""
        with self._lock:
            if self._read_at is None or self._now() - self._read_at > FRESH_S:
                self._paths = tuple(self._walk())
                self._read_at = self._now()
            return self._paths

    def matching(self, words: str) -> Sequence[str]:
        """The paths in which the letters occur in this order, best first. Blocking."""
        # Each letter at its first place: trying others takes for ever in `aaaa…`, and nothing else runs meanwhile.
        letters = re.compile("".join(f"[^{sign}]*+{sign}" for sign in map(re.escape, words)), re.IGNORECASE)
        found = [path for path in self.paths() if letters.match(path) is not None]
        if len(found) > MOST_RANKED:
            whole = [path for path in found if words.lower() in path.lower()]
            found = sorted(whole or found, key=len)[:MOST_RANKED]
        named = best(words, found, lambda path: path.rstrip("/").rpartition("/")[2])
        seen = set(named)
        return [*named, *best(words, [path for path in found if path not in seen], lambda path: path)]

    def _walk(self) -> list[str]:
        """Breadth first, so that a tree that is too large is known in its upper part."""
        found: list[str] = []
        until = self._now() + MOST_SECONDS
        waiting: list[tuple[str, tuple[IgnoreFile, ...]]] = [("", self._above())]
        for start, rules in waiting:  # grows meanwhile
            if len(found) >= MOST or self._now() > until:
                break
            own = read_ignore_files(self._folder / start, start)
            files = (*rules, own) if own is not None else rules
            for path in self._entries(start, files):
                found.append(path)
                if path.endswith("/"):
                    waiting.append((path, files))
        return found

    def _entries(self, start: str, files: tuple[IgnoreFile, ...]) -> list[str]:
        found = []
        try:
            with os.scandir(self._folder / start) as entries:
                for entry in entries:
                    name = entry.name
                    if name.startswith(".") or name in self._skipped or not name.isprintable():
                        continue
                    path = f"{start}{name}/" if entry.is_dir(follow_symlinks=False) else f"{start}{name}"
                    if not files or not is_ignored(path, files):
                        found.append(path)
        except OSError:
            return []
        return sorted(found)

    def _above(self) -> tuple[IgnoreFile, ...]:
        """The patterns of the repository that the folder is a part of."""
        root = next((path for path in (self._folder, *self._folder.parents) if (path / ".git").exists()), None)
        if root is None:
            return ()
        inside = self._folder.relative_to(root)
        found = [read_ignore_files(root / ".git" / "info", "", ("exclude",), inside=inside)]
        for number in range(len(inside.parts)):
            parent = root.joinpath(*inside.parts[:number])
            found.append(read_ignore_files(parent, "", inside=self._folder.relative_to(parent)))
        return tuple(file for file in found if file is not None)
