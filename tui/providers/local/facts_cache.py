"""Keeps the facts of GGUF files. Reading a file again takes up to a tenth of a second, for each of what may be many."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import orjson

from tui.domain.fast_dataclass import dataclass
from tui.providers.local.gguf import GgufError, GgufFacts, read_gguf
from tui.settings.user_files import make_private_folder, read_user_file
from tui.wires.json_text import child, text

FORMAT = 1
LARGEST_CACHE = 16_000_000
MOST_KEPT = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """The facts of a file, or why it cannot be used."""

    facts: GgufFacts | None
    problem: str = ""


class FactsCache:
    """Facts of files by path, size and time of change, in one file."""

    def __init__(self, path: Path | None) -> None:
        """Without a path, facts are kept in memory only."""
        self._path = path
        self._rows: dict[str, dict[str, object]] = {}
        self._changed = False
        self._loaded = False

    def known(self, path: Path, status: os.stat_result) -> FileFacts | None:
        """Return the facts of an unchanged file, or None."""
        self._load()
        row = self._rows.get(str(path))
        if row is None or row.get("size") != status.st_size or row.get("changed") != status.st_mtime_ns:
            return None
        if problem := text(row, "problem"):
            return FileFacts(facts=None, problem=problem)
        facts = _facts_of(child(row, "facts"))
        return None if facts is None else FileFacts(facts=facts)

    def read(self, path: Path, status: os.stat_result) -> FileFacts:
        """Read a file and keep its facts. What cannot be read now is not kept: it may be readable later."""
        try:
            found = FileFacts(facts=read_gguf(path).facts)
        except GgufError as error:
            found = FileFacts(facts=None, problem=error.message)
        except OSError as error:
            return FileFacts(facts=None, problem=f"It cannot be read: {error.strerror}.")
        facts = found.facts
        content: dict[str, object] = {} if facts is None else {name: getattr(facts, name) for name in _FIELDS}
        self._rows[str(path)] = {
            "size": status.st_size,
            "changed": status.st_mtime_ns,
            "problem": found.problem,
            "facts": content,
        }
        self._changed = True
        return found

    def save(self) -> None:
        """Write what is new; errors are ignored, because everything can be read again."""
        if self._path is None or not self._changed:
            return
        fresh = self._path.with_suffix(f".{os.getpid()}.new")
        with suppress(OSError, TypeError):  # TypeError: a file name that is not text
            body = orjson.dumps({"format": FORMAT, "files": dict([*self._rows.items()][-MOST_KEPT:])})
            make_private_folder(self._path.parent)
            try:
                fresh.write_bytes(body)
                fresh.replace(self._path)
            finally:
                fresh.unlink(missing_ok=True)
            self._changed = False

    def _load(self) -> None:
        if self._loaded or self._path is None:
            return
        self._loaded = True
        with suppress(OSError, ValueError):
            body = orjson.loads(read_user_file(self._path, LARGEST_CACHE) or b"{}")
            if isinstance(body, dict) and body.get("format") == FORMAT:
                self._rows = {name: dict(child(body, "files", name)) for name in child(body, "files")}


_NUMBERS = frozenset({"parameters", "window", "cache_bytes_per_token"})
_FLAGS = frozenset({"chats", "thinks", "efforts", "tools", "images", "embeds"})
_TEXTS = frozenset({"architecture", "name", "kind", "licence", "quantisation", "size_label", "thinking_switch"})
_FIELDS = (*sorted(_TEXTS), *sorted(_NUMBERS), *sorted(_FLAGS), "parts")


def _facts_of(row: Mapping[str, object]) -> GgufFacts | None:
    """The facts of a row, or None if another version or another program wrote it."""
    if set(row) != set(_FIELDS) or not all(_is_valid(name, value) for name, value in row.items()):
        return None
    return GgufFacts(**row)  # type: ignore[arg-type]  # checked above


def _is_valid(name: str, value: object) -> bool:
    if name in _FLAGS:
        return isinstance(value, bool)
    if name in _TEXTS:
        return isinstance(value, str)
    return type(value) is int or (value is None and name in _NUMBERS)
