"""Programs that run a command in a sandbox: the arguments of bubblewrap, and the profile of Seatbelt on macOS.

bubblewrap gives a read-only view of the file system and neither other processes nor the network. The profile denies
everything that it does not list.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path

_PROBE_S = 10.0
SYSTEM_FOLDERS = "/usr/bin:/bin:/usr/local/bin:/run/wrappers/bin:/run/current-system/sw/bin"
"""Fixed, because PATH may contain folders that a sandboxed command can write."""


def bubblewrap_arguments(
    program: str, *, temporary: Path, writable: Path | None, carved: Iterable[Path] = (), hidden: Iterable[Path] = ()
) -> tuple[str, ...]:
    """The command line up to the command. Later mounts cover earlier ones."""
    found = [
        *(program, "--die-with-parent", "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net"),
        *("--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL"),
        # /proc/sys belongs to root, also to a root without capabilities: a handler of core dumps runs outside.
        *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc"),
    ]
    if writable is not None:
        found += ["--bind", str(writable), str(writable)]
        for path in sorted(folders_between(carved, writable)):
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


def folders_between(paths: Iterable[Path], folder: Path) -> set[Path]:
    """The folders between a folder and paths below it."""
    return {parent for path in paths for parent in path.parents if folder in parent.parents}


@cache
def bubblewrap_program() -> str | None:
    """The path of ``bwrap`` if it is installed and this kernel allows it to work. Blocks for some milliseconds."""
    program, harmless = (shutil.which(name, path=SYSTEM_FOLDERS) for name in ("bwrap", "true"))
    if program is None or harmless is None:
        return None
    try:
        tried = subprocess.run(
            [*bubblewrap_arguments(program, temporary=Path("/"), writable=None), harmless],
            env={},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROBE_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return program if tried.returncode == 0 else None


SEATBELT_PROGRAM = Path("/usr/bin/sandbox-exec")

_BASE = """\
(version 1)
(deny default)
(allow process-exec*)
(allow process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow ipc-posix-sem)
(allow file-ioctl (literal "/dev/null") (literal "/dev/zero") (literal "/dev/random") (literal "/dev/urandom"))
(allow mach-lookup
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.opendirectoryd.membership")
  (global-name "com.apple.system.logger")
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.trustd.agent"))
(allow file-read*)
(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/dtracehelper"))
"""


def seatbelt_profile(
    *,
    temporary: Path,
    writable: Path | None,
    guarded: Iterable[str] = (),
    above: Iterable[Path] = (),
    hidden: Iterable[Path] = (),
) -> str:
    """Build the profile. If two statements match, the later one applies.

    ``guarded`` are regular expressions for paths; the folders ``above`` them cannot be renamed.
    """
    lines = [_BASE]
    lines += [f"(deny file-read* (subpath {_quoted(str(path))}))" for path in hidden]
    lines.append(f"(allow file-read* file-write* (subpath {_quoted(str(temporary))}))")
    if writable is not None:
        lines.append(f"(allow file-write* (subpath {_quoted(str(writable))}))")
        lines += [f"(deny file-write* (regex {_quoted(pattern)}))" for pattern in guarded]
        lines += [f"(deny file-write-unlink (literal {_quoted(str(path))}))" for path in above]
    lines.append("(deny file-write-setugid)")
    return "\n".join(lines) + "\n"


def everything_below(path: Path) -> str:
    """A case-insensitive regular expression for a path and everything below it."""
    letters = (f"[{one.lower()}{one.upper()}]" if one.isalpha() else re.escape(one) for one in str(path))
    return f"^{''.join(letters)}(/|$)"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
