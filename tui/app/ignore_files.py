"""Patterns of ``.gitignore`` and ``.ignore`` files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

NAMES = (".gitignore", ".ignore")
"""The later one has precedence."""
LARGEST = 200_000
"""Bytes of a file that is read; a larger one is not a list of patterns."""
MOST_PATTERNS = 1_000


@dataclass(frozen=True, slots=True)
class IgnoreFile:
    """The patterns of the files in one folder, in their order."""

    start: str
    """What paths in that folder begin with: "" or ``folder/``."""
    patterns: tuple[tuple[re.Pattern[str], bool], ...]
    """Each with whether it ignores."""
    above: str = ""
    """What is in front of those paths if the patterns are those of a folder further up."""
    any_pattern: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        """Most paths match no pattern; one expression checks this."""
        object.__setattr__(self, "any_pattern", re.compile("|".join(found.pattern for found, _ in self.patterns)))

    def ignores(self, path: str) -> bool | None:
        """Whether the last pattern that fits ignores the path, which for a folder ends with ``/``; None if none."""
        inside = self.above + path[len(self.start) :]
        if self.any_pattern.fullmatch(inside) is None:
            return None
        return next(ignores for pattern, ignores in reversed(self.patterns) if pattern.fullmatch(inside))


def is_ignored(path: str, files: Sequence[IgnoreFile]) -> bool:
    """Whether a path is ignored; ``files`` are those of its folders, the innermost last."""
    return next((verdict for file in reversed(files) if (verdict := file.ignores(path)) is not None), False)


def read_ignore_files(
    folder: Path, start: str, names: Sequence[str] = NAMES, inside: Path | None = None
) -> IgnoreFile | None:
    """The patterns in a folder; None if there are none. Files that cannot be read count as empty. Blocking.

    ``inside`` is where the paths begin, seen from that folder.
    """
    lines = [line for name in names for line in _lines(folder / name)]
    patterns = [found for line in lines[:MOST_PATTERNS] if (found := read_pattern(line)) is not None]
    above = f"{inside.as_posix()}/" if inside is not None and inside.parts else ""
    return IgnoreFile(start, tuple(patterns), above) if patterns else None


def _lines(path: Path) -> list[str]:
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST:
            return []
        return path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []


def read_pattern(line: str) -> tuple[re.Pattern[str], bool] | None:
    """A line as an expression for paths relative to its folder, and whether it ignores; None if it has no pattern."""
    text = line if line.endswith("\\ ") else line.rstrip(" \t")
    ignores = not text.startswith("!")
    text = text.removeprefix("!")
    if not text or text.startswith("#"):
        return None
    only_folders = text.endswith("/")
    text = text.rstrip("/")
    is_anchored = "/" in text
    body = _expression(text.lstrip("/"))
    if body is None:
        return None
    return re.compile(f"{'' if is_anchored else '(?:.*/)?'}{body}{'/' if only_folders else '/?'}", re.DOTALL), ignores


def _expression(pattern: str) -> str | None:
    """None for a pattern that is not complete, which fits nothing.

    A part that a wildcard is followed by is taken where it comes first, and nowhere else: trying all places of several
    takes for ever (``*a*a*a*b``), and nothing else runs meanwhile.
    """
    parts: list[list[str]] = [[""]]
    """Between two ``**/``: what is between two ``*``."""
    at = 0
    while at < len(pattern):
        one = pattern[at]
        at += 1
        if pattern.startswith("**/", at - 1) and (at == 1 or pattern[at - 2] == "/"):
            parts, at = [*parts, [""]], at + 2
        elif pattern[at - 1 :] == "**" and pattern[: at - 1].endswith("/"):
            return _joined(parts, ".+")
        elif one == "*":
            while pattern.startswith("*", at):
                at += 1
            parts[-1].append("")
        elif one == "/":
            parts[-1][-1] += "/"
        elif one == "[":
            end = pattern.find("]", at + 1 + pattern.startswith(("!", "^"), at))
            if end < 0:
                return None
            parts[-1][-1] += _class(pattern[at:end])
            at = end + 1
        elif one == "\\" and at < len(pattern):
            parts[-1][-1] += re.escape(pattern[at])
            at += 1
        else:
            parts[-1][-1] += "[^/]" if one == "?" else re.escape(one)
    return _joined(parts, "")


def _joined(parts: Sequence[Sequence[str]], end: str) -> str:
    found = ""
    for number, (first, *others) in enumerate(parts):
        is_last = number == len(parts) - 1 and not end
        early, late = (others[:-1], others[-1:]) if is_last else (others, [])
        body = first + "".join(f"(?>[^/]*?{part})" for part in early) + "".join(f"[^/]*{part}" for part in late)
        if number:
            body = f"(?:[^/]+/)*{body}" if is_last else f"(?>(?:[^/]+/)*?{body})"
        found += body
    return found + end


def _class(text: str) -> str:
    negated = text.startswith(("!", "^"))
    inside = re.sub(r"([\\\[\]&~|^])", r"\\\1", text[negated:])
    try:
        re.compile(f"[{inside}]")
    except re.error:
        return "(?!)"
    return f"(?!/)[{'^' if negated else ''}{inside}]"
