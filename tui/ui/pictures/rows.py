"""Rows of the transcript that are part of a picture, and how many a picture takes."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter
from textual.strip import Strip

from tui.ui.markdown.runs import WRAP_ROLE, Run
from tui.ui.pictures.headers import PixelSize

MOST_COLUMNS = 80
MOST_ROWS = 20
LEAST_COLUMNS = 16
"""Small pictures are enlarged to this, but not to more columns than they have pixels."""
CELL = PixelSize(10, 20)
"""A cell in pixels, for the size on the screen only: the layout is the same on every terminal."""


def cells_for(size: PixelSize, width: int) -> tuple[int, int]:
    """Columns and rows of a picture in a text of this width."""
    wide = max(size.width / CELL.width, min(size.width, LEAST_COLUMNS))
    columns = min(wide, MOST_COLUMNS, max(1, width))
    rows = columns * size.height / size.width * CELL.width / CELL.height
    if rows > MOST_ROWS:
        columns, rows = columns * MOST_ROWS / rows, MOST_ROWS
    return max(1, round(columns)), max(1, round(rows))


class PictureLine(list[Run]):
    """One row of a picture. As text it continues the row above with nothing, so that copying skips it."""

    def __init__(self, cells: Sequence[Segment] = (), width: int = 0) -> None:
        super().__init__([Run(" ", WRAP_ROLE)])
        self.cells = cells
        self.width = width


class PictureStrip(Strip):
    """A styled row of a picture: neither filters nor selections nor marks change its colours.

    The position for the mouse is only in its first and last part, before and behind the picture.
    """

    __slots__ = ()

    def apply_filter(self, filter: LineFilter, background: Color) -> Strip:  # noqa: A002 - Textual's name
        return self

    def crop_extend(self, start: int, end: int, style: Style | None) -> Strip:
        missing = end - self.cell_length
        if start or missing < 0:
            return super().crop_extend(start, end, style)
        return PictureStrip([*self, Segment(" " * missing, style)], end) if missing else self

    def apply_offsets(self, x: int, y: int) -> Strip:
        parts = list(self)
        parts[0] = _with_offset(parts[0], x, y)
        parts[-1] = _with_offset(parts[-1], x + self.cell_length - parts[-1].cell_length, y)
        return PictureStrip(parts, self.cell_length)


def _with_offset(part: Segment, x: int, y: int) -> Segment:
    offset = Style.from_meta({"offset": (x, y)})
    return Segment(part.text, part.style + offset if part.style else offset)


def picture_strip(
    left: Sequence[Segment], line: PictureLine, tint: tuple[Style, int], page: Style, width: int
) -> PictureStrip:
    """The row over the whole width: margin, picture, the tint up to its column, the page."""
    style, tinted = tint
    parts = [*left, *(_on(style, cell) for cell in line.cells)]
    used = sum(part.cell_length for part in left) + line.width
    if used < tinted:
        parts.append(Segment(" " * (tinted - used), style))
        used = tinted
    if used < width:
        parts.append(Segment(" " * (width - used), page))
    return PictureStrip(parts, max(used, width))


def _on(background: Style, cell: Segment) -> Segment:
    style = cell.style
    if style is None:
        return Segment(cell.text, background)
    return cell if style.bgcolor is not None else Segment(cell.text, background + style)
