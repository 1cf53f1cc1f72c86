"""Pictures as half blocks: two pixels in a cell, one as the colour of ``▀``, one as its background."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.color import Color, ColorSystem
from rich.segment import Segment
from rich.style import Style

from tui.ui.pictures.decoding import decoded
from tui.ui.pictures.headers import PixelSize
from tui.ui.pictures.rows import PictureLine, cells_for

if TYPE_CHECKING:
    from collections.abc import Sequence

OPAQUE = 128
"""The alpha from which a pixel is drawn; others show the page."""
Pixel = tuple[int, int, int] | None


def half_block_lines(data: str, width: int, colours: ColorSystem) -> list[PictureLine]:
    """The rows of a picture in a text of this width."""

    def fit(wide: int, high: int) -> tuple[int, int]:
        columns, rows = cells_for(PixelSize(wide, high), width)
        return columns, rows * 2

    image = decoded(data, fit)
    columns, pixels = image.size[0], image.tobytes()
    styles: dict[tuple[Pixel, Pixel], Segment] = {}
    lines: list[PictureLine] = []
    for top in range(0, image.size[1], 2):
        upper, lower = (_pixels(pixels, columns, y) for y in (top, top + 1))
        cells: list[Segment] = []
        for pair in zip(upper, lower, strict=True):
            cell = styles.get(pair)
            if cell is None:
                cell = styles[pair] = _cell(*pair, colours)
            cells.append(cell)
        lines.append(PictureLine(_joined(cells), columns))
    return lines


def _pixels(pixels: bytes, columns: int, y: int) -> Iterator[Pixel]:
    row = pixels[4 * columns * y : 4 * columns * (y + 1)]
    for at in range(0, len(row), 4):
        yield (row[at], row[at + 1], row[at + 2]) if row[at + 3] >= OPAQUE else None


def _cell(upper: Pixel, lower: Pixel, colours: ColorSystem) -> Segment:
    if upper is None and lower is None:
        return Segment(" ")
    if upper is None:
        text, style = "▄", Style(color=_colour(lower, colours))
    elif lower is None:
        text, style = "▀", Style(color=_colour(upper, colours))
    elif upper == lower:
        text, style = " ", Style(bgcolor=_colour(lower, colours))
    else:
        text, style = "▀", Style(color=_colour(upper, colours), bgcolor=_colour(lower, colours))
    # A style keeps its escape sequence from the first use on: made here, it takes no time of a frame.
    style.render(text, color_system=colours)
    return Segment(text, style)


def _colour(pixel: Pixel, colours: ColorSystem) -> Color | None:
    return None if pixel is None else Color.from_rgb(*pixel).downgrade(colours)


def _joined(cells: Sequence[Segment]) -> list[Segment]:
    """Equal neighbours as one segment."""
    found: list[Segment] = []
    for cell in cells:
        if found and found[-1].style is cell.style and found[-1].text[0] == cell.text:
            found[-1] = Segment(found[-1].text + cell.text, cell.style)
        else:
            found.append(cell)
    return found
