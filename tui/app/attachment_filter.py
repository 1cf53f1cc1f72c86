"""Which files a folder or pattern does not attach: those that may hold secrets, and those that git ignores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tui.app.ignore_files import NAMES, IgnoreFile, is_ignored, read_ignore_files
from tui.domain.printable import one_line
from tui.tools.permissions.guarded_paths import PathList, guarded_paths, spellings

MOST_NAMED = 8
"""Files that a message names."""


def secret_paths(environment: Mapping[str, str]) -> PathList:
    """The paths of files that may hold secrets."""
    home = Path(environment.get("HOME") or Path.home())
    return guarded_paths(home.resolve(), environment).secret


def may_hold_secrets(path: Path, environment: Mapping[str, str]) -> bool:
    """Whether the name of a file, or one that its links lead through, is one of those. Blocking."""
    return secret_paths(environment).holds(spellings(path.absolute()))


class AttachmentFilter:
    """Files that nobody named one by one, and why they are left out. The lists are those of completion."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        """``folder``: its ignore files count also where there is no repository."""
        self._folder = folder.absolute()
        self._top = folder.resolve()
        self._secret = secret_paths(environment)
        self._ignore_files: dict[Path, tuple[Path, tuple[IgnoreFile, ...]]] = {}
        self._ignored: dict[Path, bool] = {}
        self.left_out: dict[str, str] = {}
        """Shown path → why. The path of a folder ends with ``/``."""

    def is_left_out(self, path: Path, *, is_folder: bool = False) -> bool:
        """Whether a path is left out, which is noted. Blocking."""
        why = self._why_not(path, is_folder=is_folder)
        if why:
            shown = path.relative_to(self._folder) if path.is_relative_to(self._folder) else path
            self.left_out[shown.as_posix() + ("/" if is_folder else "")] = why
        return bool(why)

    def sentence(self) -> str:
        """Which files were left out and why; "" if none was."""
        named = [f"{one_line(shown, 80)} ({why})" for shown, why in sorted(self.left_out.items())[:MOST_NAMED]]
        more = len(self.left_out) - len(named)
        return f"Left out: {', '.join(named)}{f' and {more} more' if more else ''}." if named else ""

    def _why_not(self, path: Path, *, is_folder: bool) -> str:
        names = spellings(path.absolute())
        # A folder called `credentials` may be a project: what is in it is judged file by file.
        if not is_folder and any(map(self._secret.fits, names)):
            return "may hold secrets"
        given = path.parent.resolve() / path.name
        if any(self._is_ignored(name, is_folder=is_folder) for name in (given, names[-1])):
            return "ignored by git"
        return "may hold secrets" if not is_folder and self._secret.holds(names) else ""

    def _is_ignored(self, path: Path, *, is_folder: bool) -> bool:
        """Whether the path is ignored, or a folder that it is in."""
        top, files = self._files_for(path.parent)
        if not path.is_relative_to(top) or path == top:
            return False
        if path.parent not in self._ignored:
            self._ignored[path.parent] = path.parent != top and self._is_ignored(path.parent, is_folder=True)
        inside = path.relative_to(top).as_posix() + ("/" if is_folder else "")
        return self._ignored[path.parent] or is_ignored(inside, files)

    def _files_for(self, folder: Path) -> tuple[Path, Sequence[IgnoreFile]]:
        """Where the repository of a folder begins, and the patterns for what is directly in the folder."""
        known = self._ignore_files.get(folder)
        if known is not None:
            return known
        is_top = (folder / ".git").exists() or folder == folder.parent
        if is_top or (folder == self._top and not self._is_in_repository(folder)):
            top = folder
            own = [read_ignore_files(folder / ".git" / "info", "", ("exclude",)), read_ignore_files(folder, "", NAMES)]
            files: tuple[IgnoreFile, ...] = ()
        else:
            top, above = self._files_for(folder.parent)
            files = tuple(above)
            own = [read_ignore_files(folder, f"{folder.relative_to(top).as_posix()}/", NAMES)]
        found = (top, (*files, *(file for file in own if file is not None)))
        self._ignore_files[folder] = found
        return found

    def _is_in_repository(self, folder: Path) -> bool:
        return any((parent / ".git").exists() for parent in folder.parents)
