"""Files outside ``.git`` that git runs or reads: paths named in its configuration, and bare repositories."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

OBEYED = frozenset({"head", "commondir", "config", "config.worktree", "hooks", "info"})
REPOSITORIES = (frozenset({"head", "objects", "refs"}), frozenset({"head", "commondir"}))
"""Lower-case names. Git treats a folder with all names of one set as a repository, whatever the folder is called;
``commondir`` names the folder with the rest of it.
"""
MOST_READ = 256 * 1024
MOST_FILES = 32
"""Configuration files read; they may include each other."""

_SECTION = re.compile(r"\s*\[\s*([\w.-]+)")
_VALUE = re.compile(r"\s*([A-Za-z][\w-]*)\s*=\s*(.*)")
_RUNS = frozenset(
    (
        *("alternaterefscommand", "askpass", "clean", "cmd", "command", "defaultkeycommand", "difffilter", "driver"),
        *("editor", "external", "fsmonitor", "gitproxy", "helper", "packobjectshook", "pager", "process", "program"),
        *(
            "receivepack",
            "recentobjectshook",
            "smudge",
            "sshcommand",
            "templatedir",
            "textconv",
            "update",
            "uploadpack",
        ),
    )
)
_TOOLS = frozenset({"browser", "difftool", "guitool", "man", "mergetool"})
"""Sections in which ``path`` is a program."""
_BETWEEN_WORDS = re.compile(r"""[\s;|&"'()!$`\\]+""")


def named_by_git(folder: Path, home: Path) -> tuple[Path, ...]:
    """Files and folders named in the configuration of the folder's repository and of the user. Real paths."""
    for root in (folder, *folder.parents):
        repository = _repository_of(root / ".git")
        if repository is not None:
            ours = (repository / "config", repository / "config.worktree", _common(repository) / "config")
            files = (*ours, home / ".gitconfig", home / ".config" / "git" / "config")
            found = _named_in(dict.fromkeys(files), root, home)
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


def _named_in(files: Iterable[Path], root: Path, home: Path) -> list[Path]:
    """What the files name, and what the files name that they include."""
    found: list[Path] = []
    waiting, seen = list(files), 0
    while waiting and seen < MOST_FILES:
        file, seen = waiting.pop(0), seen + 1
        for section, key, value in _settings(_text(file)):
            if key == "hookspath" or (key == "path" and section in _TOOLS):
                found.append(root / _from_home(value, home))
            elif key == "path" and section.startswith("include"):
                included = file.parent / _from_home(value, home)
                found.append(included)
                waiting.append(included)
            elif key in _RUNS or section in ("alias", "pager"):
                found += [root / _from_home(word, home) for word in _BETWEEN_WORDS.split(value) if "/" in word]
    return [real for path in found if (real := _real(path)) is not None]


def _settings(text: str) -> Iterator[tuple[str, str, str]]:
    """Section, key and value of each line, names in lower case."""
    section = ""
    for line in text.replace("\\\n", "").splitlines():
        opened = _SECTION.match(line)
        section = opened[1].lower() if opened else section
        given = _VALUE.match(line[line.find("]") + 1 :] if opened else line)
        if given is not None:
            yield section, given[1].lower(), _value(given[2])


def _value(text: str) -> str:
    """A value without quotes and without the comment behind it."""
    found, quoted = "", False
    for at, sign in enumerate(text):
        if sign == '"' and text[at - 1 : at] != "\\":
            quoted = not quoted
        elif sign in "#;" and not quoted:
            break
        else:
            found += sign
    return found.strip()


def _from_home(value: str, home: Path) -> str:
    return str(home / value[2:]) if value.startswith("~/") else value


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
