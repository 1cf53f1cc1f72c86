"""Processes that a test started and must find ended."""

from __future__ import annotations

import os
from pathlib import Path


def is_running(pid: int) -> bool:
    """Whether a process runs; one that ended and was not fetched by its parent does not."""
    if Path("/proc/self/stat").exists():
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1] not in "ZX"
        except OSError:
            return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
