"""Writes files atomically: a crash leaves the old content or the new, never part of either."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from tui.settings.user_files import make_private_folder, refuse_irregular


def write_atomically(path: Path, text: str | Iterable[str], *, mode: int = 0o600) -> None:
    """Write a temporary file, sync, rename, sync the folder. Created folders are private.

    A symbolic link stays and its target is replaced. Raises OSError if the path is not a regular file.
    """
    import tempfile  # slow to import, and not needed at start-up

    refuse_irregular(path)
    path = path.resolve() if path.is_symlink() else path
    make_private_folder(path.parent)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.writelines([text] if isinstance(text, str) else text)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
