"""Cuts text so that no key is cut in two: the redactor would not know its halves."""

from __future__ import annotations

import re
from collections.abc import Callable

LONGEST_KEY = 1_024
_BETWEEN_KEYS = re.compile(r"[^\w.+/=~-]", re.ASCII)
_BETWEEN_KEYS_IN_BYTES = re.compile(rb"[^\w.+/=~-]")


def beginning(text: str, length: int, redact: Callable[[str], str]) -> str:
    """About the first ``length`` characters."""
    if len(text) <= length:
        return text
    return redact(text[: length + LONGEST_KEY])[:length]


def end_between_keys(text: str, end: int) -> int:
    """A position up to ``LONGEST_KEY`` before ``end`` that is in no key; ``end`` itself if there is none."""
    if end >= len(text):
        return len(text)
    between = _BETWEEN_KEYS.finditer(text, max(0, end - LONGEST_KEY), end)
    return max((found.end() for found in between), default=end)


def start_between_keys(text: str, start: int) -> int:
    """The same, up to ``LONGEST_KEY`` behind ``start``."""
    found = _BETWEEN_KEYS.search(text, start, start + LONGEST_KEY)
    return found.end() if found else start


def without_parts_at_gap(first: bytes, last: bytes) -> tuple[bytes, bytes]:
    """Both ends of an output, without the parts of words beside the gap between them."""
    between = _BETWEEN_KEYS_IN_BYTES.finditer(first, max(0, len(first) - LONGEST_KEY))
    end = max((found.end() for found in between), default=len(first))
    start = _BETWEEN_KEYS_IN_BYTES.search(last, 0, LONGEST_KEY)
    return first[:end], last[start.end() :] if start else last
