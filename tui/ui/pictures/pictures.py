"""Draws the pictures of all transcripts: in which format, in which order, and how many stay decoded."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from enum import Enum
from itertools import count
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from rich.color import ColorSystem

from tui.ui.pictures.decoding import NotDrawable, PillowMissing
from tui.ui.pictures.kitty_pictures import KittyPictures
from tui.ui.terminal.graphics import Graphics, can_be_asked
from tui.ui.terminal.textual_private import driver_of
from tui.ui.transcript.transcript import Transcript
from tui.ui.workers import start_work

if TYPE_CHECKING:
    from tui.ui.app import PonderApp
    from tui.ui.pictures.picture import Picture
    from tui.ui.pictures.rows import PictureLine
    from tui.ui.pictures.sixel import SixelPicture

T = TypeVar("T")
Encoded: TypeAlias = "list[PictureLine] | tuple[str, tuple[int, int]] | SixelPicture | None"
"""Rows, or what the terminal gets: a PNG in base64 with its columns and rows, or pixels with every painted row."""
ANSWER_WITHIN_S = 1.0
"""How long a picture waits for the terminal's answers."""
MOST_CELLS = 40_000
"""Cells of pictures that stay decoded, more than any screen has."""
COLOURS = {"256": ColorSystem.EIGHT_BIT, "truecolor": ColorSystem.TRUECOLOR}
"""Names of the terminal's colours that are enough for pictures."""


class PictureThread:
    """Runs one job after the other. It is a daemon, so that leaving the program never waits for a decoder."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    async def run(self, job: Callable[[], T]) -> T:
        """The job's result."""
        future: Future[T] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():  # nobody waits any more
                return
            try:
                future.set_result(job())
            except Exception as error:  # noqa: BLE001 - raised where the result is awaited
                future.set_exception(error)

        if self._thread is None:
            thread = threading.Thread(target=self._run, name="pictures", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the system allows no more threads
                raise NotDrawable("cannot be decoded now") from None
            self._thread = thread
        self._jobs.put(work)
        return await asyncio.wrap_future(future)

    def end(self) -> None:
        """End the thread after the job that it has."""
        self._jobs.put(None)

    def _run(self) -> None:
        while (work := self._jobs.get()) is not None:
            work()


class PictureFormat(Enum):
    """How pictures are drawn."""

    BLOCKS = "blocks"
    KITTY = "kitty"
    SIXEL = "sixel"


class Pictures:
    """Decodes pictures when they are first seen."""

    def __init__(self, app: PonderApp) -> None:
        self._app = app
        self._thread = PictureThread()
        self._kitty = KittyPictures(app)
        self._sixels: dict[int, SixelPicture] = {}
        self._keys: dict[Picture, int] = {}
        self._next_key = count()
        self._asked: set[Picture] = set()
        self.kept: dict[Picture, None] = {}
        """Decoded pictures, the last seen at the end."""
        self.wish = 0
        """Counts changes of how pictures are drawn."""
        self.problem = ""
        """Why no picture is drawn although the user wishes it, for the captions."""
        self._is_missing = ""
        self.draws = False
        """Whether pictures are drawn."""
        self._setting = ""
        self._graphics: asyncio.Future[Graphics] | None = None
        """What the terminal can draw; None before it was asked."""
        self._colours = ColorSystem.TRUECOLOR
        self.follow_settings()

    def follow_settings(self) -> None:
        """Apply ``ui.images`` and ``ui.plain``."""
        layers = self._app.services.settings.layers()
        colours = COLOURS.get(self._app.console.color_system or "")
        self._setting = str(layers.value("ui.images"))
        wanted = self._setting != "off" and not layers.value("ui.plain")
        able = colours is not None and not self._app.no_color
        self.draws = wanted and able and not self._is_missing
        self.problem = self._is_missing if wanted and able else ""
        self._colours = colours or ColorSystem.TRUECOLOR
        self.wish += 1
        self._changed()

    def close(self) -> None:
        """The screen ends."""
        self._thread.end()

    def leave(self) -> str:
        """What to write before the terminal is given back. Back again, the pictures are sent anew."""
        deletions = self._kitty.leave()
        if deletions:
            for picture in list(self.kept):
                self._drop(picture)
        return deletions

    def seen(self, picture: Picture, *, is_drawn: bool) -> None:
        """A row of it is painted: decode it, or keep it longer than others."""
        if is_drawn:
            self.kept.pop(picture, None)
            self.kept[picture] = None
        elif picture not in self._asked:
            self._asked.add(picture)
            start_work(self._app, lambda: self._draw(picture), group="pictures")

    def forget(self, picture: Picture) -> None:
        """It is no longer shown."""
        self.kept.pop(picture, None)
        self._kitty.forget(picture)
        self._sixels.pop(self._keys.pop(picture, -1), None)

    @property
    def has_sixels(self) -> bool:
        """Whether a picture is drawn as sixels."""
        return bool(self._sixels)

    def sixels_of(self, key: int, row: int, first: int, end: int) -> str:
        """The pixels of some columns of a row of a picture; "" if it is gone."""
        found = self._sixels.get(key)
        return found.row(row, first, end) if found is not None else ""

    def resized(self) -> None:
        """The window has another size, and its cells too if the user chose another font: sixels are made of pixels."""
        if self._sixels and self._graphics is not None and self._graphics.done():
            before, self._graphics = self._graphics.result(), None
            start_work(self._app, lambda: self._look_at_cells(before), group="cells", exclusive=True)

    async def _look_at_cells(self, before: Graphics) -> None:
        if (await self._terminal()).cell != before.cell:
            self.follow_settings()

    async def _draw(self, picture: Picture) -> None:
        data, width, wish = picture.data or "", picture.width, self.wish

        def is_wanted() -> bool:
            return (picture.width, self.wish) == (width, wish)

        try:
            graphics = await self._terminal()
            picture_format = self._format(graphics)
            job = self._job(picture_format, graphics, data, width)
            made = await self._thread.run(lambda: job() if is_wanted() else None)
            if made is None or not is_wanted():
                return
            lines = await self._lines(picture, made)
        except PillowMissing as missing:
            self._is_missing = str(missing)
            self.follow_settings()
        except NotDrawable as problem:
            picture.refuse(str(problem))
        else:
            if is_wanted() and lines is not None:
                picture.show(lines)
                self.kept[picture] = None
                self._drop_oldest()
            else:
                self._kitty.forget(picture)
        finally:
            self._asked.discard(picture)
            self._changed()

    async def _lines(self, picture: Picture, made: Encoded) -> Sequence[PictureLine] | None:
        """The rows of a picture, once the terminal has it or will get it with its rows."""
        if isinstance(made, tuple):
            return await self._kitty.send(picture, *made)
        if made is None or isinstance(made, list):
            return made
        from tui.ui.pictures.sixel import sixel_lines

        key = self._keys[picture] = next(self._next_key)
        self._sixels[key] = made
        return sixel_lines(key, made.cells)

    def _format(self, graphics: Graphics) -> PictureFormat:
        wished = self._setting
        if wished == "auto":
            wished = "kitty" if graphics.placeholders else "sixel" if graphics.sixel else "blocks"
        # Without the size of a cell there is no place for pixels.
        return PictureFormat.BLOCKS if wished == "sixel" and graphics.cell is None else PictureFormat(wished)

    def _job(self, picture_format: PictureFormat, graphics: Graphics, data: str, width: int) -> Callable[[], Encoded]:
        """What the thread does for one picture. The code is not loaded for the first screen."""

        def blocks() -> Encoded:
            from tui.ui.pictures.half_blocks import half_block_lines

            return half_block_lines(data, width, self._colours)

        def kitty() -> Encoded:
            from tui.ui.pictures.kitty import kitty_picture

            return kitty_picture(data, width, graphics.cell)

        def sixel() -> Encoded:
            from tui.ui.pictures.sixel import sixel_picture

            return sixel_picture(data, width, graphics.cell or (1, 1), graphics.colours)

        return {PictureFormat.KITTY: kitty, PictureFormat.SIXEL: sixel, PictureFormat.BLOCKS: blocks}[picture_format]

    async def _terminal(self) -> Graphics:
        """What the terminal can draw; it is asked once."""
        if self._graphics is None:
            loop = asyncio.get_running_loop()
            graphics = self._graphics = loop.create_future()

            def answered(found: Graphics) -> None:
                with contextlib.suppress(RuntimeError):  # the loop is closed
                    loop.call_soon_threadsafe(lambda: None if graphics.done() else graphics.set_result(found))

            ask = getattr(driver_of(self._app), "ask_graphics", None)
            if ask is None or not can_be_asked(os.environ):
                graphics.set_result(Graphics())
            else:
                ask(answered)
                loop.call_later(ANSWER_WITHIN_S, answered, Graphics())
        return await asyncio.shield(self._graphics)

    def _drop_oldest(self) -> None:
        cells = sum(picture.area for picture in self.kept)
        for picture in list(self.kept):
            if cells <= MOST_CELLS:
                break
            cells -= picture.area
            self._drop(picture)

    def _drop(self, picture: Picture) -> None:
        self.forget(picture)
        picture.forget_rows()

    def _changed(self) -> None:
        """Draw what has changed, in every transcript on the screen."""
        if not self._app.is_running:
            return
        for screen in self._app.screen_stack:
            for transcript in screen.query(Transcript):
                transcript.column.note_outdated()
                transcript.settle()
                transcript.refresh()
