"""Asks the terminal whether its background is light or dark, before the screen starts.

The question is sent first and the answer is read after everything else is loaded, so it costs no time. A second
question, which every terminal answers (device attributes), shows when no more answers will come.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import time
from collections.abc import Mapping
from enum import Enum

from tui.domain.lazy_regex import lazy_regex

if sys.platform != "win32":
    import termios

QUESTION = b"\x1b]11;?\x1b\\\x1b[c"
ANSWER = lazy_regex(rb"\x1b\]11;rgba?:([0-9a-fA-F]+)/([0-9a-fA-F]+)/([0-9a-fA-F]+)[^\x07\x1b]*(?:\x07|\x1b\\)")
NAMED = lazy_regex(rb"\x1b\[\?[0-9;]*c")
ANSWER_WITHIN_S = 0.15
"""How long to wait for the answer after loading is complete. Later answers are handled by the keyboard parser."""
LAST_WAIT_S = 0.5
"""How long to wait for answers at exit: later ones would be typed at the shell's prompt."""


class TerminalBackground(Enum):
    """A terminal's background."""

    LIGHT = "light"
    DARK = "dark"


class BackgroundQuestion:
    """Sent early; ``light`` waits for the answer. ``heard`` has all bytes received meanwhile, keys and answers."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.heard = b""
        self.modes: list[object] | None = None
        """The terminal's original modes, if they were changed."""
        self._open = False
        self._wanted = (
            sys.platform != "win32" and not environment.get("NO_COLOR") and not environment.get("TEXTUAL_DRIVER")
        )

    def ask(self) -> None:
        """Send the questions and turn off echo."""
        if not (self._wanted and os.isatty(0) and os.isatty(1)):
            return
        with contextlib.suppress(OSError, termios.error):
            modes = termios.tcgetattr(0)
            as_typed = modes[0] & ~(termios.IXON | termios.ICRNL | termios.INLCR | termios.IGNCR)
            quiet = [as_typed, *modes[1:3], modes[3] & ~(termios.ECHO | termios.ICANON), *modes[4:]]
            termios.tcsetattr(0, termios.TCSANOW, quiet)
            self.modes, self._open = list(modes), True
            os.write(1, QUESTION)

    def light(self) -> bool | None:
        """Whether the background is light; None if the terminal has not answered."""
        if not self._open:
            return None
        self.heard = read_answers(0, self.heard, ANSWER_WITHIN_S)
        background = background_in(self.heard)
        return None if background is None else background is TerminalBackground.LIGHT

    @property
    def is_unanswered(self) -> bool:
        """Whether an answer is still to come."""
        return self._open and not NAMED.search(self.heard)

    def give_up(self) -> None:
        """Read remaining answers if the program ends before its screen starts: the shell must not get them."""
        if self.is_unanswered:
            self.heard = read_answers(0, self.heard, LAST_WAIT_S)
        self.close()

    def close(self) -> None:
        """Restore the terminal's modes. Until then nothing typed is echoed."""
        if self._open and self.modes is not None:
            self._open = False
            with contextlib.suppress(OSError, termios.error):
                termios.tcsetattr(0, termios.TCSANOW, self.modes)  # type: ignore[arg-type]  # as tcgetattr gave it


def read_answers(terminal: int, heard: bytes, patience: float, count: int = 1) -> bytes:
    """Read until the terminal has named itself ``count`` times or ``patience`` ends; returns all bytes."""
    deadline = time.monotonic() + patience
    with contextlib.suppress(OSError):  # the terminal is gone, which other code detects
        while len(NAMED.findall(heard)) < count:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([terminal], [], [], left)[0]:
                break
            piece = os.read(terminal, 4096)
            if not piece:
                break
            heard += piece
    return heard


def background_in(text: bytes) -> TerminalBackground | None:
    """The background that an answer reports; None if there is no answer."""
    found = ANSWER.search(text)
    if found is None:
        return None
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in found.groups())
    return TerminalBackground.LIGHT if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.5 else TerminalBackground.DARK
