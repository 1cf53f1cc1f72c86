"""Removes a folder that a command filled, whatever its depth and its permissions."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path


def remove_folder(folder: Path) -> None:
    """Remove a folder whose processes have ended. What cannot be removed stays; nothing is raised.

    ``shutil.rmtree`` recurses, so a thousand nested folders end it, and it keeps folders without permissions. Here a
    nested folder is moved to the top before it is emptied.
    """
    waiting = [folder]
    while waiting:
        place = waiting.pop()
        with contextlib.suppress(OSError), os.scandir(place) as listed:
            for entry in list(listed):
                with contextlib.suppress(OSError):
                    if not entry.is_dir(follow_symlinks=False):
                        Path(entry.path).unlink()
                        continue
                    # A folder without permissions can neither be listed nor moved.
                    Path(entry.path).chmod(0o700)
                    waiting.append(Path(entry.path).rename(folder / secrets.token_hex(16)))
        if place != folder:
            with contextlib.suppress(OSError):
                place.rmdir()
    with contextlib.suppress(OSError):
        folder.rmdir()
