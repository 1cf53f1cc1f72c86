"""The beginning and the end of an output too long to keep: memory stays flat whatever is written."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tui.domain.counting import count

MAX_LINE = 2_000
"""Characters of one line that are shown."""

_BINARY = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


@dataclass(slots=True)
class OutputEnds:
    """Keeps ``head`` bytes of the beginning and ``tail`` bytes of the end."""

    head: int
    tail: int
    produced: int = 0
    _first: bytearray = field(default_factory=bytearray)
    _last: bytearray = field(default_factory=bytearray)

    def add(self, data: bytes) -> None:
        """More output."""
        self.produced += len(data)
        room = self.head - len(self._first)
        if room > 0:
            self._first += data[:room]
            data = data[room:]
        self._last += data[-self.tail :] if self.tail else b""
        if len(self._last) > self.tail:
            del self._last[: -self.tail or None]

    def text(self) -> str:
        """For the model: long lines and the middle cut, and that is said; binary marked."""
        missing = self.produced - len(self._first) - len(self._last)
        if missing <= 0:
            return _readable(bytes(self._first + self._last))
        between = f"\n… ({missing:,} of {count(self.produced, 'byte')} left out here) …\n"
        return _readable(bytes(self._first)) + between + _readable(bytes(self._last))

    def beginning(self) -> bytes:
        """The first bytes, as they came."""
        return bytes(self._first)

    def last_line(self) -> str:
        """The last line with words in it, for a progress row."""
        recent = bytes(self._last or self._first)[-4096:].decode(errors="replace")
        return next((line.strip() for line in reversed(recent.splitlines()) if line.strip()), "")


def _readable(data: bytes) -> str:
    text = data.decode(errors="replace")
    binary = len(_BINARY.findall(text)) + text.count("\ufffd")
    if binary > max(8, len(text) // 20):
        return f"(binary output: {count(len(data), 'byte')}, beginning with {data[:32].hex(' ')})"
    return "\n".join(_short(line) for line in text.replace("\r\n", "\n").split("\n"))


def _short(line: str) -> str:
    return line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}… ({len(line) - MAX_LINE:,} more characters)"
