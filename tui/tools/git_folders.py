"""Files outside ``.git`` that git runs or reads: paths named in its configuration, and bare repositories."""

from __future__ import annotations

import os
import re
from pathlib import Path

OBEYED = frozenset({"head", "commondir", "config", "config.worktree", "hooks", "info"})
REPOSITORIES = (frozenset({"head", "objects", "refs"}), frozenset({"head", "commondir"}))
"""Lower-case names. Git treats a folder with all names of one set as a repository, whatever the folder is called;
``commondir`` names the folder with the rest of it.
"""
MOST_READ = 256 * 1024

_SECTION = re.compile(r"\s*\[\s*([\w.-]+)")
_VALUE = re.compile(r"\s*([A-Za-z][\w-]*)\s*=\s*(.*)")
_RUNS = frozenset(
    (
        *("askpass", "clean", "cmd", "command", "driver", "editor", "external", "fsmonitor", "helper", "pager"),
        *("process", "program", "smudge", "sshcommand", "textconv"),
    )
)
_BETWEEN_WORDS = re.compile(r"""[\s;|&"'()!$`\\]+""")


def named_by_git(folder: Path) -> tuple[Path, ...]:
    """Files and folders named in the configuration of the folder's repository. ``folder`` is a real path."""
    for root in (folder, *folder.parents):
        repository = _repository_of(root / ".git")
        if repository is not None:
            files = (repository / "config", repository / "config.worktree", _common(repository) / "config")
            found = [path for file in dict.fromkeys(files) for path in _named_in(file, root)]
            return tuple(path for path in dict.fromkeys(found) if folder in path.parents)
    return ()


def is_of_repository(real: Path) -> bool:
    """Whether git reads the file because its folder is a repository, or becomes one through this file."""
    return real.name.lower() == "head" or any(
        inner.name.lower() in OBEYED and os.path.lexists(outer / "HEAD") and _has_rest(outer)  # noqa: TID251 - also links
        for inner, outer in zip((real, *real.parents), real.parents, strict=False)
    )


def _has_rest(folder: Path) -> bool:
    return any(os.path.lexists(folder / name) for name in ("objects", "commondir"))  # noqa: TID251 - also links


def _repository_of(path: Path) -> Path | None:
    if path.is_dir():
        return path
    target = _text(path).partition("gitdir:")[2].strip()
    return path.parent / target if target else None


def _common(repository: Path) -> Path:
    return repository / (_text(repository / "commondir").strip() or ".")


def _named_in(file: Path, root: Path) -> list[Path]:
    found: list[Path] = []
    section = ""
    for line in _text(file).splitlines():
        opened = _SECTION.match(line)
        section = opened[1].lower() if opened else section
        given = _VALUE.match(line[line.find("]") + 1 :] if opened else line)
        if given is None:
            continue
        key, value = given[1].lower(), given[2].strip().strip('"')
        if key == "hookspath":
            found.append(root / value)
        elif key == "path" and section.startswith("include"):
            found.append(file.parent / value)
        elif key in _RUNS or section == "alias":
            found += [root / word for word in _BETWEEN_WORDS.split(value) if "/" in word]
    return [real for path in found if (real := _real(path)) is not None]


def _real(path: Path) -> Path | None:
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        return None


def _text(path: Path) -> str:
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            return file.read(MOST_READ).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""
