"""Gives freed memory back to the system. The C library keeps it otherwise: the pieces of a long answer are small.

Not part of ``fulltext``, which every start loads: only long answers need it.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

OWN_PAGES_FROM = 64 << 10
"""Bytes: larger blocks get pages of their own, which are given back when they are freed. The buffers of a fast answer
would leave holes between its pieces: a third of what it takes."""
_M_MMAP_THRESHOLD = -3


def release_freed_memory() -> None:
    """Give back what this process has freed. Does nothing where the C library has no such call."""
    trim = _trim()
    if trim is not None:
        trim(0)


def keep_no_holes() -> None:
    """From now on, give blocks as large as the buffers of a fast answer back at once."""
    _trim()


@cache
def _trim() -> Callable[[int], int] | None:
    if sys.platform != "linux":
        return None
    import ctypes  # only needed after a very long answer

    try:
        library = ctypes.CDLL(None)
        # Without this the C library raises the limit to the size of the largest block that was freed.
        library.mallopt(_M_MMAP_THRESHOLD, OWN_PAGES_FROM)
        trim: Callable[[int], int] = library.malloc_trim
    except (OSError, AttributeError):  # another C library
        return None
    return trim
