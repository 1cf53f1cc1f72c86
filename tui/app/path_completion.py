"""Completion of paths that are attached to a draft."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

from tui.app.attachments import MOST_PATHS, SKIPPED, complete_path
from tui.app.file_tree import FileTree
from tui.tools.permissions.guarded_paths import guarded_paths

ALL_BELOW = "**/*"
"""The pattern for all files of a folder."""
_ELSEWHERE = ("/", "~", "./", "../", ".")
_WILDCARDS = frozenset("*?[")
LOOKED_AT = 500
"""Files that a pattern is compared with before it is offered."""


class PathCompletion:
    """Completes paths in the working folder and, by their beginning, elsewhere."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._tree = FileTree(folder, frozenset(SKIPPED))
        home = Path(environment.get("HOME") or Path.home())
        self._secret = guarded_paths(home.resolve(), environment).secret

    def complete(self, start: str) -> Sequence[str]:
        """Paths for what was typed, best first; none that may hold secrets. Blocking."""
        return list(islice((path for path in self._found(start) if self._may_be_offered(path)), MOST_PATHS))

    def _found(self, start: str) -> Sequence[str]:
        if start.startswith(_ELSEWHERE):
            return complete_path(self._folder, start)
        if _WILDCARDS & set(start):
            return self._pattern(start)
        if start and not start.endswith("/"):
            return self._tree.matching(start)
        inside = self._in_folder(start)
        if not inside:
            return complete_path(self._folder, start) if start else ()
        return [start + ALL_BELOW, *inside] if start else inside

    def _in_folder(self, start: str) -> list[str]:
        """What is directly in a folder, folders first."""
        found = [path for path in self._tree.paths() if path.startswith(start) and path != start]
        direct = [path for path in found if "/" not in path[len(start) :].rstrip("/")]
        return sorted(direct, key=lambda path: (not path.endswith("/"), path.lower()))

    def _pattern(self, pattern: str) -> Sequence[str]:
        """The pattern itself, and the files it matches; nothing if it matches none."""
        try:
            matches = (path for path in self._folder.glob(pattern) if path.is_file())
            known = set(self._tree.paths())
            shown = [path.relative_to(self._folder).as_posix() for path in islice(matches, LOOKED_AT)]
        except (OSError, ValueError, IndexError, NotImplementedError):
            return ()
        found = sorted(path for path in shown if path in known)
        return [pattern, *found] if found else ()

    def _may_be_offered(self, path: str) -> bool:
        return not self._secret.fits(self._folder / Path(path).expanduser())
