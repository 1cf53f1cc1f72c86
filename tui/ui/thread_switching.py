"""Keeps the screen responsive while another thread computes."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SWITCH_S = 0.0005
"""The longest that the screen waits for a computing thread."""

_lock = threading.Lock()
_usual: list[float] = []
"""The interval before, once for each thread that computes."""


@contextmanager
def frequent_thread_switches() -> Iterator[None]:
    """With Python's usual interval, the screen would wait 5 ms each time it has something to do."""
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
