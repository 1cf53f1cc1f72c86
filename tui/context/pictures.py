"""Estimates the tokens of an image from its size in pixels and the provider's rule."""

from __future__ import annotations

import math
from base64 import b64decode
from functools import lru_cache

from tui.context.estimate import UNKNOWN_PICTURE, PictureRule, family_named

_HEAD = 262_144
"""Base64 characters that are searched for the size. Cameras write a preview before it."""


def picture_tokens(data: str | None, family: str) -> int:
    """Return the estimated tokens of a base64 image; a typical value if its size is unknown."""
    size = _pixels(data[:_HEAD]) if data else None
    return UNKNOWN_PICTURE if size is None else _weighed(*size, family_named(family).picture)


def _weighed(width: int, height: int, rule: PictureRule) -> int:
    if rule.flat is not None:
        return rule.flat
    scale = min(1.0, rule.longest / max(width, height))
    if rule.shortest is not None:
        scale = min(scale, rule.shortest / min(width, height))
    across, down = (math.ceil(max(1, side * scale) / rule.patch) for side in (width, height))
    return min(rule.most, round(rule.base + across * down * rule.per_patch))


@lru_cache(maxsize=256)
def _pixels(head: str) -> tuple[int, int] | None:
    """Return width and height of a PNG, JPEG, GIF or WebP."""
    try:
        raw = b64decode(head[: len(head) // 4 * 4])
    except ValueError:
        return None
    size = None
    if raw.startswith(b"\x89PNG\r\n\x1a\n") and len(raw) >= 24:
        size = int.from_bytes(raw[16:20]), int.from_bytes(raw[20:24])
    elif raw[:6] in (b"GIF87a", b"GIF89a") and len(raw) >= 10:
        size = int.from_bytes(raw[6:8], "little"), int.from_bytes(raw[8:10], "little")
    elif raw[:4] == b"RIFF" and raw[8:12] == b"WEBP" and len(raw) >= 30:
        size = _webp(raw)
    elif raw[:2] == b"\xff\xd8":
        size = _jpeg(raw)
    return size if size is not None and min(size) > 0 else None


def _webp(raw: bytes) -> tuple[int, int] | None:
    match raw[12:16]:
        case b"VP8 ":
            return int.from_bytes(raw[26:28], "little") & 0x3FFF, int.from_bytes(raw[28:30], "little") & 0x3FFF
        case b"VP8L":
            bits = int.from_bytes(raw[21:25], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            return int.from_bytes(raw[24:27], "little") + 1, int.from_bytes(raw[27:30], "little") + 1
        case _:
            return None


def _jpeg(raw: bytes) -> tuple[int, int] | None:
    """Return the size from the first frame header, skipping the segments before it."""
    offset = 2
    while offset + 9 <= len(raw) and raw[offset] == 0xFF:
        marker = raw[offset + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(raw[offset + 7 : offset + 9]), int.from_bytes(raw[offset + 5 : offset + 7])
        offset += 2 + int.from_bytes(raw[offset + 2 : offset + 4])
    return None
