"""Writing a file so that a crash leaves the old one or the new one, never half of either."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from tui.settings.user_files import make_private_folder, refuse_irregular


def write_atomically(path: Path, text: str | Iterable[str], *, mode: int = 0o600) -> None:
    """Write beside, sync, rename, sync the folder. Folders made on the way are private.

    A link stays one, and what it leads to is replaced. What is there and is no regular file raises OSError.
    """
    import tempfile  # brings much along, and a start only reads

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
