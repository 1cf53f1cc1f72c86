"""Kitty's graphics protocol: pictures are sent once and stand in the place of characters, which move like any others.

The data is part of the escape sequence: no file is written, and nothing is read from one.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Container, Iterator

from rich.color import Color
from rich.segment import Segment
from rich.style import Style

from tui.ui.pictures.decoding import decoded
from tui.ui.pictures.headers import PixelSize
from tui.ui.pictures.rows import PictureLine, cells_for

PLACEHOLDER = "\U0010eeee"
_NUMBERS = (
    *(0x305, 0x30D, 0x30E, 0x310, 0x312, 0x33D, 0x33E, 0x33F, 0x346, 0x34A, 0x34B, 0x34C, 0x350, 0x351, 0x352, 0x357),
    *(0x35B, *range(0x363, 0x370), *range(0x483, 0x488), *range(0x592, 0x596), *range(0x597, 0x59A)),
    *(*range(0x59C, 0x5A2), 0x5A8, 0x5A9, 0x5AB, 0x5AC, 0x5AF, 0x5C4, *range(0x610, 0x618), *range(0x657, 0x65C)),
    *(0x65D, 0x65E, *range(0x6D6, 0x6DD), *range(0x6DF, 0x6E3), 0x6E4, 0x6E7, 0x6E8, 0x6EB, 0x6EC),
)
NUMBERS = "".join(map(chr, _NUMBERS))
"""The combining characters that stand for numbers after a placeholder, from 0: row, column, highest byte of the id."""
CHUNK = 4_096
"""Characters of base64 in one escape sequence."""
SHARPEST = 2
"""Pixels sent are at most those of the cells; without an answer about cells, twice the usual ones."""


def new_id(taken: Container[int]) -> int:
    """An id whose lowest byte is a colour of the palette and whose highest has a combining character.

    The first 16 colours are left out: terminals draw them in other ones when they are bold.
    """
    while True:
        import secrets  # loads OpenSSL

        found = (1 + secrets.randbelow(len(NUMBERS) - 1)) << 24 | 16 + secrets.randbelow(240)
        if found not in taken:
            return found


def kitty_picture(data: str, width: int, cell: tuple[int, int] | None) -> tuple[str, tuple[int, int]]:
    """A picture as base64 of a PNG, and its columns and rows in a text of this width."""
    cells = (0, 0)
    wide, high = cell or (10 * SHARPEST, 20 * SHARPEST)

    def fit(pixels_wide: int, pixels_high: int) -> tuple[int, int]:
        nonlocal cells
        cells = cells_for(PixelSize(pixels_wide, pixels_high), width)
        scale = min(cells[0] * wide / pixels_wide, cells[1] * high / pixels_high, 1.0)
        return max(1, round(pixels_wide * scale)), max(1, round(pixels_high * scale))

    target = io.BytesIO()
    decoded(data, fit).save(target, "PNG", compress_level=3)
    return base64.b64encode(target.getvalue()).decode(), cells


def transmission(image: int, png: str, cells: tuple[int, int]) -> Iterator[str]:
    """The escape sequences that send a picture and make its placeholders show it."""
    keys = f"a=T,U=1,f=100,t=d,q=2,i={image},c={cells[0]},r={cells[1]},"
    for at in range(0, len(png), CHUNK):
        more = int(at + CHUNK < len(png))
        yield f"\x1b_G{keys}m={more};{png[at : at + CHUNK]}\x1b\\"
        keys = "q=2,"


def deletion(image: int) -> str:
    """The escape sequence that makes the terminal forget a picture and its data."""
    return f"\x1b_Ga=d,d=I,i={image},q=2\x1b\\"


def placeholder_lines(image: int, cells: tuple[int, int]) -> list[PictureLine]:
    """The rows of placeholders."""
    columns, rows = cells
    style = Style(color=Color.from_ansi(image & 0xFF))
    highest = NUMBERS[image >> 24]
    # A segment for each cell: one that is cut must not lose its numbers.
    return [
        PictureLine(
            [Segment(f"{PLACEHOLDER}{NUMBERS[row]}{NUMBERS[column]}{highest}", style) for column in range(columns)],
            columns,
        )
        for row in range(rows)
    ]
