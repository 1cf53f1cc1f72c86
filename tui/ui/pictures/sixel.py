"""Pictures as sixels, one for each row of the screen: a row can be painted without the others, and a part of it too."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style

from tui.ui.pictures.decoding import decoded
from tui.ui.pictures.half_blocks import OPAQUE
from tui.ui.pictures.headers import PixelSize
from tui.ui.pictures.rows import PictureLine, cells_for
from tui.ui.terminal.sixel_rows import BLANK, META

BAND = 6
"""Pixels below each other in one character."""
NOTHING = 255
"""The number of pixels that are not drawn."""
MOST_COLOURS = 255
RUN = re.compile(rb"(.)\1{3,}", re.DOTALL)
PRINTABLE = bytes(range(63, 127)) + bytes(192)
"""Six pixels as a character."""


class SixelPicture:
    """A picture in the colours and pixels of a terminal."""

    def __init__(self, pixels: bytes, palette: Sequence[int], cells: tuple[int, int], cell: tuple[int, int]) -> None:
        self._pixels = pixels
        self._colours = [palette[at : at + 3] for at in range(0, len(palette), 3)]
        self.cells = cells
        self._cell = cell
        self._made: dict[tuple[int, int, int], str] = {}
        """Sixels by row, first column and the column after the last."""

    def row(self, row: int, first: int, end: int) -> str:
        """The escape sequence that draws these columns of a row from the cursor on."""
        found = self._made.get((row, first, end))
        if found is None:
            found = self._made[row, first, end] = self._encoded(row, first, end)
        return found

    def _encoded(self, row: int, first: int, end: int) -> str:
        wide, high = self._cell
        width = self.cells[0] * wide
        lines = [
            self._pixels[width * y + first * wide : width * y + end * wide] for y in range(row * high, (row + 1) * high)
        ]
        return sixels(lines, self._colours)


def sixels(lines: Sequence[bytes], colours: Sequence[Sequence[int]]) -> str:
    """Lines of pixels, each the number of its colour, as one escape sequence; what is not drawn is left as it is."""
    used = sorted(set().union(*lines) - {NOTHING})
    registers = "".join(
        f"#{number};2;{';'.join(str(round(part / 2.55)) for part in colours[number])}" for number in used
    )
    bands = [_band(lines[top : top + BAND]) for top in range(0, len(lines), BAND)]
    return f'\x1bP0;1;0q"1;1;{len(lines[0])};{len(lines)}{registers}{b"-".join(bands).decode()}\x1b\\'


def _band(lines: Sequence[bytes]) -> bytes:
    """Up to six lines of pixels: for each colour the pixels that have it, one colour over the other."""
    width = len(lines[0])
    layers: list[bytes] = []
    for colour in sorted(set().union(*lines) - {NOTHING}):
        bits = 0
        # Whole lines at once: a loop over pixels would take a hundred times as long.
        for number, line in enumerate(lines):
            only = bytes(colour) + bytes((1 << number,)) + bytes(255 - colour)
            bits |= int.from_bytes(line.translate(only), "big")
        drawn = bits.to_bytes(width, "big").translate(PRINTABLE).rstrip(b"?")
        layers.append(b"#%d" % colour + RUN.sub(lambda run: b"!%d%s" % (len(run[0]), run[1]), drawn))
    return b"$".join(layers)


def sixel_picture(data: str, width: int, cell: tuple[int, int], colours: int) -> SixelPicture:
    """A picture for a text of this width, with all of its rows encoded."""
    cells = (0, 0)

    def fit(pixels_wide: int, pixels_high: int) -> tuple[int, int]:
        nonlocal cells
        cells = cells_for(PixelSize(pixels_wide, pixels_high), width)
        scale = min(cells[0] * cell[0] / pixels_wide, cells[1] * cell[1] / pixels_high)
        return max(1, round(pixels_wide * scale)), max(1, round(pixels_high * scale))

    image = decoded(data, fit)
    box = (cells[0] * cell[0], cells[1] * cell[1])
    left, top = (box[0] - image.width) // 2, (box[1] - image.height) // 2
    numbers = image.convert("RGB").quantize(min(colours, MOST_COLOURS))
    palette = numbers.getpalette() or []
    transparent = image.getchannel("A").point(lambda alpha: 0 if alpha >= OPAQUE else 255)
    numbers.paste(NOTHING, mask=transparent)
    page = numbers.crop((-left, -top, box[0] - left, box[1] - top))
    # What cropping adds around the picture has the number 0, which is a colour.
    for edge in (
        (0, 0, box[0], top),
        (0, top + image.height, *box),
        (0, 0, left, box[1]),
        (left + image.width, 0, *box),
    ):
        page.paste(NOTHING, edge)
    found = SixelPicture(page.tobytes(), palette, cells, cell)
    for row in range(cells[1]):
        found.row(row, 0, cells[0])
    return found


def sixel_lines(key: int, cells: tuple[int, int]) -> list[PictureLine]:
    """Rows of blanks, each of which knows its place in the picture."""
    columns, rows = cells
    return [
        PictureLine([Segment(BLANK, Style.from_meta({META: (key, row, column)})) for column in range(columns)], columns)
        for row in range(rows)
    ]
