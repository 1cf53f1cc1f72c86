"""The pictures that a terminal with kitty's protocol has been sent."""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import TYPE_CHECKING

from tui.ui.pictures.kitty import deletion, new_id, placeholder_lines, transmission
from tui.ui.terminal.textual_private import driver_of, write_to_terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.ui.app import PonderApp
    from tui.ui.pictures.picture import Picture
    from tui.ui.pictures.rows import PictureLine

AT_ONCE = 4
"""Chunks written together: 16 KB, so that keys are not echoed late behind a picture."""
LOOK_S = 0.005
"""How often is looked whether the terminal has read what was written."""


class KittyPictures:
    """Sends pictures one after the other, and deletes them."""

    def __init__(self, app: PonderApp) -> None:
        self._app = app
        self._ids: dict[Picture, int] = {}
        self._unwanted: list[int] = []
        """Deleted when the picture that is being sent is complete: its chunks must follow each other."""
        self._sending = asyncio.Lock()

    async def send(self, picture: Picture, png: str, cells: tuple[int, int]) -> Sequence[PictureLine] | None:
        """Send a picture; returns its rows, or None if the terminal was left meanwhile."""
        async with self._sending:
            image = self._ids[picture] = new_id(set(self._ids.values()))
            chunks = transmission(image, png, cells)
            while piece := "".join(islice(chunks, AT_ONCE)):
                while getattr(driver_of(self._app), "is_behind", False):  # noqa: ASYNC110 - nothing to wait for
                    await asyncio.sleep(LOOK_S)
                if image not in (*self._ids.values(), *self._unwanted):
                    return None
                write_to_terminal(self._app, piece)
                await asyncio.sleep(0)
        self._delete_unwanted()
        return placeholder_lines(image, cells)

    def forget(self, picture: Picture) -> None:
        """Let the terminal forget a picture."""
        image = self._ids.pop(picture, None)
        if image is not None:
            self._unwanted.append(image)
            self._delete_unwanted()

    def _delete_unwanted(self) -> None:
        if self._unwanted and not self._sending.locked():
            unwanted, self._unwanted = self._unwanted, []
            write_to_terminal(self._app, "".join(map(deletion, unwanted)))

    def leave(self) -> str:
        """What to write before the terminal is given back: it keeps no picture."""
        images = [*self._ids.values(), *self._unwanted]
        self._ids, self._unwanted = {}, []
        return "".join(map(deletion, images))
