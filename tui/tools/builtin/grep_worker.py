"""A standalone script (standard library only) that searches files and writes matches in ripgrep's JSON format.

Files are opened relative to their folder's descriptor, without following links.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MAX_FILE = 16 * 1024 * 1024
MAX_SCANNED_LINE = 20_000


def main() -> None:
    """Read the request from stdin and write matches to stdout."""
    order = json.load(sys.stdin)
    find = re.compile(order["pattern"], re.IGNORECASE if order["ignore_case"] else 0).search
    for path, data in files(Path(order["path"]), order):
        if b"\0" in data[:8192]:
            continue
        # For each file, as ripgrep counts: matches in files that are not shown must not end the search.
        left = int(order["max_matches"])
        for number, line in enumerate(data.decode(errors="replace").split("\n"), 1):
            if find(line[:MAX_SCANNED_LINE]):
                print(json.dumps(_match(path, number, line)), flush=True)  # noqa: T201 - stdout is what it is for
                left -= 1
                if left <= 0:
                    break


def files(root: Path, order: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Regular files below a folder, or the one file, with their first 16 MB."""
    if not root.is_dir():
        folder = os.open(root.parent, os.O_RDONLY)
        data = read(root.name, folder)
        if data is not None:
            yield str(root), data
        return
    is_secret = re.compile(order["secret"] or "(?!)").search
    for current, folders, names, folder in os.fwalk(root, follow_symlinks=False):
        kept = (name for name in folders if name not in order["skipped"])
        folders[:] = sorted(name for name in kept if not is_secret(f"{current}/{name}".casefold()))
        for name in sorted(names):
            path = Path(current, name)
            if is_secret(str(path).casefold()):
                continue
            if order["globs"] and not any(fits(path.relative_to(root).as_posix(), one) for one in order["globs"]):
                continue
            data = read(name, folder)
            if data is not None:
                yield str(path), data


def fits(path: str, pattern: str) -> bool:
    """Whether a relative path matches a glob; ``**`` matches any number of folders."""
    return _fits(path.split("/"), pattern.strip("/").split("/"))


def _fits(parts: list[str], pattern: list[str]) -> bool:
    reached = {0}
    for segment in pattern:
        if segment == "**":
            reached = set(range(min(reached), len(parts) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(parts) and fnmatch.fnmatchcase(parts[at], segment)}
        if not reached:
            return False
    return len(parts) in reached


def read(name: str, folder: int) -> bytes | None:
    """A file's first 16 MB; None if it is not a readable regular file."""
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        return file.read(MAX_FILE)


def _match(path: str, number: int, line: str) -> dict[str, object]:
    data = {"path": {"text": path}, "lines": {"text": line[:4000]}, "line_number": number}
    return {"type": "match", "data": data}


if __name__ == "__main__":
    main()
