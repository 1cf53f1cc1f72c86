"""Read files to attach to a prompt, and complete their paths."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tui.catalog.facts import ModelFacts
from tui.domain.blocks import Block, DocumentBlock, ImageBlock, TextBlock, picture_type
from tui.domain.errors import UsageError
from tui.domain.format_numbers import count
from tui.settings.user_files import read_user_file, with_home

PICTURES = {".png", ".jpg", ".jpeg", ".gif", ".webp"}
MAX_PICTURE = 20_000_000
MAX_TEXT = 1_000_000
MAX_DOCUMENT = 20_000_000
"""The largest request that all providers take is 32 MB, and base64 adds a third."""
MOST_FILES = 50
"""Files that one folder or pattern may bring."""
_PAGE = re.compile(rb"/Type\s*/Page(?![a-zA-Z])")
_GLOB = re.compile(r"[*?\[]")
MOST_PATHS = 60
SKIPPED = {".git", "node_modules", "__pycache__", ".venv", ".mypy_cache", ".pytest_cache", ".ruff_cache"}


def read_attachments(folder: Path, name: str) -> tuple[tuple[str, Block], ...]:
    """Read a file, or the files of a folder or pattern, with their names; raises UsageError.

    A folder or pattern leaves out hidden files, the folders that completion leaves out, and what is neither text,
    picture nor PDF: the user did not name those one by one.
    """
    path = with_home(Path(name.strip().strip("\"'")))
    path = path if path.is_absolute() else folder / path
    try:
        if path.is_dir():
            found: Iterable[Path] = sorted(_below(path))
        elif _GLOB.search(name) and not path.exists():
            found = sorted(_matches(path))
        else:
            return ((path.name, read_attachment(folder, name)),)
        blocks = list(_readable(folder, found))
    except OSError as error:
        raise UsageError(f"`{name}` cannot be read: {error.strerror}.") from None
    if not blocks:
        raise UsageError(f"`{name}` has no file that can be attached.")
    if len(blocks) > MOST_FILES or sum(_length(block) for _, block in blocks) > MAX_PICTURE:
        raise UsageError(f"`{name}` is too much to attach ({count(len(blocks), 'file')}).", advice="Name fewer files.")
    return tuple(blocks)


def refuse_documents(blocks: Iterable[Block], facts: ModelFacts) -> None:
    """Raise UsageError for a PDF that the model would not get."""
    if "pdf" in facts.inputs:
        return
    for block in blocks:
        if isinstance(block, DocumentBlock):
            raise UsageError(
                f"{facts.id} reads no PDF, so `{block.name}` was not attached.",
                advice="Choose another model, or attach its text: pdftotext makes it.",
            )


def _matches(pattern: Path) -> Iterator[Path]:
    fixed = next(number for number, part in enumerate(pattern.parts) if _GLOB.search(part))
    named = set(pattern.parts)
    all_hidden = any(part.startswith(".") for part in pattern.parts[fixed:])
    for match in Path(*pattern.parts[:fixed]).glob(str(Path(*pattern.parts[fixed:]))):
        # A hidden file, or one in a folder of no interest, is meant only if the pattern says so.
        others = [part for part in match.parts if part not in named]
        hidden = any(part in SKIPPED or (part.startswith(".") and not all_hidden) for part in others)
        if not hidden and match.is_file():
            yield match


def _below(folder: Path) -> Iterator[Path]:
    for base, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in SKIPPED]
        yield from (Path(base) / name for name in names if not name.startswith("."))


def _readable(folder: Path, paths: Iterable[Path]) -> Iterator[tuple[str, Block]]:
    for number, path in enumerate(paths):
        if number > 10 * MOST_FILES:
            raise UsageError("There are too many files to attach.", advice="Name fewer files.")
        try:
            block = read_attachment(folder, str(path))
        except UsageError:
            continue
        shown = str(path.relative_to(folder)) if path.is_relative_to(folder) else path.name
        if isinstance(block, TextBlock):
            block = TextBlock(text=block.text.replace(f'<file name="{path.name}">', f'<file name="{shown}">', 1))
        yield shown, block


def _length(block: Block) -> int:
    match block:
        case TextBlock():
            return len(block.text)
        case ImageBlock() | DocumentBlock():
            return len(block.data or "")
        case _:
            return 0


def read_attachment(folder: Path, name: str) -> Block:
    """Read a text file, picture or PDF as a block; raises UsageError for other files."""
    path = with_home(Path(name.strip().strip("\"'")))
    path = path if path.is_absolute() else folder / path
    try:
        if not path.is_file():
            raise UsageError(f"`{name}` is not a file.")
        size = path.stat().st_size
        is_picture = path.suffix.lower() in PICTURES
        is_document = path.suffix.lower() == ".pdf"
        limit = MAX_PICTURE if is_picture else MAX_DOCUMENT if is_document else MAX_TEXT
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
    if is_document:
        return _document(data, path.name)
    if b"\0" in data[:8192]:
        raise UsageError(f"`{path.name}` is neither text nor a picture.")
    text = data.decode("utf-8", "replace")
    return TextBlock(text=f'<file name="{path.name}">\n{text}\n</file>')


def _document(data: bytes, name: str) -> DocumentBlock:
    if b"%PDF-" not in data[:1024]:
        raise UsageError(f"`{name}` is not a PDF, although its name says so.")
    return DocumentBlock(data=base64.b64encode(data).decode(), name=name, pages=len(_PAGE.findall(data)))


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
