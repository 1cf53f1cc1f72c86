"""Downloads a file of the hub: resumed after any interruption, checked, and renamed only when it is whole."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from tui.domain.errors import ProviderError
from tui.domain.format_numbers import data_size
from tui.providers.http.transport import HttpResponse
from tui.providers.local.hub import DownloadError, Hub, HubFile, lost_connection
from tui.settings.merged_file import take_lock
from tui.settings.user_files import make_private_folder

PART = ".part"
PAUSES_S = (1.0, 2.0, 4.0, 8.0, 15.0)
"""Waits before the next attempt. They start again after every attempt that brought something."""
SPACE_LEFT = 200_000_000
"""Bytes of the disk that a download leaves free."""
PIECE = 1 << 20

OnProgress = Callable[[int], None]
"""Called with the bytes of the file that are there."""


async def download(
    hub: Hub,
    repository: str,
    file: HubFile,
    folder: Path,
    on_progress: OnProgress,
    *,
    pauses_s: tuple[float, ...] = PAUSES_S,
) -> Path:
    """Download a file into a folder and return its path. What came stays for the next time if this is cancelled.

    Raises DownloadError. A file that is already there is not downloaded again.
    """
    path = folder / file.path
    if not file.sha256:
        raise DownloadError(f"`{hub.name}` states no checksum of `{file.path}`, so it cannot be checked.")
    with _errors_of_the_disk(path):
        make_private_folder(path.parent)
        with _alone(path):
            if is_there(path, file):
                return path
            with _Part(path, file) as part:
                await _fill(hub, repository, part, on_progress, pauses_s)
                part.finish()
    return path


def is_there(path: Path, file: HubFile) -> bool:
    """Whether the whole file was downloaded before: only whole files have its name."""
    try:
        return path.stat().st_size == file.size
    except OSError:
        return False


def missing_bytes(folder: Path, file: HubFile) -> int:
    """How much of a file is still to be downloaded."""
    path = folder / file.path
    if is_there(path, file):
        return 0
    with contextlib.suppress(OSError):
        return max(file.size - part_path(path, file).stat().st_size, 0)
    return file.size


def require_space(folder: Path, needed: int) -> None:
    """Raises DownloadError if the disk has too little space."""
    there = folder
    while not there.exists() and there.parent != there:
        there = there.parent
    try:
        free = shutil.disk_usage(there).free
    except OSError:
        return
    if free < needed + SPACE_LEFT:
        raise DownloadError(
            f"The disk has {data_size(free)} left, and {data_size(needed)} are needed.",
            advice=f"Make room, or replace {folder} by a link to a folder on another disk.",
        )


def part_path(path: Path, file: HubFile) -> Path:
    """Where a file is collected. Its checksum is part of the name, so that two versions are never mixed."""
    return path.with_name(f"{path.name}.{file.sha256[:12]}{PART}")


async def _fill(hub: Hub, repository: str, part: _Part, on_progress: OnProgress, pauses_s: tuple[float, ...]) -> None:
    """Download what is missing, in as many attempts as bring something."""
    failures = 0
    while part.size < part.file.size:
        before = part.size
        try:
            async with hub.open(repository, part.file, before) as answer:
                await _copy(answer, part, on_progress)
            if part.size < part.file.size:
                raise DownloadError(f"`{hub.name}` sent less than the whole file.", may_pass=True)
        except (DownloadError, ProviderError) as problem:
            error = lost_connection(problem) if isinstance(problem, ProviderError) else problem
            failures = 0 if part.size > before else failures + 1
            if not error.may_pass or failures >= len(pauses_s):
                raise _with_what_is_kept(error, part) from None
            await asyncio.sleep(pauses_s[failures])


async def _copy(answer: HttpResponse, part: _Part, on_progress: OnProgress) -> None:
    if part.size and not _continues(answer, part):
        part.restart()
    on_progress(part.size)
    async with contextlib.aclosing(answer.chunks()) as chunks:
        async for chunk in chunks:
            part.write(chunk)
            on_progress(part.size)


def _continues(answer: HttpResponse, part: _Part) -> bool:
    """Whether the answer begins where the part ends. A server that ignores ranges sends everything again."""
    found = re.match(r"bytes (\d+)-\d+/(\d+|\*)", answer.headers.get("content-range", ""))
    return (
        answer.status == 206
        and found is not None
        and int(found[1]) == part.size
        and found[2] in ("*", str(part.file.size))
    )


def _with_what_is_kept(error: DownloadError, part: _Part) -> DownloadError:
    kept = f"{data_size(part.size)} are kept; the same command continues." if part.size else ""
    return DownloadError(error.message, advice=f"{error.advice} {kept}".strip())


class _Part:
    """The part of a file that has come, and its checksum so far. A context manager: it closes the file."""

    def __init__(self, path: Path, file: HubFile) -> None:
        self.file = file
        self._path = path
        self._part = part_path(path, file)
        self._hash = hashlib.sha256()
        self.size = 0

    def __enter__(self) -> _Part:
        for other in self._path.parent.glob(f"{_escaped(self._path.name)}.*{PART}"):
            if other != self._part:  # of an earlier version of the file
                other.unlink(missing_ok=True)
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
        self._handle: BinaryIO = os.fdopen(os.open(self._part, flags, 0o600), "r+b", buffering=0)
        try:
            while piece := self._handle.read(PIECE):
                self._hash.update(piece)
                self.size += len(piece)
            if self.size > self.file.size:
                self.restart()
        except BaseException:
            self._handle.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._handle.close()

    def write(self, piece: bytes) -> None:
        """Append a piece. Raises OSError, for example for a full disk; what was written stays."""
        if self.size + len(piece) > self.file.size:
            self._discard()
            raise DownloadError("The server sent more than the file has. What came was deleted.")
        view = memoryview(piece)
        while view:
            written = self._handle.write(view)
            self._hash.update(view[:written])
            self.size += written
            view = view[written:]

    def restart(self) -> None:
        """Begin again with nothing."""
        self._handle.seek(0)
        self._handle.truncate()
        self._hash, self.size = hashlib.sha256(), 0

    def finish(self) -> None:
        """Check the file, sync it, and give it its name."""
        if self._hash.hexdigest() != self.file.sha256:
            self._discard()
            raise DownloadError(
                "The file does not have the checksum that the hub states, so it is damaged. It was deleted.",
                advice="Try again.",
            )
        os.fsync(self._handle.fileno())
        self._handle.close()
        self._part.replace(self._path)
        if os.name == "posix":
            folder = os.open(self._path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def _discard(self) -> None:
        self._handle.close()
        self._part.unlink(missing_ok=True)


def _escaped(name: str) -> str:
    return re.sub(r"([*?[])", r"[\1]", name)


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Let one process at a time download a file. The lock file stays, like every lock file of the program."""
    handle = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            take_lock(handle)
        except (BlockingIOError, PermissionError):
            raise DownloadError(f"Another ponder is downloading `{path.name}`.") from None
        except OSError:
            pass  # the file system does not support locks
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def _errors_of_the_disk(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DownloadError(
            f"`{path.name}` cannot be written: {error.strerror}.",
            advice="What came is kept; the same command continues.",
        ) from None
