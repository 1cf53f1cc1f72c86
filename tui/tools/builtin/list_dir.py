"""list_dir and glob: list files without following links."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from tui.domain.counting import count
from tui.domain.errors import ToolError
from tui.domain.printable import printable
from tui.tools.builtin.file_intents import read_intent, withheld
from tui.tools.builtin.workspace import Workspace, WorkspacePath, opened_folder
from tui.tools.permissions.path_patterns import alternatives, segments_match
from tui.tools.permissions.rules import Access
from tui.tools.tool import Job, Outcome, Prepared, text_outcome

MAX_ENTRIES = 1_000
MAX_WALKED = 200_000
"""Entries visited before a search stops."""
MAX_SECONDS = 10.0
SKIPPED = frozenset({".git", ".hg", ".svn", "node_modules", ".venv", "__pycache__", ".mypy_cache", ".ruff_cache"})
"""Folders a search skips unless its pattern names them."""


class ListDirArguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    path: Annotated[str, Field(description="Folder, relative to the working folder or absolute.")] = "."


class GlobArguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    pattern: Annotated[str, Field(min_length=1, max_length=1000, description="For example `src/**/*.{ts,tsx}`.")]
    path: Annotated[str, Field(description="Folder to search.")] = "."


@dataclass(frozen=True, slots=True)
class ListDir:
    """Lists a folder."""

    workspace: Workspace
    name: str = "list_dir"
    description: str = "List a folder: folders end with `/`, files with their size, links with their target."
    access: Access = Access.READ
    arguments: type[BaseModel] = ListDirArguments

    async def prepare(self, arguments: BaseModel) -> Prepared:
        """Check the path."""
        if not isinstance(arguments, ListDirArguments):
            raise TypeError
        path = await asyncio.to_thread(self.workspace.resolve, arguments.path)

        async def perform(_: Job) -> Outcome:
            return await asyncio.to_thread(_listing, path)

        return Prepared(intents=(read_intent(self.name, path),), perform=perform)


@dataclass(frozen=True, slots=True)
class Glob:
    """Finds files by name."""

    workspace: Workspace
    name: str = "glob"
    description: str = (
        "Find files by a pattern over their path (`*` within a name, `**` over folders, `{a,b}`). Leaves out .git,"
        " node_modules, .venv and caches unless named. At most 1,000 paths."
    )
    access: Access = Access.READ
    arguments: type[BaseModel] = GlobArguments

    async def prepare(self, arguments: BaseModel) -> Prepared:
        """Check the path."""
        if not isinstance(arguments, GlobArguments):
            raise TypeError
        if ".." in arguments.pattern.split("/") or arguments.pattern.startswith(("/", "~")):
            raise ToolError("`pattern` is relative to `path` and has no `..`: give the folder as `path`.")
        path = await asyncio.to_thread(self.workspace.resolve, arguments.path)

        intent = read_intent(self.name, path)

        async def perform(job: Job) -> Outcome:
            is_withheld = withheld(self.name, intent, self.workspace.root, job)
            return await asyncio.to_thread(_found, path, arguments.pattern, is_withheld)

        return Prepared(intents=(intent,), perform=perform)


def _listing(path: WorkspacePath) -> Outcome:
    with opened_folder(path.real) as folder:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries)
        rows = [_row(name, folder) for name in names[:MAX_ENTRIES]]
    if len(names) > MAX_ENTRIES:
        rows.append(f"({len(names) - MAX_ENTRIES:,} more entries; use glob)")
    return text_outcome("\n".join(rows) or "(empty)")


def _row(name: str, folder: int) -> str:
    shown = printable(name, keep_newlines=False)
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return shown
    if stat.S_ISDIR(status.st_mode):
        return f"{shown}/"
    if stat.S_ISLNK(status.st_mode):
        return f"{shown} -> {printable(os.readlink(name, dir_fd=folder), keep_newlines=False)}"
    return f"{shown}  {status.st_size:,}" if stat.S_ISREG(status.st_mode) else f"{shown}  (special file)"


def _found(path: WorkspacePath, pattern: str, is_withheld: Callable[[Path], bool]) -> Outcome:
    patterns = [one.strip("/").split("/") for one in alternatives(pattern)]
    named = {part for one in patterns for part in one}
    found: list[str] = []
    walk = Walk(path.real, skipped=SKIPPED - named)
    for parts in walk:
        if any(segments_match(parts, one) for one in patterns) and not is_withheld(path.real.joinpath(*parts)):
            found.append(printable("/".join(parts), keep_newlines=False))
            if len(found) >= MAX_ENTRIES:
                walk.why_cut = f"more than {MAX_ENTRIES:,} matches"
                break
    found.sort()
    if walk.why_cut:
        found.append(f"(cut: {walk.why_cut}; narrow the pattern or the path)")
    return text_outcome("\n".join(found) or "No file matches.")


class Walk:
    """Relative paths of the regular files below a folder; links are not followed. ``why_cut`` says why it stopped."""

    def __init__(self, root: Path, *, skipped: frozenset[str]) -> None:
        self._root = root
        self._skipped = skipped
        self._until = monotonic() + MAX_SECONDS
        self._walked = 0
        self.why_cut = ""

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        """Yield path segments, one folder at a time."""
        waiting: list[tuple[str, ...]] = [()]
        while waiting and not self.why_cut:
            parts = waiting.pop()
            folders: list[tuple[str, ...]] = []
            for name, is_folder in self._entries(parts):
                if is_folder:
                    folders.append((*parts, name))
                else:
                    yield (*parts, name)
            waiting += reversed(folders)

    def _entries(self, parts: tuple[str, ...]) -> list[tuple[str, bool]]:
        entries: list[tuple[str, bool]] = []
        try:
            with os.scandir(self._root.joinpath(*parts)) as listed:
                for entry in listed:
                    self._walked += 1
                    if self._walked > MAX_WALKED or monotonic() > self._until:
                        self.why_cut = f"{count(self._walked, 'entry', 'entries')} looked at"
                        break
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name not in self._skipped:
                            entries.append((entry.name, True))
                    elif entry.is_file(follow_symlinks=False):
                        entries.append((entry.name, False))
        except OSError as error:
            if not parts:
                raise ToolError(f"`{self._root}`: {error.strerror}.") from None
        return sorted(entries)
