"""Whether the terminal is light or dark, asked of the terminal itself before the screen starts.

The question goes out first thing and the answer is collected once everything else is loaded, so it costs no time.
A second question every terminal answers (what are you?) tells when there is nothing more to wait for.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import sys
import time
from collections.abc import Mapping
from enum import Enum

if sys.platform != "win32":
    import termios

QUESTION = b"\x1b]11;?\x1b\\\x1b[c"
ANSWER = re.compile(rb"\x1b\]11;rgba?:([0-9a-fA-F]+)/([0-9a-fA-F]+)/([0-9a-fA-F]+)[^\x07\x1b]*(?:\x07|\x1b\\)")
NAMED = re.compile(rb"\x1b\[\?[0-9;]*c")
PATIENCE_S = 0.15
"""How much longer than loading takes a terminal may take to answer. Later answers are the keyboard's to understand."""
LAST_PATIENCE_S = 0.5
"""How long a program that ends waits for answers: what comes later is typed at the shell's prompt."""


class TerminalBackground(Enum):
    """What a terminal's background is."""

    LIGHT = "light"
    DARK = "dark"


class BackgroundQuestion:
    """Asked early; ``light`` waits for the answer. All that was said meanwhile is ``heard``, keys and answers."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.heard = b""
        self.modes: list[object] | None = None
        """The terminal's own, where we have changed them."""
        self._open = False
        self._wanted = (
            sys.platform != "win32" and not environment.get("NO_COLOR") and not environment.get("TEXTUAL_DRIVER")
        )

    def ask(self) -> None:
        """Ask, and echo nothing of what is said from now on."""
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
        """Whether the ground is light; None where the terminal does not say (yet)."""
        if not self._open:
            return None
        self.heard = read_answers(0, self.heard, PATIENCE_S)
        ground = background_in(self.heard)
        return None if ground is None else ground is TerminalBackground.LIGHT

    @property
    def is_unanswered(self) -> bool:
        """Whether an answer will come that nobody has read."""
        return self._open and not NAMED.search(self.heard)

    def give_up(self) -> None:
        """The program ends before its screen stands: no answer may be left for the shell to read."""
        if self.is_unanswered:
            self.heard = read_answers(0, self.heard, LAST_PATIENCE_S)
        self.close()

    def close(self) -> None:
        """The terminal's modes are as they were. Until then, nothing that is said shows on the shell's screen."""
        if self._open and self.modes is not None:
            self._open = False
            with contextlib.suppress(OSError, termios.error):
                termios.tcsetattr(0, termios.TCSANOW, self.modes)  # type: ignore[arg-type]  # as tcgetattr gave it


def read_answers(terminal: int, heard: bytes, patience: float, count: int = 1) -> bytes:
    """What a terminal says until it has been named so many times or patience ends, behind what was ``heard`` before."""
    deadline = time.monotonic() + patience
    with contextlib.suppress(OSError):  # the terminal is gone, which others find out, too
        while len(NAMED.findall(heard)) < count:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([terminal], [], [], left)[0]:
                break
            piece = os.read(terminal, 4096)
            if not piece:
                break
            heard += piece
    return heard


def background_in(said: bytes) -> TerminalBackground | None:
    """What an answer says of the ground; None where there is no answer in it."""
    found = ANSWER.search(said)
    if found is None:
        return None
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in found.groups())
    return TerminalBackground.LIGHT if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.5 else TerminalBackground.DARK
