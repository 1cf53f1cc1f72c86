"""Rectangles of text that are put beside and above each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from tui.typeset.drawing import Measure
from tui.typeset.math.nodes import CannotSetError

MOST_CELLS = 20_000
"""Cells of the largest part of a formula."""
Side = Literal["l", "c", "r"]


class Box(NamedTuple):
    """Rows of equal width; ``base`` is the row of the baseline."""

    rows: tuple[str, ...]
    width: int
    base: int = 0

    @property
    def height(self) -> int:
        return len(self.rows)

    @property
    def depth(self) -> int:
        """Rows below the baseline."""
        return len(self.rows) - 1 - self.base


EMPTY = Box(("",), 0)


def text_box(text: str, measure: Measure) -> Box:
    return Box((text,), measure(text))


def blank_box(columns: int) -> Box:
    return Box((" " * columns,), columns)


def beside(boxes: Sequence[Box]) -> Box:
    """Boxes on one baseline."""
    if len(boxes) == 1:
        return boxes[0]
    if not boxes:
        return EMPTY
    width = sum([box.width for box in boxes])
    if all([len(box.rows) == 1 for box in boxes]):  # noqa: C419 - lists take half the time of generators here
        return Box(("".join([box.rows[0] for box in boxes]),), width)
    above = max([box.base for box in boxes])
    below = max([box.depth for box in boxes])
    _check((above + below + 1) * width)
    columns = [_grown(box, above, below) for box in boxes if box.width]
    return Box(tuple(map("".join, zip(*columns, strict=True))), width, above)


def _grown(box: Box, above: int, below: int) -> tuple[str, ...]:
    blank = (" " * box.width,)
    return blank * (above - box.base) + box.rows + blank * (below - box.depth)


def stacked(boxes: Sequence[Box], base: int, side: Side = "c") -> Box:
    """Boxes below each other; ``base`` is the row of the baseline in the result."""
    width = max(box.width for box in boxes)
    _check(width * sum(box.height for box in boxes))
    return Box(tuple(row for box in boxes for row in placed(box, width, side).rows), width, base)


def placed(box: Box, width: int, side: Side) -> Box:
    """The box in the middle or at a side of more columns."""
    spare = width - box.width
    if spare <= 0:
        return box
    left = spare if side == "r" else spare // 2 if side == "c" else 0
    before, after = " " * left, " " * (spare - left)
    return Box(tuple(before + row + after for row in box.rows), width, box.base)


def _check(cells: int) -> None:
    if cells > MOST_CELLS:
        raise CannotSetError("too large")


TALL = {
    "(": ("⎛", "⎜", "⎜", "⎝"),
    ")": ("⎞", "⎟", "⎟", "⎠"),
    "[": ("⎡", "⎢", "⎢", "⎣"),
    "]": ("⎤", "⎥", "⎥", "⎦"),
    "{": ("⎧", "⎪", "⎨", "⎩"),
    "}": ("⎫", "⎪", "⎬", "⎭"),
    "|": ("│", "│", "│", "│"),
    "‖": ("║", "║", "║", "║"),
    "⌊": ("⎢", "⎢", "⎢", "⎣"),
    "⌋": ("⎥", "⎥", "⎥", "⎦"),
    "⌈": ("⎡", "⎢", "⎢", "⎢"),
    "⌉": ("⎤", "⎥", "⎥", "⎥"),
    "⟦": ("⟦", "║", "║", "⟦"),
    "⟧": ("⟧", "║", "║", "⟧"),
    "↑": ("↑", "│", "│", "│"),
    "↓": ("│", "│", "│", "↓"),
    "↕": ("↑", "│", "│", "↓"),
    "⇑": ("⇑", "║", "║", "║"),
    "⇓": ("║", "║", "║", "⇓"),
}
"""Top, extension, middle and bottom of delimiters."""
BRACES = {"{": ("⎰", "⎱"), "}": ("⎱", "⎰")}
"""Braces of two rows, which have no middle."""


def delimiter(mark: str, height: int, base: int) -> Box:
    """A delimiter as tall as a box with this baseline."""
    if height == 1 or not mark:
        return Box((mark,) * height if mark else ("",) * height, len(mark), base)
    if mark in "⟨⟩":
        return _angle(mark, height, base)
    if mark in BRACES and height == 2:
        return Box(BRACES[mark], 1, base)
    if mark not in TALL:
        return Box(tuple(mark if row == base else " " for row in range(height)), 1, base)
    top, extension, middle, bottom = TALL[mark]
    rows = [extension] * height
    rows[0], rows[-1] = top, bottom
    if 0 < base < height - 1:
        rows[base] = middle
    elif mark in BRACES:
        rows[height // 2] = middle
    return Box(tuple(rows), 1, base)


def _angle(mark: str, height: int, base: int) -> Box:
    half, odd = divmod(height, 2)
    up, down = "╱", "╲"
    left = [" " * (half - 1 - row) + up + " " * row for row in range(half)]
    right = [row[::-1].replace(up, down) for row in left]
    if mark == "⟨":
        middle = ["⟨" + " " * (half - 1)] * odd
        rows = [*left, *middle, *(row.replace(up, down) for row in map(_mirrored, left))]
    else:
        middle = [" " * (half - 1) + "⟩"] * odd
        rows = [*right, *middle, *(row.replace(down, up) for row in map(_mirrored, right))]
    return Box(tuple(rows), max(1, half), base)


def _mirrored(row: str) -> str:
    return row[::-1]
