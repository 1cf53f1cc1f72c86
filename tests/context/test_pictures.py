"""A picture weighs by its size and its maker; the figures are those of the makers' documentation."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode

import pytest

from tui.context.estimate import block_tokens
from tui.domain.blocks import ImageBlock


def png(width: int, height: int) -> bytes:
    def part(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = part(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + part(b"IDAT", zlib.compress(b"\0" * (width + 1) * height)) + part(b"IEND", b"")


def jpeg(width: int, height: int) -> bytes:
    preview = b"\xff\xe1" + struct.pack(">H", 30_000) + b"p" * 29_998
    return b"\xff\xd8" + preview + b"\xff\xc2" + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\x01\x11\0"


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0" * 20


def webp(width: int, height: int) -> bytes:
    canvas = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return b"RIFF" + b"\0\0\0\0" + b"WEBPVP8X" + b"\x0a\0\0\0" + b"\0" * 4 + canvas + b"\0" * 8


def weight(raw: bytes, family: str) -> int:
    return block_tokens(ImageBlock(media_type="image/png", data=b64encode(raw).decode()), family)


@pytest.mark.parametrize(
    ("family", "size", "tokens"),
    [
        ("claude", (200, 200), 54),
        ("claude", (1000, 1000), 1_334),
        ("claude", (4000, 3000), 1_600),
        ("o200k", (1024, 1024), 630),
        ("o200k", (2048, 4096), 910),
        ("gemini", (100, 100), 1_120),
        ("grok", (448, 448), 512),
        ("qwen", (1120, 560), 800),
    ],
)
def test_pictures_weigh_what_their_maker_says(family: str, size: tuple[int, int], tokens: int) -> None:
    assert weight(png(*size), family) == pytest.approx(tokens, rel=0.2)


@pytest.mark.parametrize("make", [jpeg, gif, webp])
def test_the_size_is_read_in_every_format(make) -> None:
    assert weight(make(1000, 500), "claude") == weight(png(1000, 500), "claude")


@pytest.mark.parametrize("raw", [b"", b"\x89PNG", b"\xff\xd8\xff\xc0", png(0, 0)[:24], b"GIF89a", b"not a picture"])
def test_a_picture_whose_size_cannot_be_read_weighs_as_a_usual_one(raw: bytes) -> None:
    assert weight(raw, "claude") == 1_200
