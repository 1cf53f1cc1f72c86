"""The file that an export is written to: named after the session's title, never one that exists."""

from __future__ import annotations

import re
from itertools import count
from pathlib import Path

LONGEST_WORD = 24
"""Longer words are left out: they may be addresses or keys."""
LONGEST_NAME = 60


def export_name(title: str, session: str) -> str:
    """``Fix the sums (2)`` as ``fix-the-sums-2``; without usable words, the end of the session's id."""
    words = [word for word in re.findall(r"\w+", title.lower()) if len(word) <= LONGEST_WORD]
    name = ""
    for word in words:
        longer = f"{name}-{word}".lstrip("-")
        if len(longer) > LONGEST_NAME:
            break
        name = longer
    return name or f"ponder-{session[-8:]}"


def new_export_file(title: str, session: str, form: str) -> Path:
    """A file in the working folder that does not exist yet. Blocking."""
    name = export_name(title, session)
    names = (f"{name}{'' if number == 1 else f'-{number}'}.{form}" for number in count(1))
    try:
        folder = Path.cwd()
    except OSError:  # the working folder was removed: writing will fail
        folder = Path()
    return next(path for name in names if not (path := folder / name).exists())
