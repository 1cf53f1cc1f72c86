"""Builds the intents for reading and writing a path."""

from __future__ import annotations

import glob as glob_patterns
from collections.abc import Callable
from pathlib import Path

from tui.tools.builtin.workspace import WorkspacePath
from tui.tools.permissions.permissions import offered
from tui.tools.permissions.rules import Access, GuardedKind, RequestedAccess
from tui.tools.tool import Intent, Job, on_a_line


def read_intent(tool: str, path: WorkspacePath) -> Intent:
    """Reading a file or listing a folder."""
    guard = path.read_guard
    where = "" if path.inside else " outside the working folder"
    return Intent(
        requested=RequestedAccess(
            tool=tool, access=Access.READ, target=str(path.real), inside=path.inside, guard=guard
        ),
        summary=f"Read {path.shown}{where}",
        note=on_a_line(path.real),
        patterns=offered("read", (_literal(path.real), *_folder_pattern(path, guard))),
    )


def write_intent(tool: str, path: WorkspacePath, summary: str, diff: str) -> Intent:
    """Writing a file; ``session`` allows the working folder, or only the file if it lies outside."""
    guard = path.write_guard
    literal = _literal(path.real)
    offers = () if guard is GuardedKind.ALWAYS_ASKS else offered("write", (literal, *_folder_pattern(path, guard)))
    return Intent(
        requested=RequestedAccess(
            tool=tool, access=Access.WRITE, target=str(path.real), inside=path.inside, guard=guard
        ),
        summary=summary,
        detail=diff,
        note=on_a_line(path.real),
        patterns=offers,
        session="write(**)" if path.inside and guard is GuardedKind.NONE else "",
    )


def withheld(tool: str, agreed: Intent, root: Path, job: Job) -> Callable[[Path], bool]:
    """Tells which files of a search the user's rules deny or ask about, although the folder may be read."""

    def is_withheld(real: Path) -> bool:
        inside = root in real.parents
        requested = RequestedAccess(tool=tool, access=Access.READ, target=str(real), inside=inside)
        return job.withholds(requested, agreed.requested)

    return is_withheld


def _literal(path: Path) -> str:
    return glob_patterns.escape(str(path))


def _folder_pattern(path: WorkspacePath, guard: GuardedKind) -> tuple[str, ...]:
    return () if guard is not GuardedKind.NONE else (f"{_literal(path.real.parent)}/**",)
