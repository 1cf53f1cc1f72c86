"""Typed, forgiving access into decoded JSON: compatible servers deviate daily, a stray type must not kill a stream."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

Json = Mapping[str, object]
EMPTY: Json = {}
LARGEST = sys.float_info.max
LARGEST_COUNT = 2**53
"""A count beyond what every reader of JSON takes exactly is a mistake, and would not fit into prices and sums."""


def child(value: object, *path: str) -> Json:
    """The object at ``path``, or an empty one."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else EMPTY


def children(value: object, *path: str) -> Sequence[Json]:
    """The objects in the list at ``path``; anything else in it is passed over."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else ()


def text(value: object, *path: str) -> str:
    """The string at ``path``, or ""."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


def maybe_text(value: object, *path: str) -> str | None:
    """The string at ``path``, or None."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else None


def whole(value: object, *path: str) -> int | None:
    """The count at ``path``, or None: what is negative, broken or beyond all bounds is not known."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_COUNT else None


def number(value: object, *path: str) -> float | None:
    """The number at ``path``, or None; one too large for a float is not known."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) <= LARGEST:
        return None
    return float(value)
