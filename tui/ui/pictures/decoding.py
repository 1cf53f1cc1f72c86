"""Decodes pictures of models, tools and the user within limits. Runs on a thread; loads Pillow when first used."""

from __future__ import annotations

import binascii
import io
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from tui.ui.pictures.headers import size_of

if TYPE_CHECKING:
    from PIL.Image import Image

LOG = logging.getLogger(__name__)

FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
"""The only decoders that see the data: Pillow's others are not used."""
MOST_PIXELS = 50_000_000
MOST_BASE64 = 64_000_000
"""Characters of base64."""
MOST_SCANS = 120
"""Scans of a JPEG: each costs a pass over the whole picture and may take only a few bytes."""
MOST_SECONDS = 8.0
PIECE = 256 * 1024
"""Characters of base64 decoded at a time: the screen's thread can draw between two pieces."""
NOT_INSTALLED = "pip install 'ponder-tui[images]' shows it"
SAFE_SINCE = 13
"""Pillow before this writes beyond its memory for some JPEGs (CVE-2026-112403)."""
TOO_OLD = "Pillow {version} is not safe: pip install -U 'ponder-tui[images]' shows it"


class NotDrawable(Exception):
    """The picture is not drawn; the text says why, for its caption."""


class PillowMissing(NotDrawable):
    """Nothing can be decoded."""


class _Timed(io.BytesIO):
    """Data that ends with an error when the time is over; decoders ask for it piece by piece."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self._deadline = time.monotonic() + MOST_SECONDS

    def read(self, size: int | None = -1, /) -> bytes:
        if time.monotonic() > self._deadline:
            raise NotDrawable("takes too long to decode")
        return super().read(size)


def bytes_of(data: str) -> bytes:
    """Base64 as bytes."""
    if len(data) > MOST_BASE64:
        raise NotDrawable("too large to show")
    parts: list[bytes] = []
    rest = ""
    try:
        for at in range(0, len(data), PIECE):
            piece = rest + "".join(data[at : at + PIECE].split())
            whole = len(piece) // 4 * 4
            parts.append(binascii.a2b_base64(piece[:whole]))
            rest = piece[whole:]
    except (binascii.Error, ValueError):
        raise NotDrawable("not a picture") from None
    return b"".join(parts)


def decoded(data: str, fit: Callable[[int, int], tuple[int, int]]) -> Image:
    """The first frame, upright, as RGBA, in the size that ``fit`` makes of its own size."""
    try:
        from PIL import Image as Pillow
        from PIL import ImageOps, __version__
    except ImportError:
        raise PillowMissing(NOT_INSTALLED) from None
    if int(__version__.partition(".")[0]) < SAFE_SINCE:
        raise PillowMissing(TOO_OLD.format(version=__version__))
    stated = size_of(data)
    if stated is not None:
        _check_pixels(*stated)
    encoded = bytes_of(data)
    if encoded[:2] == b"\xff\xd8" and encoded.count(b"\xff\xda") > MOST_SCANS:
        raise NotDrawable("too many scans to show")
    try:
        with Pillow.open(_Timed(encoded), formats=FORMATS) as picture:
            _check_pixels(*picture.size)
            most = 2 * max(fit(*picture.size))
            # A JPEG is decoded at up to an eighth of its size, in a fraction of the time and memory.
            picture.draft("RGB", (most, most))
            upright = ImageOps.exif_transpose(_in_colours(picture))
            return upright.resize(fit(*upright.size), Pillow.Resampling.LANCZOS, reducing_gap=2.0)
    except NotDrawable:
        raise
    except MemoryError:
        raise NotDrawable("too large to show") from None
    except Exception:  # whatever a decoder makes of hostile bytes, the caption says that it failed
        LOG.debug("a picture could not be decoded", exc_info=True)
        raise NotDrawable("cannot be decoded") from None


def _check_pixels(width: int, height: int) -> None:
    if width * height > MOST_PIXELS:
        raise NotDrawable("too many pixels to show")


def _in_colours(picture: Image) -> Image:
    if picture.mode.startswith("I"):  # 16 bits of grey, which converting would cut off at 255
        picture = picture.convert("I").point(lambda grey: grey * (1 / 256)).convert("L")
    return picture.convert("RGBA")
