"""bubblewrap: the command gets a read-only view of the file system, and neither other processes nor the network."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path

_PROBE_S = 10.0
SYSTEM_FOLDERS = "/usr/bin:/bin:/usr/local/bin:/run/wrappers/bin:/run/current-system/sw/bin"
"""Fixed, because PATH may contain folders that a sandboxed command can write."""


def arguments(
    program: str, *, temporary: Path, writable: Path | None, carved: Iterable[Path] = (), hidden: Iterable[Path] = ()
) -> tuple[str, ...]:
    """The command line up to the command. Later mounts cover earlier ones."""
    found = [
        *(program, "--die-with-parent", "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net"),
        *("--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL"),
        *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
    ]
    if writable is not None:
        found += ["--bind", str(writable), str(writable)]
        for path in sorted(above(carved, writable)):
            # Mount points cannot be renamed; otherwise `mv sub x && mkdir sub` would move the guarded file elsewhere.
            found += ["--bind", str(path), str(path)]
        for path in carved:
            found += ["--ro-bind", str(path), str(path)]
    for path in hidden:
        if path.is_dir():
            found += ["--perms", "0000", "--tmpfs", str(path)]
        else:
            found += ["--ro-bind", "/dev/null", str(path)]
    found += ["--bind", str(temporary), str(temporary)]
    return (*found, "--")


def above(paths: Iterable[Path], folder: Path) -> set[Path]:
    """The folders between a folder and paths below it."""
    return {parent for path in paths for parent in path.parents if folder in parent.parents}


@cache
def working_program() -> str | None:
    """The path of ``bwrap`` if it is installed and this kernel allows it to work. Blocks for some milliseconds."""
    program, harmless = (shutil.which(name, path=SYSTEM_FOLDERS) for name in ("bwrap", "true"))
    if program is None or harmless is None:
        return None
    try:
        tried = subprocess.run(
            [*arguments(program, temporary=Path("/"), writable=None), harmless],
            env={},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROBE_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return program if tried.returncode == 0 else None
