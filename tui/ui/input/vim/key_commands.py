"""Reads the keys of normal and visual mode: counts, operators, motions, text objects and arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tui.ui.input.vim.text_objects import OBJECTS

OPERATORS = frozenset("dcy<>")
FINDS = frozenset("fFtT")
MOTIONS = frozenset("hjklwWbBeE0^$;,G%{}")
AFTER_G = {"g": "gg", "e": "ge", "E": "gE"}
NORMAL = frozenset("iaIAoOxXsSDCYJ~pPuvV.") | {"ctrl+r"}
VISUAL = OPERATORS | frozenset("xXsSDCYRJ~uUpPoOvV")
MOST = 100_000
"""The largest count."""


class NotACommand(Exception):
    """These keys mean nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyCommand:
    """One command."""

    key: str
    """An operator, a motion or another command."""
    motion: str = ""
    """What an operator works on; the operator's own key for lines."""
    character: str = ""
    """What ``f`` looks for and ``r`` writes."""
    count: int | None = None

    @property
    def times(self) -> int:
        return self.count or 1


def read_keys(keys: Sequence[str], *, visual: bool) -> KeyCommand | None:
    """The command that these keys are; None if more must follow. Raises NotACommand."""
    count, at = _count(keys, 0)
    if at == len(keys):
        return None
    key = keys[at]
    if not visual and key in OPERATORS:
        return _operation(keys, at, count)
    if key in (VISUAL if visual else NORMAL):
        return KeyCommand(key=key, count=count)
    found = _motion(keys, at, objects=visual, takes_character=FINDS | {"r"})
    return KeyCommand(key=found[0], character=found[1], count=count) if found is not None else None


def _operation(keys: Sequence[str], at: int, count: int | None) -> KeyCommand | None:
    operator = keys[at]
    more, at = _count(keys, at + 1)
    if more is not None:
        count = min((count or 1) * more, MOST)
    if at == len(keys):
        return None
    if keys[at] == operator:
        return KeyCommand(key=operator, motion=operator, count=count)
    motion = _motion(keys, at, objects=True)
    return None if motion is None else KeyCommand(key=operator, motion=motion[0], character=motion[1], count=count)


def _motion(
    keys: Sequence[str], at: int, *, objects: bool, takes_character: frozenset[str] = FINDS
) -> tuple[str, str] | None:
    """The motion and its character; None if a key is missing."""
    key = keys[at]
    following = keys[at + 1] if at + 1 < len(keys) else None
    if key in MOTIONS:
        return key, ""
    if key in takes_character:
        return None if following is None else (key, following)
    if key == "g" and (following is None or following in AFTER_G):
        return None if following is None else (AFTER_G[following], "")
    if objects and key in ("i", "a") and (following is None or following in OBJECTS):
        return None if following is None else (key + following, "")
    raise NotACommand


def _count(keys: Sequence[str], at: int) -> tuple[int | None, int]:
    digits = ""
    while at < len(keys) and keys[at] in "0123456789" and (digits or keys[at] != "0"):
        digits += keys[at]
        at += 1
    return (min(int(digits[:6]), MOST) if digits else None), at
