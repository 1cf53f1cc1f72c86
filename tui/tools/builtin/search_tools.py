"""list_dir and glob, which do not follow links; and grep, with ripgrep or a worker process that has a time limit.

grep never searches in this process: a regular expression from a model may run forever, and only a process can be
killed.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from tui.domain.errors import ToolError
from tui.domain.format_numbers import count
from tui.domain.printable import printable
from tui.tools.builtin.processes import Command, run_to_end
from tui.tools.builtin.workspace import Workspace, WorkspacePath, opened_folder, read_intent, withheld
from tui.tools.cut_text import beginning
from tui.tools.permissions.path_patterns import alternatives, segments_match
from tui.tools.permissions.rules import Access, GuardedKind
from tui.tools.tool import CallContext, CallResult, PreparedCall, text_result

MAX_ENTRIES = 1_000
MAX_WALKED = 200_000
"""Entries visited before a search stops."""
MAX_LIST_SECONDS = 10.0
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

    async def prepare(self, arguments: BaseModel) -> PreparedCall:
        """Check the path."""
        if not isinstance(arguments, ListDirArguments):
            raise TypeError
        path = await asyncio.to_thread(self.workspace.resolve, arguments.path)

        async def perform(_: CallContext) -> CallResult:
            return await asyncio.to_thread(_listing, path)

        return PreparedCall(actions=(read_intent(self.name, path),), perform=perform)


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

    async def prepare(self, arguments: BaseModel) -> PreparedCall:
        """Check the path."""
        if not isinstance(arguments, GlobArguments):
            raise TypeError
        if ".." in arguments.pattern.split("/") or arguments.pattern.startswith(("/", "~")):
            raise ToolError("`pattern` is relative to `path` and has no `..`: give the folder as `path`.")
        path = await asyncio.to_thread(self.workspace.resolve, arguments.path)

        action = read_intent(self.name, path)

        async def perform(running: CallContext) -> CallResult:
            is_withheld = withheld(self.name, action, self.workspace.root, running)
            return await asyncio.to_thread(_found, path, arguments.pattern, is_withheld)

        return PreparedCall(actions=(action,), perform=perform)


def _listing(path: WorkspacePath) -> CallResult:
    with opened_folder(path.real) as folder:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries)
        rows = [_row(name, folder) for name in names[:MAX_ENTRIES]]
    if len(names) > MAX_ENTRIES:
        rows.append(f"({len(names) - MAX_ENTRIES:,} more entries; use glob)")
    return text_result("\n".join(rows) or "(empty)", note=count(len(names), "entry", "entries"))


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


def _found(path: WorkspacePath, pattern: str, is_withheld: Callable[[Path], bool]) -> CallResult:
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
    note = count(len(found), "file")
    if walk.why_cut:
        found.append(f"(cut: {walk.why_cut}; narrow the pattern or the path)")
    return text_result("\n".join(found) or "No file matches.", note=note)


class Walk:
    """Relative paths of the regular files below a folder; links are not followed. ``why_cut`` says why it stopped."""

    def __init__(self, root: Path, *, skipped: frozenset[str]) -> None:
        self._root = root
        self._skipped = skipped
        self._until = monotonic() + MAX_LIST_SECONDS
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
                        self.why_cut = f"{count(self._walked, 'entry', 'entries')} searched"
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


MAX_MATCHES = 1_000
MAX_LINE = 500
MAX_SECONDS = 10.0
MAX_OUTPUT = 2 * 1024 * 1024
MAX_SHOWN = 64 * 1024


class GrepArguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    pattern: Annotated[str, Field(min_length=1, max_length=2000, description="Regular expression, line by line.")]
    path: Annotated[str, Field(description="File or folder to search.")] = "."
    glob: Annotated[str, Field(max_length=1000, description="Only files whose path fits, for example `**/*.py`.")] = ""
    ignore_case: Annotated[bool, Field(description="Ignore upper and lower case.")] = False
    max_matches: Annotated[int, Field(ge=1, le=MAX_MATCHES, description="Stop after so many lines.")] = 200


@dataclass(frozen=True, slots=True)
class Grep:
    """Searches files."""

    workspace: Workspace
    environment: Mapping[str, str]
    ripgrep: str | None
    """The path of ripgrep; None uses the worker."""
    name: str = "grep"
    description: str = (
        "Search file contents with a regular expression; lines come as `path:line: text`. Leaves out binary files,"
        " caches, .git, and files that may hold secrets."
    )
    access: Access = Access.READ
    arguments: type[BaseModel] = GrepArguments

    async def prepare(self, arguments: BaseModel) -> PreparedCall:
        """Check the path."""
        if not isinstance(arguments, GrepArguments):
            raise TypeError
        path = await asyncio.to_thread(self.workspace.resolve, arguments.path)

        action = read_intent(self.name, path)

        async def perform(running: CallContext) -> CallResult:
            is_withheld = withheld(self.name, action, self.workspace.root, running)
            return await self._search(path, arguments, is_withheld, running.redact)

        return PreparedCall(actions=(action,), perform=perform)

    async def _search(
        self,
        path: WorkspacePath,
        arguments: GrepArguments,
        is_withheld: Callable[[Path], bool],
        redact: Callable[[str], str],
    ) -> CallResult:
        real = path.real
        if not await asyncio.to_thread(real.exists):
            raise ToolError(f"`{arguments.path}` does not exist.")
        # A path that was named and permitted explicitly is searched even if it is guarded.
        is_named = path.read_guard is GuardedKind.SECRET or await asyncio.to_thread(real.is_file)
        build = self._by_ripgrep if self.ripgrep else self._by_worker
        ended = await run_to_end(build(real, arguments, is_named=is_named))

        def hidden(found: Path) -> bool:
            return is_withheld(found) or (not is_named and self.workspace.holds_secrets(found))

        rows = list(_rows(ended.output.beginning(), self.workspace.root, hidden, redact))
        if ended.why_killed and not rows:
            raise ToolError(f"The search was stopped: {ended.why_killed}. Use a simpler pattern or a smaller path.")
        if not rows and ended.code not in (0, 1):
            raise ToolError(f"The search failed: {printable(ended.output.text()[:500])}")
        return _listed(rows, arguments.max_matches, ended.why_killed)

    def _by_ripgrep(self, real: Path, arguments: GrepArguments, *, is_named: bool) -> Command:
        argv = [self.ripgrep or "rg", "--no-config", "--json", "--no-messages"]
        argv += ["--max-columns", "4000", "--max-filesize", "16M", "--max-count", str(arguments.max_matches)]
        argv += ["--ignore-case"] if arguments.ignore_case else []
        argv += [f"--glob={arguments.glob}"] if arguments.glob else []
        if not is_named:
            # Only saves reading; matches in other guarded files are filtered out afterwards.
            patterns = [pattern for pattern in self.workspace.guarded.secret.patterns if pattern[0] not in "/~"]
            argv += [part for pattern in patterns for part in ("--iglob", f"!**/{pattern}")]
        argv += [f"--regexp={arguments.pattern}", "--", str(real)]
        return self._command(argv, None)

    def _by_worker(self, real: Path, arguments: GrepArguments, *, is_named: bool) -> Command:
        try:
            re.compile(arguments.pattern)
        except (re.error, OverflowError, RecursionError) as error:
            raise ToolError(f"`pattern` is not a regular expression: {error}.") from None
        glob = arguments.glob
        order = {
            "path": str(real),
            "pattern": arguments.pattern,
            "ignore_case": arguments.ignore_case,
            "globs": [one if "/" in one else f"**/{one}" for one in alternatives(glob)] if glob else [],
            "max_matches": arguments.max_matches,
            "skipped": sorted(SKIPPED),
            "secret": "" if is_named else self.workspace.guarded.secret.expression(),
        }
        worker = Path(__file__).with_name("grep_worker.py")
        return self._command([sys.executable, "-I", "-S", str(worker)], json.dumps(order).encode())

    def _command(self, argv: list[str], stdin: bytes | None) -> Command:
        return Command(
            argv=argv,
            folder=self.workspace.root,
            environment=self.environment,
            timeout_s=MAX_SECONDS,
            stdin=stdin,
            head=MAX_OUTPUT,
            tail=0,
        )


def find_ripgrep(environment: Mapping[str, str], folder: Path) -> str | None:
    """The path of ripgrep, which runs without a question: never a program from the working folder."""
    searched = [name for name in environment.get("PATH", "").split(":") if Path(name).is_absolute()]
    found = shutil.which("rg", path=":".join(searched)) if searched else None
    if found is None:
        return None
    named = Path(found).absolute()
    return None if any(folder in path.parents for path in (named, named.resolve())) else found


def _rows(output: bytes, root: Path, hidden: Callable[[Path], bool], redact: Callable[[str], str]) -> Iterator[str]:
    """Format ripgrep's JSON, which the worker also writes. Files for which ``hidden`` is true are omitted."""
    is_hidden = cache(hidden)
    for line in output.splitlines():
        try:
            message = json.loads(line)
            if message["type"] != "match":
                continue
            data = message["data"]
            path = Path(data["path"]["text"])
            text = str(data["lines"].get("text", "")).rstrip("\r\n")
            number = int(data["line_number"])
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
        if is_hidden(path):
            continue
        shown = path.relative_to(root) if path.is_relative_to(root) else path
        cut = beginning(text, MAX_LINE, redact)
        cut += f"… ({len(text) - MAX_LINE:,} more characters)" if len(text) > MAX_LINE else ""
        yield f"{printable(str(shown), keep_newlines=False)}:{number}: {cut}"


def _listed(rows: list[str], limit: int, why_killed: str) -> CallResult:
    kept: list[str] = []
    size = 0
    for row in rows[:limit]:
        size += len(row) + 1
        if size > MAX_SHOWN:
            break
        kept.append(row)
    if len(kept) < len(rows) or len(rows) >= limit:
        kept.append(f"(cut after {count(len(kept), 'line')}; there may be more: narrow the pattern or the path)")
    if why_killed:
        kept.append(f"(the search was stopped: {why_killed})")
    hits = count(min(len(rows), limit), "hit")
    return text_result("\n".join(kept) or "No line matches.", note=hits)
