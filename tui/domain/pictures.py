"""Detects the image formats that models accept by the first bytes, because file names can be wrong."""

from __future__ import annotations

_BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def picture_type(head: bytes) -> str | None:
    """Return the media type of an image by its first bytes; None for everything else."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for magic, media_type in _BEGINNINGS if head.startswith(magic)), None)
