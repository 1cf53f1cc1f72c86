"""Keys that must never be seen: looked for after every test, in all it wrote and printed and in what it started.

Every test runs with one in its environment; those that speak to providers send it. A test that finds one where none
may be fails, whatever else it was about.
"""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

CANARY = "sk-canary-0123456789-ABCDEFGHIJ-abcd"
OWN_KEY = "key-of-mine-9876"
"""A key of no known shape: only its value gives it away."""
OF_EVERY_TEST = "CANARY_API_KEY"
"""The variable that holds the canary in every test's environment."""

_NEEDLES = tuple(
    spelling for key in (CANARY, OWN_KEY) for spelling in (key.encode(), base64.b64encode(key.encode()).rstrip(b"="))
)
_MAY_HOLD_KEYS = frozenset({"credentials.toml"})
_NAMES = ("_API_KEY", "_TOKEN", "_SECRET")
_STARTERS = tuple(path.replace("/", os.sep) for path in ("/tui/tools/", "/tui/ui/terminal/"))
"""Code whose children get no key. An editor gets the whole environment: it is the user's own program."""
LARGEST = 64 * 1024 * 1024

_leaks: list[str] = []


def taken() -> list[str]:
    """What was found since the last time."""
    found = _leaks.copy()
    _leaks.clear()
    return found


def hear(text: str, where: str) -> None:
    """Something was printed."""
    if _holds_key(text.encode("utf-8", "surrogatepass")):
        _leaks.append(f"a key in {where}")


def files_with_keys(folder: Path) -> list[Path]:
    """Files below a folder that hold a key and may not: logs, databases with their ``-wal``, exports, caches."""
    return [path for path in _files(folder) if path.name not in _MAY_HOLD_KEYS and _holds_key(path.read_bytes())]


def watch_children(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on no tool, clipboard or link may start a process that sees a key."""
    start = subprocess.Popen.__init__

    def watched(self: subprocess.Popen[bytes], *args: Any, **named: Any) -> None:
        if _by_a_starter(sys._getframe(1)):
            environment = named.get("env")
            seen = environment if isinstance(environment, Mapping) else os.environ
            _leaks.extend(f"{name} in the environment of {args[:1]}" for name in _with_keys(seen))
        start(self, *args, **named)

    monkeypatch.setattr(subprocess.Popen, "__init__", watched)


def listen_to_captures(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on what a test reads of its own output is heard; what it leaves is in its report."""
    read = pytest.CaptureFixture.readouterr

    def heard(self: pytest.CaptureFixture[str]) -> object:
        captured = read(self)
        hear(f"{captured.out}\n{captured.err}", "what was printed")
        return captured

    monkeypatch.setattr(pytest.CaptureFixture, "readouterr", heard)


def _with_keys(environment: Mapping[str, str]) -> list[str]:
    """Names of variables that are keys, by value or by name."""
    return [name for name, value in environment.items() if name.endswith(_NAMES) or _holds_key(os.fsencode(value))]


def _by_a_starter(frame: FrameType | None) -> bool:
    while frame is not None:
        if any(starter in frame.f_code.co_filename for starter in _STARTERS):
            return True
        frame = frame.f_back
    return False


def _holds_key(content: bytes) -> bool:
    return any(needle in content for needle in _NEEDLES)


def _files(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            if path.is_file() and not path.is_symlink() and path.stat().st_size <= LARGEST and os.access(path, os.R_OK):
                yield path
