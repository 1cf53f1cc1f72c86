"""Reads what the user types, by lines. The terminal edits the line: nothing of ours redraws it.

readline would offer a history, but it rewrites the row with cursor movements, which screen readers speak again and dumb
terminals print as rubbish.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import threading
from collections.abc import Callable, Iterator
from io import RawIOBase

from tui.domain.fast_dataclass import dataclass

if sys.platform != "win32":
    import termios

PASTE_S = 0.03
"""Lines that follow each other faster than this were pasted: nobody types a line in that time."""
LONGEST_LINE = 1_023 if sys.platform == "darwin" else 4_095
"""Bytes of a line that a terminal passes on; the rest is lost in the terminal."""
LAST_LINE_S = 0.1


@dataclass(frozen=True, slots=True)
class TypedText:
    """A line, or several that were pasted at once."""

    text: str
    pasted: bool = False
    cut: bool = False
    """The terminal has lost the end of a line."""


class LineReader:
    """Hands on each line as it is entered, and None at the end of the input; on a thread of its own."""

    def __init__(self, source: RawIOBase, on_typed: Callable[[TypedText | None], None]) -> None:
        self._source = source
        self._on_typed = on_typed
        self._rest = b""
        self.is_terminal = source.isatty()
        self._is_hidden = False
        self._more = threading.Event()
        """The rest of a line arrived that was not entered."""

    def start(self) -> None:
        """Begin to read."""
        threading.Thread(target=self._read, name="typed lines", daemon=True).start()

    @property
    def echoes(self) -> bool:
        """Whether enter begins a new row: the terminal, or a program in its place, echoes what is typed."""
        return self.is_terminal and not self._is_hidden

    @contextlib.contextmanager
    def hidden(self) -> Iterator[None]:
        """Show nothing of what is typed meanwhile."""
        if sys.platform == "win32" or not self.is_terminal:
            yield
            return
        terminal = self._source.fileno()
        before = termios.tcgetattr(terminal)
        changed = [*before]
        changed[3] &= ~termios.ECHO
        termios.tcsetattr(terminal, termios.TCSADRAIN, changed)
        self._is_hidden = True
        try:
            yield
        finally:
            self._is_hidden = False
            with contextlib.suppress(OSError, termios.error):  # the terminal is gone
                termios.tcsetattr(terminal, termios.TCSADRAIN, before)

    def unfinished(self) -> str:
        """What was typed and not entered. Called last: it can be read only after the terminal stops editing lines."""
        if sys.platform == "win32" or not self.is_terminal:
            return _text(self._rest)
        terminal = self._source.fileno()
        with contextlib.suppress(OSError, termios.error):
            before = termios.tcgetattr(terminal)
            changed = [*before]
            changed[3] &= ~(termios.ICANON | termios.ECHO)
            termios.tcsetattr(terminal, termios.TCSANOW, changed)
            self._more.wait(LAST_LINE_S)
            termios.tcsetattr(terminal, termios.TCSANOW, before)
        return _text(self._rest)

    def _read(self) -> None:
        is_open = True
        while is_open:
            while data := self._next():
                self._split(data)
            if self._rest and not self.is_terminal:
                self._hand_on([self._rest])
            self._on_typed(None)
            # After ctrl+d, a terminal can still be read: the user may stay. One that is gone cannot.
            is_open = self.is_terminal and os.isatty(self._source.fileno())

    def _split(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        while lines and self.is_terminal and self._follows_at_once():
            *more, self._rest = (self._rest + self._next()).split(b"\n")
            lines += more
        if lines:
            self._hand_on(lines)
        if self._rest:
            self._more.set()

    def _next(self) -> bytes:
        try:
            return self._source.read(65_536) or b""
        except OSError:  # the terminal is gone
            return b""

    def _follows_at_once(self) -> bool:
        return sys.platform != "win32" and bool(select.select([self._source], [], [], PASTE_S)[0])

    def _hand_on(self, lines: list[bytes]) -> None:
        cut = self.is_terminal and any(len(line) >= LONGEST_LINE for line in lines)
        if self.is_terminal:
            self._on_typed(TypedText("\n".join(map(_text, lines)), pasted=len(lines) > 1, cut=cut))
            return
        for line in lines:
            self._on_typed(TypedText(_text(line)))


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").removesuffix("\r")
