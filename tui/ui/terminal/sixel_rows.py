"""Draws sixels over the cells that have a place in a picture, whenever such cells are painted.

Sixels are pixels over the text: painting a cell removes them, and nothing else does. So rows that hold cells of a
picture are painted whole (``tui.ui.terminal.cluster_rows``), and then the pixels of those cells that are visible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import cast

from rich.segment import ControlType, Segment
from textual.strip import Strip

from tui.ui.terminal.textual_private import ChopsUpdate, LayoutUpdate

BLANK = "\u2800"
"""Fills the cells of a picture. Text may contain it as well, but without a place."""
META = "sixel"
"""The name of a cell's place in its style: picture, row, column."""
RowOf = Callable[[int, int, int, int], str]
"""The sixels of a picture's row from one column to the one after the last."""


def holds_pixels(strip: Strip | None) -> bool:
    """Whether the strip may have cells of a picture."""
    # Called for every painted strip: a plain loop, and only the first character of a segment.
    for text, _, _ in strip or ():  # noqa: SIM110 - half as fast with any()
        if text[:1] == BLANK:
            return True
    return False


def with_sixels(update: object, row_of: RowOf, height: int) -> object:
    """The update, with the pixels of pictures behind the text of their rows.

    On the last row of a screen of this height there are none: pixels below a row scroll the screen.
    """
    if isinstance(update, ChopsUpdate):
        chops = cast("list[Mapping[int, Strip | None]]", update.chops)
        for y in {y for y, _, _ in update.spans}:
            if y < height - 1 and any(map(holds_pixels, chops[y].values())):
                drawn = _pixels(chops[y].items(), y, row_of)
                x, last = list(chops[y].items())[-1]
                chops[y] = {**chops[y], x: _followed(last or Strip([]), drawn)}
    elif isinstance(update, LayoutUpdate):
        for number, line in enumerate(update.strips):
            strips = list(line)
            if update.region.y + number < height - 1 and any(map(holds_pixels, strips)):
                columns = [update.region.x]
                for strip in strips[:-1]:
                    columns.append(columns[-1] + strip.cell_length)
                drawn = _pixels(zip(columns, strips, strict=True), update.region.y + number, row_of)
                update.strips[number] = [*strips[:-1], _followed(strips[-1], drawn)]
    return update


def _followed(last: Strip, drawn: str) -> Strip:
    """The last strip of a row and the pixels: text that is painted after them would remove them."""
    control = [(ControlType.CURSOR_FORWARD, 0)]  # text without a width
    return Strip([*last, Segment(drawn, None, control)], last.cell_length)


def _pixels(strips: Iterable[tuple[int, Strip | None]], y: int, row_of: RowOf) -> str:
    """The sixels of the visible cells of a row of the screen, each at its place."""
    runs: list[tuple[int, int, int, int, int]] = []
    for begin, strip in strips:
        x = begin
        for segment in strip or ():
            style = segment.style
            place = style.meta.get(META) if segment.text == BLANK and style is not None else None
            if place is not None:
                picture, row, column = place
                if runs and (*runs[-1][:2], runs[-1][3]) == (picture, row, column):
                    runs[-1] = (*runs[-1][:3], column + 1, runs[-1][4])
                else:
                    runs.append((picture, row, column, column + 1, x))
            x += segment.cell_length
    return "".join(
        f"\x1b[{y + 1};{at + 1}H{pixels}\x1b[{y + 1};1H"
        for picture, row, first, end, at in runs
        if (pixels := row_of(picture, row, first, end))
    )
