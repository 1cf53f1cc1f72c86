"""Typed, forgiving access into decoded JSON: compatible servers deviate daily, a stray type must not kill a stream."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

Json = Mapping[str, object]
EMPTY: Json = {}
LARGEST = sys.float_info.max


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
    """The non-negative integer at ``path``, or None: a count that is not one is not known."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def number(value: object, *path: str) -> float | None:
    """The number at ``path``, or None; one too large for a float is not known."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) <= LARGEST:
        return None
    return float(value)
