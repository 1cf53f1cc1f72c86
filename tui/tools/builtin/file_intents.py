"""Builds the intents for reading and writing a path."""

from __future__ import annotations

import glob as glob_patterns
from pathlib import Path

from tui.tools.builtin.workspace import WorkspacePath
from tui.tools.permissions.permissions import offered
from tui.tools.permissions.rules import Access, GuardedKind, RequestedAccess
from tui.tools.tool import Intent, on_a_line


def read_intent(tool: str, place: WorkspacePath) -> Intent:
    """Reading a file or listing a folder."""
    guard = place.read_guard
    where = "" if place.inside else " outside the working folder"
    return Intent(
        wish=RequestedAccess(tool=tool, access=Access.READ, target=str(place.real), inside=place.inside, guard=guard),
        summary=f"Read {place.shown}{where}",
        note=on_a_line(place.real),
        patterns=offered("read", (_literal(place.real), *_folder_pattern(place, guard))),
    )


def write_intent(tool: str, place: WorkspacePath, summary: str, diff: str) -> Intent:
    """Writing a file; ``session`` allows the working folder, or only the file if it lies outside."""
    guard = place.write_guard
    literal = _literal(place.real)
    offers = () if guard is GuardedKind.ALWAYS_ASKS else offered("write", (literal, *_folder_pattern(place, guard)))
    return Intent(
        wish=RequestedAccess(tool=tool, access=Access.WRITE, target=str(place.real), inside=place.inside, guard=guard),
        summary=summary,
        detail=diff,
        note=on_a_line(place.real),
        patterns=offers,
        session="write(**)" if place.inside and guard is GuardedKind.NONE else "",
    )


def _literal(path: Path) -> str:
    return glob_patterns.escape(str(path))


def _folder_pattern(place: WorkspacePath, guard: GuardedKind) -> tuple[str, ...]:
    return () if guard is not GuardedKind.NONE else (f"{_literal(place.real.parent)}/**",)
