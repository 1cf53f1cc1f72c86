"""How much memory this machine has, and how large a context window of a model it can hold."""

from __future__ import annotations

import os
import re
from pathlib import Path

from tui.domain.fast_dataclass import dataclass

KEPT_FREE = 0.1
"""Share of the available memory that a model leaves to other programs."""
SMALLEST_WINDOW = 2_048
STEP = 1_024


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSize:
    """What decides how much memory a model takes."""

    weights: int = 0
    """Bytes."""
    window: int | None = None
    """The largest context window, in tokens."""
    bytes_per_token: int | None = None

    @property
    def smallest(self) -> int:
        """Bytes it takes with the smallest window."""
        return self.weights + SMALLEST_WINDOW * (self.bytes_per_token or 0)


def all_memory() -> int | None:
    """Return the bytes of this machine; None where the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def available_memory() -> int | None:
    """Return the bytes that can be used without pressing other programs; None where the system does not say."""
    try:
        told = Path("/proc/meminfo").read_text(encoding="ascii")
    except (OSError, ValueError):
        return None
    found = re.search(r"^MemAvailable: +(\d+) kB$", told, re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def fitting_window(size: ModelSize, available: int | None) -> int:
    """Return the window that fits into the memory; 0 if that of the model does, or nothing is known."""
    if available is None or size.window is None or not size.bytes_per_token:
        return 0
    room = available * (1 - KEPT_FREE) - size.weights
    fitting = int(room / size.bytes_per_token) // STEP * STEP
    return 0 if fitting >= size.window else max(SMALLEST_WINDOW, fitting)
