"""Writes lines at the end of what is shown, and never changes what is there."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable, Iterable
from typing import TextIO

from tui.domain.printable import printable

CLOSE_WITHIN_S = 1.0
MOST_WAITING = 32
"""Pieces waiting for the terminal above which no more of an answer is taken."""


class LineWriter:
    """Writes on a thread of its own, so that a terminal that does not read blocks nothing else."""

    def __init__(self, out: TextIO, *, ends_rows: Callable[[], bool]) -> None:
        """``ends_rows``: whether the terminal itself ends the row when the user presses enter."""
        self._out = out
        self._ends_rows = ends_rows
        self._pieces: queue.SimpleQueue[str | Callable[[], object] | None] = queue.SimpleQueue()
        self._prompt = ""
        """What the last row begins with while the user can type behind it."""
        self._held: list[str] | None = None
        """Lines that wait until the user has entered one."""
        self.prompt_lost: Callable[[], object] = lambda: None
        """Called when lines were written behind a prompt: it is to be written again below them."""
        self.is_gone = False
        """The reader of the output is gone."""
        self.went: Callable[[], object] = lambda: None
        """Called then, on another thread."""
        self._thread = threading.Thread(target=self._write, name="line writer", daemon=True)
        self._thread.start()

    @property
    def is_held(self) -> bool:
        return self._held is not None

    @property
    def is_behind(self) -> bool:
        """Whether the terminal takes less than is written."""
        return self._pieces.qsize() > MOST_WAITING

    def say(self, lines: Iterable[str]) -> None:
        """Write these lines, below a prompt if there is one."""
        found = [row for line in lines for row in printable(line).split("\n")]
        if not found:
            return
        if self._held is not None:
            self._held += found
            return
        text = "".join(f"{line.rstrip()}\n" for line in found)
        if self._prompt:
            self._prompt = ""
            self._pieces.put(f"\n{text}")
            self.prompt_lost()
        else:
            self._pieces.put(text)

    def prompt(self, text: str) -> None:
        """Write a prompt, behind which the user types; not again if it is there."""
        text = printable(text, keep_newlines=False)
        if text == self._prompt:
            return
        self._pieces.put(f"\n{text}" if self._prompt else text)
        self._prompt = text

    def entered(self) -> None:
        """The user has pressed enter: the next line begins a row."""
        if self._prompt and not self._ends_rows():
            self._pieces.put("\n")
        self._prompt = ""

    def broken_off(self) -> None:
        """Ctrl+c ended the row."""
        self._pieces.put("\n")
        self._prompt = ""

    def withdraw(self) -> None:
        """End the row of a prompt that is not to be answered any more."""
        if self._prompt:
            self.broken_off()

    def hold(self) -> None:
        """Keep all further lines until ``release``."""
        if self._held is None:
            self._held = []

    def release(self) -> None:
        """Write what was held."""
        held, self._held = self._held, None
        self.say(held or ())

    async def written(self) -> None:
        """Wait until everything is written."""
        loop, done = asyncio.get_running_loop(), asyncio.Event()

        def tell() -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(done.set)

        self._pieces.put(tell)
        await done.wait()

    def close(self) -> None:
        """Write the rest, if the terminal reads it."""
        self.release()
        self._pieces.put(None)
        self._thread.join(CLOSE_WITHIN_S)

    def _write(self) -> None:
        while (piece := self._pieces.get()) is not None:
            if not isinstance(piece, str):
                piece()
                continue
            try:
                self._out.write(piece)
                self._out.flush()
            except (OSError, ValueError):  # the session is saved all the same
                if not self.is_gone:
                    self.is_gone = True
                    self.went()
