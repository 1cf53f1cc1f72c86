"""Classifies paths: files that hold secrets, and files that other programs run or read automatically.

The patterns are data in ``guarded_paths.toml``. A path is compared under every name it has while its links are
resolved, ignoring case, and by file identity: ``~/.bashrc`` is recognized through a link, a hard link or a second
mount.
"""

from __future__ import annotations

import contextlib
import os
import re
import tomllib
import unicodedata
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path

DATA = Path(__file__).with_name("guarded_paths.toml")
MAX_LINKS = 40
"""The kernel's limit."""

LEVELS_NEAR_HOME = 2
MOST_NEAR_HOME = 20_000
"""Entries looked at before each command of a sandbox."""
MOST_IN_A_FOLDER = 50
_CACHES = frozenset({".cache", "node_modules", "__pycache__"})
_PUBLIC = frozenset({"ca-bundle.pem", "ca.pem", "cacert.pem", "cacerts.pem", "cert.pem", "certs.pem", "roots.pem"})
"""Certificates of authorities, without which no program can prepare a connection."""

_NOTHING = r"(?!)"
_WILDCARD = re.compile(r"[*?]")


@dataclass(frozen=True, slots=True)
class PathList:
    """One list of patterns for one home folder. ``named`` holds paths from environment variables."""

    patterns: tuple[str, ...]
    home: Path
    named: tuple[Path, ...] = ()
    aliases: tuple[tuple[Path, Path], ...] = ()
    """Pairs of folders: paths below the first are looked up below the second (XDG_CONFIG_HOME and ``~/.config``)."""
    normalized_home: str = field(init=False)
    """The home folder after ``normalized_path``, without a slash at its end."""
    _plain: tuple[tuple[str, bool], ...] = field(init=False)
    """Paths without wildcards, and whether they are folders. More than two hundred are looked up for each path."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "normalized_home", normalized_path(self.home).rstrip("/"))
        # A path from the root, such as `/etc/`, stays as it is; others are relative to the home folder.
        plain = (
            (pattern if pattern.startswith("/") else f"{self.home}/{pattern.removeprefix('~/')}", pattern.endswith("/"))
            for pattern in self.patterns
            if not _WILDCARD.search(pattern)
        )
        object.__setattr__(self, "_plain", (*plain, *((str(path), True) for path in self.named)))

    def holds(self, spellings: Sequence[Path]) -> bool:
        """Whether a path is on the list; ``spellings`` are its names, the real path last."""
        return any(map(self.fits, spellings)) or self._is_the_same_file(spellings[-1])

    def fits(self, path: Path) -> bool:
        """Whether an absolute path is on the list under this name."""
        seen = [path, *(shown / path.relative_to(real) for real, shown in self.aliases if path.is_relative_to(real))]
        return any(map(self._fits, map(normalized_path, seen)))

    def expression(self) -> str:
        """One expression that matches a path after ``normalized_path``, for another process."""
        below_home, elsewhere = _expressions(self.patterns)
        home = re.escape(self.normalized_home)
        named = [f"^{re.escape(normalized_path(path))}(?:/|$)" for path in self.named]
        return "|".join((elsewhere.pattern, f"^{home}(?:{below_home.pattern})", *named))

    def _fits(self, path: str) -> bool:
        below_home, elsewhere = _expressions(self.patterns)
        return (
            elsewhere.search(path) is not None
            or (
                path.startswith(f"{self.normalized_home}/")
                and below_home.match(path, len(self.normalized_home)) is not None
            )
            or any(f"{path}/".startswith(f"{normalized_path(one)}/") for one in self.named)
        )

    def existing(self) -> list[Path]:
        """Existing paths that match patterns below the home folder or from the root, in any letter case."""
        plain = [Path(path) for path, _ in self._plain if _identity(path) is not None]
        return list(dict.fromkeys((*plain, *self._fitting())))

    def near_home(self, project: Path) -> list[Path]:
        """Existing files near home with names that are guarded in every folder, except those of the project.

        Looked at are the first two levels below the home folder, its ``.config``, its ``.local/share`` and the folders
        that variables put in their place, hidden ones first.
        """
        around = (project, *project.parents)
        shapes = [_name(pattern) for pattern in self.patterns if "/" not in pattern]
        fits = re.compile("|".join(shapes))
        settings = [
            self.home / ".config",
            self.home / ".local" / "share",
            *(real for real, shown in self.aliases if shown.name not in _CACHES),
        ]
        waiting = deque((folder, LEVELS_NEAR_HOME) for folder in (self.home, *settings))
        found: list[Path] = []
        seen: set[Path] = set()
        left = MOST_NEAR_HOME
        while waiting and left > 0:
            folder, levels = waiting.popleft()
            if folder in seen or folder.name in _CACHES:
                continue
            seen.add(folder)
            files, folders = _files_and_folders(folder, left)
            left -= len(files) + len(folders)
            if levels:
                waiting += [(folder / name, levels - 1) for name in sorted(folders, key=_shown_last)]
            small = {name: normalized_path(Path(name)) for name in files}
            guarded = [folder / name for name in files if fits.fullmatch(small[name]) and small[name] not in _PUBLIC]
            # Each one is a mount of its own in the sandbox.
            at_once = len(guarded) > MOST_IN_A_FOLDER and folder not in (self.home, *settings, *around)
            found += [folder] if at_once else guarded
        if project not in (self.home, *self.home.parents):
            # The project's commands may need its `.env` files.
            found = [path for path in found if project not in path.resolve().parents]
        return found

    def _moved(self) -> Iterator[tuple[Path, str]]:
        """Folders that a variable moves, each with the rest of the patterns that apply there."""
        for real, shown in self.aliases:
            start = f"{shown.relative_to(self.home)}/"
            for pattern in self.patterns:
                if pattern.removeprefix("~/").startswith(start):
                    yield real, pattern.removeprefix("~/").removeprefix(start)

    def _fitting(self) -> Iterator[Path]:
        names = cache(_names_in)
        starts = [(Path("/") if one.startswith("/") else self.home, one.removeprefix("~/")) for one in self.patterns]
        for start, pattern in (*starts, *self._moved()):
            has_wildcard = _WILDCARD.search(pattern) is not None
            if pattern.startswith("/proc/") or (pattern.startswith("/") and not has_wildcard):
                continue
            found = [start]
            for part in pattern.strip("/").split("/"):
                found = [path / name for path in found for name in _called(part, names(path))]
            # `credentials*` means files: a folder with such a name may be a project.
            yield from (path for path in found if not has_wildcard or path.is_dir() == pattern.endswith("/"))

    def _is_the_same_file(self, real: Path) -> bool:
        own = _identity(real)
        above = {own, *map(_identity, real.parents)}
        found = ((_identity(path), is_folder) for path, is_folder in self._plain)
        return any(one is not None and (one in above if is_folder else one == own) for one, is_folder in found)


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedPaths:
    secret: PathList
    """Reading needs permission, and searches skip it."""
    startup: PathList
    """Writing always needs permission."""


def guarded_paths(home: Path, environment: Mapping[str, str], run_by_git: Sequence[Path] = ()) -> GuardedPaths:
    """Build the lists for a home folder (a real path), variables that move files, and files that git runs."""
    data = _data()
    aliases = tuple(
        (Path(environment[name]), home / place)
        for name, place in data["folders_by_variable"].items()
        if isinstance(place, str) and _is_below_something(environment.get(name, ""), home)
    )

    def listed(table: str, also: Sequence[Path] = ()) -> PathList:
        patterns = [pattern for group in data[table].values() for pattern in group]
        named = _named(data[f"{table}_variables"]["names"], environment, home)
        return PathList(tuple(dict.fromkeys(patterns)), home, (*named, *also), aliases)

    return GuardedPaths(secret=listed("secret"), startup=listed("startup", run_by_git))


def spellings(path: Path) -> list[Path]:
    """All names of an absolute path while its links are resolved, one after the other."""
    found = [path]
    for _ in range(MAX_LINKS):
        further = _one_link_further(found[-1])
        if further is None:
            break
        found.append(further)
    return found


def normalized_path(path: Path) -> str:
    """Normalize a path as case-insensitive file systems do, including characters they drop or ignore."""
    text = str(path)
    if not text.isascii():
        text = "".join(one for one in unicodedata.normalize("NFKC", text) if unicodedata.category(one) != "Cf")
    return "/".join(part.rstrip(". ") or part for part in text.casefold().split("/"))


def _one_link_further(path: Path) -> Path | None:
    """Apply ``..`` up to the first link and replace that link; None if nothing changes."""
    done = Path(path.anchor)
    parts = path.parts[1:]
    for at, part in enumerate(parts):
        if part == "..":
            done = done.parent
            continue
        try:
            target = (done / part).readlink()
        except (OSError, ValueError):
            done /= part
            continue
        return done.joinpath(target, *parts[at + 1 :])
    return done if done != path else None


@cache
def _expressions(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Expressions for normalized paths: for what follows the home folder, and for whole paths.

    They do not contain the home folder, so that there is one pair for each list: compiling one takes 8 ms.
    """
    below_home = [_expression(one.removeprefix("~/")) for one in patterns if one.startswith("~/")]
    elsewhere = [
        f"^{_expression(one)}" if one.startswith("/") else _expression(one)
        for one in patterns
        if not one.startswith("~/")
    ]
    return re.compile("|".join(below_home) or _NOTHING), re.compile("|".join(elsewhere) or _NOTHING)


def _expression(pattern: str) -> str:
    """Convert a pattern to a regular expression that begins with a slash."""
    names = "/".join(_name(name) for name in pattern.strip("/").split("/"))
    return f"/{names}{'(?:/|$)' if pattern.endswith('/') else '$'}"


@cache
def _name(pattern: str) -> str:
    folded_name = normalized_path(Path(pattern))
    if not _WILDCARD.search(folded_name):
        return re.escape(folded_name)
    return "".join({"*": "[^/]*", "?": "[^/]"}.get(one, re.escape(one)) for one in folded_name)


def _named(names: Iterable[str], environment: Mapping[str, str], home: Path) -> tuple[Path, ...]:
    parts = [part for name in names for part in environment.get(name, "").split(":")]
    return tuple(Path(part) for part in dict.fromkeys(parts) if _is_below_something(part, home))


def _is_below_something(text: str, home: Path) -> bool:
    """False for the home folder and its parents: ZDOTDIR is often the home folder, and all of it would be guarded."""
    path = Path(text)
    return path.is_absolute() and "\0" not in text and path != home and path not in home.parents


def _names_in(folder: Path) -> dict[str, list[str]]:
    """Names of existing entries, by their normalized form."""
    found: dict[str, list[str]] = {}
    try:
        for name in os.listdir(folder):  # noqa: PTH208 - only names
            found.setdefault(normalized_path(Path(name)), []).append(name)
    except OSError:
        return {}
    return found


def _called(pattern: str, names: Mapping[str, list[str]]) -> list[str]:
    """The names that match one part of a pattern."""
    if not _WILDCARD.search(pattern):
        return names.get(normalized_path(Path(pattern)), [])
    fits = re.compile(_name(pattern))
    return [name for small, known in names.items() if fits.fullmatch(small) for name in known]


def _files_and_folders(folder: Path, most: int) -> tuple[list[str], list[str]]:
    """Names of the first entries of a folder."""
    files: list[str] = []
    folders: list[str] = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in islice(entries, most):
            (folders if entry.is_dir() else files).append(entry.name)
    return files, folders


def _shown_last(name: str) -> tuple[bool, str]:
    return not name.startswith("."), name


def _identity(path: Path | str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116  # making 200 paths takes twice as long as looking them up
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


@cache
def _data() -> Mapping[str, Mapping[str, Sequence[str]]]:
    return tomllib.loads(DATA.read_text(encoding="utf-8"))
