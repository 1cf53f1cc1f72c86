"""A terminal with sixels: pixels over the text, which stay until their cell is drawn or erased."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.e2e.terminal import Terminal
from tests.ui.pictures import strong_colour
from tests.ui.sixel_decoder import decoded_sixel


class SixelScreen(Terminal):
    """Keeps the colour of the middle of every cell with pixels."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], **how: Any) -> None:
        self._pixels: dict[tuple[int, int], tuple[object, tuple[int, int, int]]] = {}
        self.drawn = 0
        """Sixels so far."""
        super().__init__(command, environment, **how)
        self.name, self.attributes, self.cell = b"XTerm(379)", b"\x1b[?63;1;2;4;6;9;15;22c", (10, 20)

    def graphics(self, command: bytes) -> None:
        """Draw a sixel at the cursor."""
        if not command.startswith(b"P"):
            return
        (width, height), pixels = decoded_sixel(command.decode())
        assert height == 20
        assert self.screen.cursor.y < self.screen.lines - 1
        self.drawn += 1
        for column in range(width // 10):
            x, y = self.screen.cursor.x + column, self.screen.cursor.y
            colour = pixels.get((10 * column + 5, 10))
            if colour is not None:
                red, green, blue = (round(2.55 * part) for part in colour)
                self._pixels[x, y] = self.screen.buffer[y][x], (red, green, blue)

    def shown(self) -> dict[tuple[int, int], tuple[int, int, int]]:
        """The strong colours on the screen, by cell."""
        # Whatever is drawn into a cell is another object.
        left = {
            place: colour
            for place, (cell, colour) in self._pixels.items()
            if self.screen.buffer[place[1]][place[0]] is cell
        }
        return {place: strong for place, colour in left.items() if (strong := strong_colour(colour)) is not None}
