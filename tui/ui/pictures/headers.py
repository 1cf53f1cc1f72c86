"""The size of a picture, read from its first bytes: the transcript reserves its rows before it is decoded."""

from __future__ import annotations

import binascii
import struct
from typing import NamedTuple

HEAD = 128 * 1024
"""Characters of base64 that are looked at; a JPEG has its size behind its metadata."""
TURNED = frozenset({5, 6, 7, 8})
"""EXIF orientations of pictures that lie on their side."""
JPEG_SIZES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
"""JPEG markers that are followed by the size."""


class PixelSize(NamedTuple):
    """Pixels of a picture."""

    width: int
    height: int


def size_of(data: str) -> PixelSize | None:
    """The size that base64 data of a PNG, GIF, WebP or JPEG states; None if its beginning does not."""
    head = _head(data)
    try:
        if head.startswith(b"\x89PNG\r\n\x1a\n"):
            size = PixelSize(*struct.unpack(">II", head[16:24]))
        elif head[:4] in (b"GIF8",):
            size = PixelSize(*struct.unpack("<HH", head[6:10]))
        elif head[:4] == b"RIFF" and head[8:12] == b"WEBP":
            size = _webp(head)
        elif head.startswith(b"\xff\xd8"):
            size = _jpeg(head)
        else:
            return None
    except (struct.error, IndexError, ValueError):
        return None
    return size if size.width > 0 and size.height > 0 else None


def _head(data: str) -> bytes:
    text = "".join(data[:HEAD].split())
    try:
        return binascii.a2b_base64(text[: len(text) // 4 * 4])
    except (binascii.Error, ValueError):
        return b""


def _webp(head: bytes) -> PixelSize:
    kind = head[12:16]
    if kind == b"VP8X":
        width, height = (int.from_bytes(head[at : at + 3], "little") + 1 for at in (24, 27))
        return PixelSize(width, height)
    if kind == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return PixelSize((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    width, height = struct.unpack("<HH", head[26:30])
    return PixelSize(width & 0x3FFF, height & 0x3FFF)


def _jpeg(head: bytes) -> PixelSize:
    at, turned = 2, False
    while True:
        while head[at] == 0xFF and head[at + 1] == 0xFF:  # fill bytes
            at += 1
        if head[at] != 0xFF:
            raise ValueError("no marker")
        marker = head[at + 1]
        if marker in JPEG_SIZES:
            height, width = struct.unpack(">HH", head[at + 5 : at + 9])
            return PixelSize(height, width) if turned else PixelSize(width, height)
        length = int.from_bytes(head[at + 2 : at + 4], "big")
        if marker == 0xE1 and head[at + 4 : at + 10] == b"Exif\0\0":
            turned = _orientation(head[at + 10 : at + 2 + length]) in TURNED
        if marker == 0xDA or length < 2:
            raise ValueError("no size before the picture")
        at += 2 + length


def _orientation(tiff: bytes) -> int:
    """The orientation in EXIF data; 1, upright, if there is none."""
    order = "<" if tiff[:2] == b"II" else ">"
    try:
        (start,) = struct.unpack(f"{order}I", tiff[4:8])
        (entries,) = struct.unpack(f"{order}H", tiff[start : start + 2])
        for number in range(min(entries, 200)):
            at = start + 2 + 12 * number
            tag, _, _, value = struct.unpack(f"{order}HHIH", tiff[at : at + 10])
            if tag == 0x0112:
                return int(value)
    except struct.error:
        pass
    return 1
