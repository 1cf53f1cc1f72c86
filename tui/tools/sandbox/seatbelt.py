"""Seatbelt on macOS: builds the profile for ``sandbox-exec``. Everything is denied unless listed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

PROGRAM = Path("/usr/bin/sandbox-exec")

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


def profile(
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
