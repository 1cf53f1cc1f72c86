"""Existing files and folders that rules about reading and writing keep from commands in the sandbox."""

from __future__ import annotations

import os
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from tui.tools.permissions.rules import Access, RequestedAccess, Rule, RuleBook, RuleEffect, folded

MOST_ENTRIES = 200_000
"""Entries visited for the patterns of one access."""

_TOOLS = {Access.READ: ("read_file",), Access.WRITE: ("write_file", "edit_file")}


@dataclass(slots=True)
class RuledPaths:
    """What commands must not read or write because a rule denies it or asks."""

    unreadable: list[Path] = field(default_factory=list)
    unwritable: list[Path] = field(default_factory=list)
    complete: bool = True
    """Whether everything was found that the patterns match."""


def ruled_paths(book: RuleBook) -> RuledPaths:
    """Find them. Rules without a pattern, or for a whole working folder, are about the tools only. Blocks."""
    found = RuledPaths()
    for access, paths in ((Access.READ, found.unreadable), (Access.WRITE, found.unwritable)):
        rules = [rule for rule in (*book.rules, *book.session) if _restricts(rule, access)]
        left = MOST_ENTRIES
        listed: dict[Path, list[str]] = {}
        for rule in rules:
            left = _add(paths, book, rule, left, listed)
        found.complete = found.complete and left > 0
    return found


def _restricts(rule: Rule, access: Access) -> bool:
    if rule.effect is RuleEffect.ALLOW or rule.pattern is None or not rule.is_about_paths:
        return False
    return any(rule.covers(RequestedAccess(tool=tool, access=access)) for tool in _TOOLS[access])


def _add(paths: list[Path], book: RuleBook, rule: Rule, left: int, listed: dict[Path, list[str]]) -> int:
    """Add what the rule matches; returns how many further entries may be visited."""
    start, rest = book.split(rule)
    here = Path(book.folder)
    starts, left = _spellings(start, left, listed)
    if not rest or set(rest) == {"**"}:
        paths += [one for one in starts if one != here and one not in here.parents]
        return left
    waiting = deque(starts)
    while waiting and left > 0:
        try:
            with os.scandir(waiting.popleft()) as scanned:
                entries = list(scanned)
        except OSError:
            continue
        left -= len(entries)
        for entry in entries:
            if book.fits_path(rule, entry.path):
                paths.append(Path(entry.path))
            elif entry.is_dir(follow_symlinks=False):
                waiting.append(Path(entry.path))
    return left


def _spellings(path: Path, left: int, listed: dict[Path, list[str]]) -> tuple[list[Path], int]:
    """The path and all existing ones that a rule does not tell from it; and how many further entries may be visited.

    ``listed`` keeps the names in folders that several rules have in common.
    """
    found = [Path(path.anchor)]
    for part in path.parts[1:]:
        longer: list[Path] = []
        for folder in found:
            if folder not in listed and left > 0:
                listed[folder] = _names(folder)
                left -= len(listed[folder])
            same = {name for name in listed.get(folder, ()) if folded(name) == folded(part)}
            longer += [folder / name for name in sorted({part, *same})]
        found = longer
    return found, left


def _names(folder: Path) -> list[str]:
    try:
        return [one.name for one in folder.iterdir()]
    except OSError:
        return []
