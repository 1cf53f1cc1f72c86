"""Typed access to decoded JSON. Missing values and wrong types are tolerated: compatible servers often send them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

Json = Mapping[str, object]
EMPTY: Json = {}
LARGEST = sys.float_info.max
LARGEST_COUNT = 2**53
"""Larger counts are rejected: a JSON parser may not represent them exactly."""


def child(value: object, *path: str) -> Json:
    """Return the object at ``path``, or an empty one."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else EMPTY


def children(value: object, *path: str) -> Sequence[Json]:
    """Return the objects in the list at ``path``; other elements are ignored."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else ()


def text(value: object, *path: str) -> str:
    """Return the string at ``path``, or ""."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


def maybe_text(value: object, *path: str) -> str | None:
    """Return the string at ``path``, or None."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else None


def whole(value: object, *path: str) -> int | None:
    """Return the integer at ``path``, or None if it is missing, negative, not whole or too large."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_COUNT else None


def number(value: object, *path: str) -> float | None:
    """Return the number at ``path``, or None if it is missing or too large for a float."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) <= LARGEST:
        return None
    return float(value)
