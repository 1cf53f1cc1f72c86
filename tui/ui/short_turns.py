"""Lets the screen have its turns while a thread computes."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SWITCH_S = 0.0005
"""The longest that a computing thread keeps the screen waiting."""

_lock = threading.Lock()
_usual: list[float] = []
"""The interval before, once for each thread that is inside."""


@contextmanager
def short_turns() -> Iterator[None]:
    """Switch threads often: with the usual interval, the screen would wait 5 ms for each of its turns."""
    with _lock:
        _usual.append(_usual[-1] if _usual else sys.getswitchinterval())
        sys.setswitchinterval(SWITCH_S)
    try:
        yield
    finally:
        with _lock:
            usual = _usual.pop()
            if not _usual:
                sys.setswitchinterval(usual)
