"""read_file, write_file and edit_file.

read_file returns text by line ranges and images as images, of regular files only. A change is shown before it is made,
and applied only to the version that was shown. A version that the model has not seen is never overwritten.
"""

from __future__ import annotations

import asyncio
import base64
import os
import secrets
import stat
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, BinaryIO

from pydantic import BaseModel, ConfigDict, Field

from tui.domain.blocks import ImageBlock, TextBlock, picture_type
from tui.domain.errors import ToolError
from tui.domain.format_numbers import count
from tui.tools.builtin.line_diff import diff_of
from tui.tools.builtin.workspace import (
    Stamp,
    Workspace,
    WorkspacePath,
    opened_file,
    opened_folder,
    read_intent,
    read_whole,
    stamp_of,
    write_intent,
)
from tui.tools.cut_text import beginning, end_between_keys
from tui.tools.permissions.rules import Access, GuardedKind
from tui.tools.tool import CallContext, CallResult, PreparedCall, text_result

FILES_KEPT = 64
TEXT_KEPT = 256 * 1024
"""Characters; larger files are compared only by their stamp."""
DIFF_SHOWN = 4_000
DIFF_KEPT = 64 * 1024
"""Characters of the diff that is stored with a result; the rest is cut."""


@dataclass(frozen=True, slots=True)
class _SeenVersion:
    stamp: Stamp
    text: str | None


@dataclass(slots=True)
class SeenFiles:
    """The last version of each file that was read or written in this session."""

    _sights: OrderedDict[Path, _SeenVersion] = field(default_factory=OrderedDict)

    def note(self, real: Path, stamp: Stamp, text: str | None) -> None:
        """Record the current version; without text, only its stamp."""
        self._sights[real] = _SeenVersion(stamp, text if text is not None and len(text) <= TEXT_KEPT else None)
        self._sights.move_to_end(real)
        while len(self._sights) > FILES_KEPT:
            self._sights.popitem(last=False)

    def knows(self, real: Path) -> bool:
        """Whether the file was read or written in this session."""
        return real in self._sights

    def refuse_if_changed(self, real: Path, stamp: Stamp, text: str) -> None:
        """Raises ToolError with the changes if the file is not the version the model saw last."""
        sight = self._sights.get(real)
        if sight is None or sight.stamp == stamp or sight.text == text:
            return
        what = ""
        if sight.text is not None:
            what = "\n" + diff_of(sight.text, text, real.name)[:DIFF_SHOWN]
        raise ToolError(f"`{real.name}` changed since you read it: read it again before you change it.{what}")


MAX_READ_BYTES = 256 * 1024
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

    async def prepare(self, arguments: BaseModel) -> PreparedCall:
        """Check the path."""
        if not isinstance(arguments, ReadFileArguments):
            raise TypeError
        path = await asyncio.to_thread(self.workspace.resolve, arguments.path)

        async def perform(running: CallContext) -> CallResult:
            return await asyncio.to_thread(self._read, path, arguments.offset, arguments.limit, running.redact)

        return PreparedCall(actions=(read_intent(self.name, path),), perform=perform)

    def _read(self, path: WorkspacePath, offset: int, limit: int, redact: Callable[[str], str]) -> CallResult:
        with opened_file(path.real) as (handle, status):
            head = os.pread(handle, 8192, 0)
            media_type = picture_type(head)
            if media_type is not None:
                return _picture(handle, status.st_size, media_type, path)
            if b"\0" in head:
                return text_result(f"`{path.shown}` is a binary file of {count(status.st_size, 'byte')}.", failed=True)
            stamp = Stamp.of(status)
            with os.fdopen(os.dup(handle), "rb") as file:
                excerpt = _read_lines(file, offset, limit)
        whole = offset == 1 and excerpt.ended and not excerpt.cut
        self.seen.note(path.real, stamp, excerpt.raw.decode(errors="replace") if whole else None)
        shown = _shown(excerpt, offset, path, status.st_size, redact)
        return text_result(shown, note=count(len(excerpt.lines), "line"))


@dataclass(frozen=True, slots=True)
class _Excerpt:
    raw: bytes
    lines: tuple[bytes, ...]
    ended: bool
    """Whether the end of the file was reached."""
    cut: bool
    """Whether a line was truncated."""


def _picture(handle: int, size: int, media_type: str, path: WorkspacePath) -> CallResult:
    if size > MAX_IMAGE:
        raise ToolError(f"`{path.shown}` is a picture of {count(size, 'byte')}; the limit is {MAX_IMAGE:,}.")
    data = base64.b64encode(os.pread(handle, size, 0)).decode()
    return CallResult(
        content=(
            TextBlock(text=f"{path.shown}: {media_type}, {count(size, 'byte')}"),
            ImageBlock(media_type=media_type, data=data, name=path.shown),
        )
    )


def _read_lines(file: BinaryIO, offset: int, limit: int) -> _Excerpt:
    number, scanned = 1, 0
    while number < offset:
        row = file.readline(MAX_READ_BYTES)
        scanned += len(row)
        if not row:
            raise ToolError(f"The file has only {count(number - 1, 'line')}.")
        if scanned > SCANNED:
            raise ToolError(f"Line {offset:,} is beyond the first {SCANNED:,} bytes.")
        number += row.endswith(b"\n")
    block = file.read(MAX_READ_BYTES + 1)
    more, block = len(block) > MAX_READ_BYTES, block[:MAX_READ_BYTES]
    if b"\0" in block:
        raise ToolError("This is a binary file: it contains NUL bytes.")
    rows = block.split(b"\n")
    if rows[-1] == b"" or (more and len(rows) > 1):
        rows.pop()
    ended = not more and len(rows) <= limit
    rows = rows[:limit]
    return _Excerpt(block, tuple(rows), ended, cut=any(len(row) > MAX_LINE for row in rows))


def _shown(excerpt: _Excerpt, offset: int, path: WorkspacePath, size: int, redact: Callable[[str], str]) -> str:
    if not excerpt.lines:
        return f"`{path.shown}` is empty." if size == 0 else f"`{path.shown}` ends before line {offset:,}."
    rows = [f"{offset + at}\t{_row(row, redact)}" for at, row in enumerate(excerpt.lines)]
    if not excerpt.ended:
        following = offset + len(excerpt.lines)
        rows.append(f"(cut here; the file has {count(size, 'byte')}: go on with offset={following})")
    return "\n".join(rows)


def _row(row: bytes, redact: Callable[[str], str]) -> str:
    text = row.removesuffix(b"\r").decode(errors="replace")
    if len(text) <= MAX_LINE:
        return text
    return f"{beginning(text, MAX_LINE, redact)}… ({len(text) - MAX_LINE:,} more characters in this line)"


MAX_WRITE_BYTES = 5_000_000
"""A larger file cannot be edited, and none becomes larger."""


class WriteFileArguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    path: Annotated[str, Field(description="File, relative to the working folder or absolute.")]
    content: Annotated[str, Field(max_length=MAX_WRITE_BYTES, description="The whole new content.")]


class EditFileArguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    path: Annotated[str, Field(description="File, relative to the working folder or absolute.")]
    old_text: Annotated[
        str,
        Field(
            min_length=1, description="Text to replace, exactly as in the file, without line numbers; must be unique."
        ),
    ]
    new_text: Annotated[str, Field(max_length=MAX_WRITE_BYTES, description="What stands there afterwards.")]
    replace_all: Annotated[bool, Field(description="Replace every occurrence.")] = False


@dataclass(frozen=True, slots=True)
class _Change:
    """A change that was shown; applied only if the file still has ``stamp`` (None: it does not exist)."""

    path: WorkspacePath
    stamp: Stamp | None
    before: str
    after: str

    @property
    def diff(self) -> str:
        """What changes; for a new file only its lines, because there is nothing to compare it with."""
        diff = diff_of(self.before, self.after, self.path.shown)
        return diff.partition("\n@@ ")[2].partition("\n")[2] if self.stamp is None else diff


@dataclass(frozen=True, slots=True)
class WriteFile:
    """Writes a whole file."""

    workspace: Workspace
    seen: SeenFiles
    name: str = "write_file"
    description: str = (
        "Create a file, or replace one that you have read with read_file. Folders are made as needed. To change a part"
        " of a file use edit_file."
    )
    access: Access = Access.WRITE
    arguments: type[BaseModel] = WriteFileArguments

    async def prepare(self, arguments: BaseModel) -> PreparedCall:
        """Compute the change."""
        if not isinstance(arguments, WriteFileArguments):
            raise TypeError
        change = await asyncio.to_thread(self._change, arguments)
        verb = "Write" if change.stamp is None else "Replace"
        return _prepared(self.seen, self.name, change, f"{verb} {change.path.shown}")

    def _change(self, arguments: WriteFileArguments) -> _Change:
        path = self.workspace.resolve(arguments.path)
        if stamp_of(path.real) is None:
            return _Change(path, None, "", arguments.content)
        if not self.seen.knows(path.real) and _is_not_empty(path):
            raise ToolError(f"`{path.shown}` exists: read it with read_file before you replace it.")
        before, stamp = _text_of(path)
        self.seen.refuse_if_changed(path.real, stamp, before)
        return _Change(path, stamp, before, arguments.content)


@dataclass(frozen=True, slots=True)
class EditFile:
    """Replaces exact words in a file."""

    workspace: Workspace
    seen: SeenFiles
    name: str = "edit_file"
    description: str = (
        "Replace old_text by new_text in a file. old_text must match exactly, white space included, and occur once:"
        " add surrounding lines until it does, or set replace_all."
    )
    access: Access = Access.WRITE
    arguments: type[BaseModel] = EditFileArguments

    async def prepare(self, arguments: BaseModel) -> PreparedCall:
        """Compute the change."""
        if not isinstance(arguments, EditFileArguments):
            raise TypeError
        change = await asyncio.to_thread(self._change, arguments)
        return _prepared(self.seen, self.name, change, f"Edit {change.path.shown}")

    def _change(self, arguments: EditFileArguments) -> _Change:
        path = self.workspace.resolve(arguments.path)
        if not self.seen.knows(path.real) and not _may_read_unasked(path):
            # An edit reveals text of the file, but the user was not asked whether the file may be read.
            raise ToolError(f"Read `{path.shown}` with read_file before you change it.")
        before, stamp = _text_of(path)
        self.seen.refuse_if_changed(path.real, stamp, before)
        old, new = _match_newlines(before, arguments)
        if old == new:
            raise ToolError("old_text and new_text are the same.")
        found = before.count(old)
        if found == 0:
            raise ToolError(f"old_text does not occur in `{path.shown}`. Read the file and copy the text exactly.")
        if found > 1 and not arguments.replace_all:
            raise ToolError(
                f"old_text occurs {count(found, 'time')} in `{path.shown}`: add lines around it, or set replace_all."
            )
        length = len(before) + found * (len(new) - len(old))
        if length > MAX_WRITE_BYTES:
            letters = count(length, "character")
            raise ToolError(f"`{path.shown}` would have {letters}; the limit is {MAX_WRITE_BYTES:,}.")
        return _Change(path, stamp, before, before.replace(old, new))


def _may_read_unasked(path: WorkspacePath) -> bool:
    return path.inside and path.read_guard is GuardedKind.NONE


def _is_not_empty(path: WorkspacePath) -> bool:
    stamp = stamp_of(path.real)
    return stamp is not None and (stamp.size > 0 or not stat.S_ISREG(stamp.mode))


def _match_newlines(before: str, arguments: EditFileArguments) -> tuple[str, str]:
    """Models write LF; a file with CRLF keeps its line ends."""
    old, new = arguments.old_text, arguments.new_text
    if "\r\n" in before and "\r" not in old and (old not in before or "\n" in new):
        return old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")
    return old, new


def _text_of(path: WorkspacePath) -> tuple[str, Stamp]:
    data, stamp = read_whole(path.real, MAX_WRITE_BYTES)
    try:
        return data.decode(), stamp
    except UnicodeDecodeError:
        raise ToolError(f"`{path.shown}` is not UTF-8 text: it is not changed.") from None


def _prepared(seen: SeenFiles, tool: str, change: _Change, summary: str) -> PreparedCall:
    diff = change.diff

    async def perform(_: CallContext) -> CallResult:
        return await asyncio.to_thread(_write, change, seen, diff)

    return PreparedCall(
        actions=(write_intent(tool, change.path, summary, _without_names(diff)),),
        perform=perform,
    )


def _without_names(diff: str) -> str:
    """A diff of one file without the two lines that name it."""
    return diff.partition("\n+++ ")[2].partition("\n")[2] if diff.startswith("--- a/") else diff


def _kept_diff(diff: str) -> str:
    if len(diff) <= DIFF_KEPT:
        return diff
    kept = diff[: end_between_keys(diff, DIFF_KEPT)].rpartition("\n")[0]
    return f"{kept}\n… {count(diff.count(chr(10)) - kept.count(chr(10)) - 1, 'more line')}\n"


def _changed_lines(diff: str, *, is_new: bool) -> str:
    """``+3 −1``: lines added and removed by a diff; only ``+3`` for a new file."""
    lines = [line[0] for line in diff.split("\n") if line and not line.startswith(("--- a/", "+++ b/"))]
    added = f"+{lines.count('+')}"
    return added if is_new else f"{added} −{lines.count('-')}"


def _write(change: _Change, seen: SeenFiles, diff: str) -> CallResult:
    """Write a temporary file and rename it, by the folder's descriptor, so that changes to the path do not matter."""
    path = change.path
    try:
        data = change.after.encode()
    except UnicodeEncodeError:
        raise ToolError("The text contains half a character (a lone surrogate), so it cannot be written.") from None
    with opened_folder(path.real.parent, create=change.stamp is None) as folder:
        name = os.fsdecode(os.fsencode(path.real.name)[:200])
        temporary = f".{name}.{secrets.token_hex(6)}"
        mode = 0o666 if change.stamp is None else stat.S_IMODE(change.stamp.mode)
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode, dir_fd=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                if change.stamp is not None:
                    os.fchmod(file.fileno(), mode)
                os.fsync(file.fileno())
            _refuse_if_not_as_shown(path, change.stamp, folder)
            os.rename(temporary, path.real.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            os.unlink(temporary, dir_fd=folder)
            raise
        status = os.stat(path.real.name, dir_fd=folder, follow_symlinks=False)
    seen.note(path.real, Stamp.of(status), change.after)
    lines = change.after.count("\n") + (not change.after.endswith("\n") and change.after != "")
    written = f"Wrote `{path.shown}`: {count(lines, 'line')}, {count(len(data), 'byte')}."
    return text_result(written, note=_changed_lines(diff, is_new=change.stamp is None), diff=_kept_diff(diff))


def _refuse_if_not_as_shown(path: WorkspacePath, shown: Stamp | None, folder: int) -> None:
    try:
        now = Stamp.of(os.stat(path.real.name, dir_fd=folder, follow_symlinks=False))
    except FileNotFoundError:
        now = None
    if now != shown:
        raise ToolError(f"`{path.shown}` changed after the change was shown. Not written: read it again.")
