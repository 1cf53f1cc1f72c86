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

if sys.platform != "win32":
    import termios

QUESTION = b"\x1b]11;?\x1b\\\x1b[c"
ANSWER = re.compile(rb"\x1b\]11;rgba?:([0-9a-fA-F]+)/([0-9a-fA-F]+)/([0-9a-fA-F]+)[^\x07\x1b]*(?:\x07|\x1b\\)")
NAMED = re.compile(rb"\x1b\[\?[0-9;]*c")
REPLIES = re.compile(rb"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[?>=]?[0-9;]*[a-zA-Z~]|[\x00-\x08\x0b-\x1f]")
PATIENCE_S = 0.15
"""How much longer than loading takes a terminal may take to answer."""


class BackgroundQuestion:
    """Asked on making; ``light`` waits for the answer. Keys typed meanwhile are kept in ``typed``."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.typed = ""
        self._modes: list[object] | None = None
        wanted = sys.platform != "win32" and not environment.get("NO_COLOR") and not environment.get("TEXTUAL_DRIVER")
        if wanted and os.isatty(0) and os.isatty(1):
            self._ask()

    def _ask(self) -> None:
        with contextlib.suppress(OSError, termios.error):
            modes = termios.tcgetattr(0)
            quiet = [*modes[:3], modes[3] & ~(termios.ECHO | termios.ICANON), *modes[4:]]
            termios.tcsetattr(0, termios.TCSANOW, quiet)
            self._modes = list(modes)
            os.write(1, QUESTION)

    def light(self) -> bool | None:
        """Whether the ground is light; None where the terminal does not say."""
        if self._modes is None:
            return None
        heard = b""
        deadline = time.monotonic() + PATIENCE_S
        try:
            while not NAMED.search(heard):
                left = deadline - time.monotonic()
                if left <= 0 or not select.select([0], [], [], left)[0]:
                    break
                piece = os.read(0, 4096)
                if not piece:
                    break
                heard += piece
        finally:
            self.close()
        self.typed = REPLIES.sub(b"", heard).decode("utf-8", "ignore")
        found = ANSWER.search(heard)
        return _is_light(found) if found else None

    def close(self) -> None:
        """The terminal's modes are as they were."""
        if self._modes is not None:
            with contextlib.suppress(OSError, termios.error):
                termios.tcsetattr(0, termios.TCSANOW, self._modes)  # type: ignore[arg-type]  # as tcgetattr gave it
            self._modes = None


def _is_light(found: re.Match[bytes]) -> bool:
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in found.groups())
    return bool(0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.5)
