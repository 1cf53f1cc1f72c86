"""write_file and edit_file: show a change before making it, and apply it only to the version that was shown."""

from __future__ import annotations

import asyncio
import os
import secrets
import stat
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from tui.domain.counting import count
from tui.domain.errors import ToolError
from tui.tools.builtin.file_intents import write_intent
from tui.tools.builtin.seen_files import SeenFiles, diff_of
from tui.tools.builtin.workspace import Stamp, Workspace, WorkspacePath, opened_folder, read_whole, stamp_of
from tui.tools.permissions.rules import Access, GuardedKind
from tui.tools.tool import Job, Outcome, Prepared, text_outcome

MAX_BYTES = 5_000_000
"""A larger file cannot be edited."""


class WriteFileArguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    path: Annotated[str, Field(description="File, relative to the working folder or absolute.")]
    content: Annotated[str, Field(max_length=MAX_BYTES, description="The whole new content.")]


class EditFileArguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    path: Annotated[str, Field(description="File, relative to the working folder or absolute.")]
    old_text: Annotated[
        str,
        Field(
            min_length=1, description="Text to replace, exactly as in the file, without line numbers; must be unique."
        ),
    ]
    new_text: Annotated[str, Field(max_length=MAX_BYTES, description="What stands there afterwards.")]
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
        return diff_of(self.before, self.after, self.path.shown)


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

    async def prepare(self, arguments: BaseModel) -> Prepared:
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

    async def prepare(self, arguments: BaseModel) -> Prepared:
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
            raise ToolError(f"old_text does not occur in `{path.shown}`. Read the file and copy the words exactly.")
        if found > 1 and not arguments.replace_all:
            raise ToolError(
                f"old_text occurs {count(found, 'time')} in `{path.shown}`: add lines around it, or set replace_all."
            )
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
    data, stamp = read_whole(path.real, MAX_BYTES)
    try:
        return data.decode(), stamp
    except UnicodeDecodeError:
        raise ToolError(f"`{path.shown}` is not UTF-8 text: it is not changed.") from None


def _prepared(seen: SeenFiles, tool: str, change: _Change, summary: str) -> Prepared:
    async def perform(_: Job) -> Outcome:
        return await asyncio.to_thread(_write, change, seen)

    return Prepared(
        intents=(write_intent(tool, change.path, summary, change.diff),),
        perform=perform,
    )


def _write(change: _Change, seen: SeenFiles) -> Outcome:
    """Write a temporary file and rename it, by the folder's descriptor, so that changes to the path do not matter."""
    path = change.path
    try:
        data = change.after.encode()
    except UnicodeEncodeError:
        raise ToolError("The text holds half of a character (a lone surrogate); it cannot be written.") from None
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
    return text_outcome(f"Wrote `{path.shown}`: {count(lines, 'line')}, {count(len(data), 'byte')}.")


def _refuse_if_not_as_shown(path: WorkspacePath, shown: Stamp | None, folder: int) -> None:
    try:
        now = Stamp.of(os.stat(path.real.name, dir_fd=folder, follow_symlinks=False))
    except FileNotFoundError:
        now = None
    if now != shown:
        raise ToolError(f"`{path.shown}` changed after the change was shown. Not written: read it again.")
