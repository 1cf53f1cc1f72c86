"""A terminal with kitty's graphics protocol: keeps the pictures it is sent, and shows those that its cells name."""

from __future__ import annotations

import base64
import io
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pyte.graphics import FG_BG_256

from tests.e2e.terminal import Terminal
from tests.ui.pictures import PIL_Image, strong_colour
from tui.ui.pictures.kitty import NUMBERS

PLACEHOLDER = "\U0010eeee"
KEYS = re.compile(rb"([a-zA-Z])=([^,;]*)")


class KittyScreen(Terminal):
    """Keeps pictures by id."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], **how: Any) -> None:
        self.pictures: dict[int, Any] = {}
        self.cells: dict[int, tuple[int, int]] = {}
        self.deleted: list[int] = []
        self._open_one: tuple[dict[str, str], bytes] | None = None
        super().__init__(command, environment, **how)
        self.name = b"kitty(0.41.1)"

    def graphics(self, command: bytes) -> None:
        """Obey one command; one that kitty would refuse is an error of the test."""
        assert command.startswith(b"_G"), command[:40]
        head, _, payload = command[2:].partition(b";")
        keys = {key.decode(): value.decode() for key, value in KEYS.findall(head)}
        if keys.get("a") == "q":
            os.write(self.master, b"\x1b_Gi=%s;OK\x1b\\" % keys["i"].encode())
            return
        if keys.get("a") == "d":
            assert self._open_one is None, "a picture was not sent to its end"
            assert keys["d"] == "I"
            image = int(keys["i"])
            del self.pictures[image], self.cells[image]
            self.deleted.append(image)
            return
        assert len(payload) <= 4096
        if self._open_one is None:
            assert (keys["a"], keys["t"], keys["f"], keys["U"], keys["q"]) == ("T", "d", "100", "1", "2")
            self._open_one = keys, payload
        else:
            assert set(keys) <= {"m", "q"}
            self._open_one = self._open_one[0], self._open_one[1] + payload
        if keys["m"] == "0":
            (first, data), self._open_one = self._open_one, None
            image = int(first["i"])
            self.pictures[image] = PIL_Image.open(io.BytesIO(base64.b64decode(data, validate=True))).convert("RGBA")
            self.cells[image] = int(first["c"]), int(first["r"])

    def named(self) -> dict[tuple[int, int], tuple[int, int, int]]:
        """What the cells of the screen name: id, row and column of a picture."""
        found = {}
        for y in range(self.screen.lines):
            for x in range(self.screen.columns):
                cell = self.screen.buffer[y][x]
                if cell.data[:1] == PLACEHOLDER and len(cell.data) == 4:  # else the rest is still to be read
                    row, column, highest = (NUMBERS.index(number) for number in cell.data[1:])
                    colour = FG_BG_256.index(cell.fg, 16) if cell.fg in FG_BG_256[16:] else 0
                    found[x, y] = (highest << 24 | colour, row, column)
        return found

    def shown(self) -> dict[tuple[int, int], tuple[int, int, int]]:
        """The strong colours of the pictures on the screen, by cell."""
        found = {}
        for place, (image, row, column) in self.named().items():
            if image not in self.pictures:
                continue  # as behind a sheet, where its colour is another
            picture, (columns, rows) = self.pictures[image], self.cells[image]
            x, y = int((column + 0.5) * picture.width / columns), int((row + 0.5) * picture.height / rows)
            colour = strong_colour(picture.getpixel((x, y))[:3])
            if colour is not None:
                found[place] = colour
        return found
