"""read_file: text by line ranges, images as images, only regular files."""

from __future__ import annotations

import asyncio
import base64
import os
from dataclasses import dataclass
from typing import Annotated, BinaryIO

from pydantic import BaseModel, ConfigDict, Field

from tui.domain.blocks import ImageBlock, TextBlock, picture_type
from tui.domain.counting import count
from tui.domain.errors import ToolError
from tui.tools.builtin.file_intents import read_intent
from tui.tools.builtin.seen_files import SeenFiles
from tui.tools.builtin.workspace import Stamp, Workspace, WorkspacePath, opened_file
from tui.tools.permissions.rules import Access
from tui.tools.tool import Job, Outcome, Prepared, text_outcome

MAX_BYTES = 256 * 1024
MAX_LINES = 2_000
MAX_LINE = 2_000
"""Characters of one line; the rest is cut."""
MAX_IMAGE = 3_750_000
"""Bytes; the strictest provider rejects more than 5 MB of base64."""
SCANNED = 64 * 1024 * 1024
"""Bytes scanned for the first requested line."""


class ReadFileArguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    path: Annotated[str, Field(description="File, relative to the working folder or absolute.")]
    offset: Annotated[int, Field(ge=1, description="First line to read, counted from 1.")] = 1
    limit: Annotated[int, Field(ge=1, le=MAX_LINES, description="How many lines.")] = MAX_LINES


@dataclass(frozen=True, slots=True)
class ReadFile:
    """Reads a file."""

    workspace: Workspace
    seen: SeenFiles
    name: str = "read_file"
    description: str = (
        "Read a text file, or look at a PNG, JPEG, GIF or WebP picture. Lines come as `number<TAB>text`. At most 2,000"
        " lines and 256 KB per call: use offset for the rest."
    )
    access: Access = Access.READ
    arguments: type[BaseModel] = ReadFileArguments

    async def prepare(self, arguments: BaseModel) -> Prepared:
        """Check the path."""
        if not isinstance(arguments, ReadFileArguments):
            raise TypeError
        path = await asyncio.to_thread(self.workspace.resolve, arguments.path)

        async def perform(_: Job) -> Outcome:
            return await asyncio.to_thread(self._read, path, arguments.offset, arguments.limit)

        return Prepared(intents=(read_intent(self.name, path),), perform=perform)

    def _read(self, path: WorkspacePath, offset: int, limit: int) -> Outcome:
        with opened_file(path.real) as (handle, status):
            head = os.pread(handle, 8192, 0)
            media_type = picture_type(head)
            if media_type is not None:
                return _picture(handle, status.st_size, media_type, path)
            if b"\0" in head:
                return text_outcome(f"`{path.shown}` is a binary file of {count(status.st_size, 'byte')}.", failed=True)
            stamp = Stamp.of(status)
            with os.fdopen(os.dup(handle), "rb") as file:
                piece = _lines(file, offset, limit)
        whole = offset == 1 and piece.ended and not piece.cut
        self.seen.note(path.real, stamp, piece.raw.decode(errors="replace") if whole else None)
        return text_outcome(_shown(piece, offset, path, status.st_size))


@dataclass(frozen=True, slots=True)
class _Piece:
    raw: bytes
    lines: tuple[bytes, ...]
    ended: bool
    """Whether the end of the file was reached."""
    cut: bool
    """Whether a line was truncated."""


def _picture(handle: int, size: int, media_type: str, path: WorkspacePath) -> Outcome:
    if size > MAX_IMAGE:
        raise ToolError(f"`{path.shown}` is a picture of {count(size, 'byte')}; the limit is {MAX_IMAGE:,}.")
    data = base64.b64encode(os.pread(handle, size, 0)).decode()
    return Outcome(
        content=(
            TextBlock(text=f"{path.shown}: {media_type}, {count(size, 'byte')}"),
            ImageBlock(media_type=media_type, data=data, name=path.shown),
        )
    )


def _lines(file: BinaryIO, offset: int, limit: int) -> _Piece:
    number, scanned = 1, 0
    while number < offset:
        row = file.readline(MAX_BYTES)
        scanned += len(row)
        if not row:
            raise ToolError(f"The file has only {count(number - 1, 'line')}.")
        if scanned > SCANNED:
            raise ToolError(f"Line {offset:,} lies beyond the first {SCANNED:,} bytes.")
        number += row.endswith(b"\n")
    block = file.read(MAX_BYTES + 1)
    more, block = len(block) > MAX_BYTES, block[:MAX_BYTES]
    if b"\0" in block:
        raise ToolError("There are NUL bytes here: this is a binary file.")
    rows = block.split(b"\n")
    if rows[-1] == b"" or (more and len(rows) > 1):
        rows.pop()
    ended = not more and len(rows) <= limit
    rows = rows[:limit]
    return _Piece(block, tuple(rows), ended, cut=any(len(row) > MAX_LINE for row in rows))


def _shown(piece: _Piece, offset: int, path: WorkspacePath, size: int) -> str:
    if not piece.lines:
        return f"`{path.shown}` is empty." if size == 0 else f"`{path.shown}` ends before line {offset:,}."
    rows = [f"{offset + at}\t{_row(row)}" for at, row in enumerate(piece.lines)]
    if not piece.ended:
        following = offset + len(piece.lines)
        rows.append(f"(cut here; the file has {count(size, 'byte')}: go on with offset={following})")
    return "\n".join(rows)


def _row(row: bytes) -> str:
    text = row.removesuffix(b"\r").decode(errors="replace")
    return (
        text if len(text) <= MAX_LINE else f"{text[:MAX_LINE]}… ({len(text) - MAX_LINE:,} more characters in this line)"
    )
