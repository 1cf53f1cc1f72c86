"""Read files to attach to a prompt, and complete their paths."""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from pathlib import Path

from tui.domain.blocks import Block, ImageBlock, TextBlock, picture_type
from tui.domain.errors import UsageError
from tui.domain.format_numbers import count
from tui.settings.user_files import read_user_file, with_home

PICTURES = {".png", ".jpg", ".jpeg", ".gif", ".webp"}
MAX_PICTURE = 20_000_000
MAX_TEXT = 1_000_000
MOST_PATHS = 60
SKIPPED = {".git", "node_modules", "__pycache__", ".venv", ".mypy_cache", ".pytest_cache", ".ruff_cache"}


def read_attachment(folder: Path, name: str) -> Block:
    """Read a text file or image as a block; raises UsageError for other files."""
    path = with_home(Path(name.strip().strip("\"'")))
    path = path if path.is_absolute() else folder / path
    try:
        if not path.is_file():
            raise UsageError(f"`{name}` is not a file.")
        size = path.stat().st_size
        is_picture = path.suffix.lower() in PICTURES
        limit = MAX_PICTURE if is_picture else MAX_TEXT
        if size > limit:
            raise UsageError(f"`{path.name}` is too large to attach ({count(size, 'byte')}).")
        data = read_user_file(path, limit) or b""
    except OSError as error:
        raise UsageError(f"`{name}` cannot be read: {error.strerror}.") from None
    media = picture_type(data)
    if is_picture and media is None:
        raise UsageError(f"`{path.name}` is not a PNG, JPEG, GIF or WebP picture, although its name says so.")
    if is_picture and media is not None:
        return ImageBlock(media_type=media, data=base64.b64encode(data).decode(), name=path.name)
    if b"\0" in data[:8192]:
        raise UsageError(f"`{path.name}` is neither text nor a picture.")
    text = data.decode("utf-8", "replace")
    return TextBlock(text=f'<file name="{path.name}">\n{text}\n</file>')


def complete_path(folder: Path, start: str) -> Sequence[str]:
    """Paths in the folder of ``start`` whose name contains its last part; names that begin with it come first."""
    typed = with_home(Path(start))
    inside = (typed if start.endswith("/") else typed.parent) if start else Path()
    base = inside if inside.is_absolute() else folder / inside
    last = "" if start.endswith("/") or not start else typed.name.lower()
    found: list[str] = []
    try:
        with os.scandir(base) as entries:
            for entry in sorted(entries, key=lambda row: (not row.is_dir(), row.name.lower())):
                hidden = entry.name.startswith(".") and not last.startswith(".")
                if not hidden and entry.name not in SKIPPED and last in entry.name.lower():
                    shown = entry.name if str(inside) == "." else f"{inside}/{entry.name}"
                    found.append(shown + ("/" if entry.is_dir() else ""))
    except OSError:
        return []
    starts = [name for name in found if name.rstrip("/").rpartition("/")[2].lower().startswith(last)]
    return [*starts, *(name for name in found if name not in starts)][:MOST_PATHS]
