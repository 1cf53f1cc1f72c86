"""Read files to attach to a prompt, and complete their paths."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tui.catalog.facts import ModelFacts
from tui.domain.blocks import Block, DocumentBlock, ImageBlock, TextBlock, picture_type
from tui.domain.errors import UsageError
from tui.domain.fast_dataclass import dataclass
from tui.domain.format_numbers import count
from tui.domain.lazy_regex import lazy_regex
from tui.settings.user_files import read_user_file, with_home

if TYPE_CHECKING:
    from tui.app.attachment_filter import AttachmentFilter

PICTURES = {".png", ".jpg", ".jpeg", ".gif", ".webp"}
MAX_PICTURE = 20_000_000
MAX_TEXT = 1_000_000
MAX_DOCUMENT = 20_000_000
"""The largest request that all providers take is 32 MB, and base64 adds a third."""
MOST_FILES = 50
"""Files that one folder or pattern may bring."""
MOST_SEEN = 10 * MOST_FILES
"""Files that are looked at for them."""
MOST_LEFT_OUT = 10_000
"""Files that may be left out meanwhile."""
_PAGE = lazy_regex(rb"/Type\s*/Page(?![a-zA-Z])")
_GLOB = lazy_regex(r"[*?\[]")
MOST_PATHS = 60
SKIPPED = {".git", "node_modules", "__pycache__", ".venv", ".mypy_cache", ".pytest_cache", ".ruff_cache"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachments:
    """What a file, folder or pattern brings."""

    blocks: tuple[tuple[str, Block], ...]
    """With their names."""
    left_out: str = ""
    """The sentence about files that were left out because they may hold secrets or are ignored by git."""


def read_attachments(folder: Path, name: str, environment: Mapping[str, str]) -> Attachments:
    """Read a file, or the files of a folder or pattern; raises UsageError.

    A folder or pattern leaves out hidden files, the folders that completion leaves out, links that lead out of the
    folder, what may hold secrets or is ignored by git, and what is neither text, picture nor PDF: the user did not
    name those one by one.
    """
    try:
        path = _typed_path(folder, name)
        is_folder = path.is_dir()
        if not is_folder and not (_GLOB.search(name) and not path.exists()):
            if not path.exists():
                raise UsageError(f"`{name}` is not a file.")
            return Attachments(blocks=((path.name, read_attachment(path)),))
        from tui.app.attachment_filter import AttachmentFilter

        unwanted = AttachmentFilter(folder, environment)
        base, found = (path, _below(path, unwanted)) if is_folder else _matches(path)
        blocks = tuple(_readable(folder, base, found, unwanted))
    except OSError as error:
        raise UsageError(f"`{name}` cannot be read: {error.strerror}.") from None
    except ValueError as error:
        raise UsageError(f"`{name}` is not a pattern: {error}.") from None
    left_out = unwanted.sentence()
    if not blocks:
        advice = f"{left_out} Name a file itself to attach it." if left_out else ""
        raise UsageError(f"`{name}` has no file that can be attached.", advice=advice)
    return Attachments(blocks=blocks, left_out=left_out)


def _typed_path(folder: Path, name: str) -> Path:
    """The path that a user typed or dropped, perhaps with quotes around it."""
    exact = folder / with_home(Path(name))
    return exact if name and exact.exists() else folder / with_home(Path(name.strip().strip("\"'")))


def refuse_documents(blocks: Iterable[Block], facts: ModelFacts) -> None:
    """Raise UsageError for a PDF that the model would not get."""
    if "pdf" in facts.inputs:
        return
    for block in blocks:
        if isinstance(block, DocumentBlock):
            raise UsageError(
                f"{facts.id} cannot read PDFs, so `{block.name}` was not attached.",
                advice="Choose another model, or attach its text, which pdftotext extracts.",
            )


def _matches(pattern: Path) -> tuple[Path, Iterator[Path]]:
    """The folder in which the pattern begins, and the files that it means. `[id]` can be the name of a folder."""
    base = next(parent for parent in pattern.parents if not _GLOB.search(str(parent)) or parent.is_dir())
    wanted = pattern.relative_to(base)
    all_hidden = any(part.startswith(".") for part in wanted.parts)

    def matches() -> Iterator[Path]:
        for match in base.glob(str(wanted)):
            # A hidden file, or one in a folder of no interest, is meant only if the pattern says so.
            others = [part for part in match.relative_to(base).parts if part not in wanted.parts]
            hidden = any(part in SKIPPED or (part.startswith(".") and not all_hidden) for part in others)
            if not hidden and match.is_file():
                yield match

    return base, matches()


def _below(folder: Path, unwanted: AttachmentFilter) -> Iterator[Path]:
    for base, folders, names in os.walk(folder):
        seen = [name for name in folders if not name.startswith(".") and name not in SKIPPED]
        folders[:] = [name for name in seen if not unwanted.is_left_out(Path(base) / name, is_folder=True)]
        yield from (Path(base) / name for name in names if not name.startswith("."))


def _readable(
    folder: Path, base: Path, found: Iterable[Path], unwanted: AttachmentFilter
) -> Iterator[tuple[str, Block]]:
    """The files that can be attached, in order of their names."""
    paths: list[Path] = []
    too_much = UsageError(f"`{base}` has too much to attach.", advice=f"Name fewer files (at most {MOST_FILES}).")
    for path in found:
        if not unwanted.is_left_out(path):
            paths.append(path)
        if len(paths) > MOST_SEEN or len(unwanted.left_out) > MOST_LEFT_OUT:
            raise too_much
    number = length = 0
    inside = base.resolve()
    for path in sorted(paths):
        if not _leads_into(path, inside):
            continue
        shown = str(path.relative_to(folder)) if path.is_relative_to(folder) else path.name
        try:
            block = read_attachment(path, shown)
        except UsageError:
            continue
        number, length = number + 1, length + _length(block)
        if number > MOST_FILES or length > MAX_PICTURE:
            raise too_much
        yield shown, block


def _leads_into(path: Path, folder: Path) -> bool:
    try:
        return path.resolve().is_relative_to(folder)
    except (OSError, RuntimeError):  # a link that leads to itself
        return False


def _length(block: Block) -> int:
    match block:
        case TextBlock():
            return len(block.text)
        case ImageBlock() | DocumentBlock():
            return len(block.data or "")
        case _:
            return 0


def read_attachment(path: Path, shown: str = "") -> Block:
    """Read a text file, picture or PDF as a block; raises UsageError for other files.

    ``shown`` is the name of a text that the model is told.
    """
    try:
        if not path.is_file():
            raise UsageError(f"`{shown or path}` is not a file.")
        size = path.stat().st_size
        is_picture = path.suffix.lower() in PICTURES
        is_document = path.suffix.lower() == ".pdf"
        limit = MAX_PICTURE if is_picture else MAX_DOCUMENT if is_document else MAX_TEXT
        if size > limit:
            raise UsageError(f"`{path.name}` is too large to attach ({count(size, 'byte')}).")
        data = read_user_file(path, limit) or b""
    except OSError as error:
        raise UsageError(f"`{shown or path}` cannot be read: {error.strerror}.") from None
    if is_picture:
        return picture_block(data, path.name)
    if is_document:
        return _document(data, path.name)
    if b"\0" in data[:8192]:
        raise UsageError(f"`{path.name}` is neither text nor a picture.")
    text = data.decode("utf-8", "replace")
    return TextBlock(text=f'<file name="{shown or path.name}">\n{text}\n</file>')


def picture_block(data: bytes, name: str) -> ImageBlock:
    """A picture as a block; raises UsageError if it is none, or too large."""
    if len(data) > MAX_PICTURE:
        raise UsageError(f"`{name}` is too large to attach ({count(len(data), 'byte')}).")
    media = picture_type(data)
    if media is None:
        raise UsageError(f"`{name}` is not a PNG, JPEG, GIF or WebP picture.")
    return ImageBlock(media_type=media, data=base64.b64encode(data).decode(), name=name)


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
    # Stable, so that folders stay in front of files.
    return sorted(found, key=lambda name: not name.rstrip("/").rpartition("/")[2].lower().startswith(last))[:MOST_PATHS]
