"""A program on a terminal of its own: a pty, a pyte screen, polled with deadlines; nothing sleeps to be in step."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyte
from wcwidth import wcwidth

from tests import prefork
from tests.patience import PATIENCE_S

LATE_S = 3.0
"""Seconds without output after which nothing more comes from a program that has ended."""

QUERIES = re.compile(rb"\x1b\[(c|0c|>c|6n|16t|\?u|>q|\?\d+\$p)|\x1b\](10|11);\?(?:\x07|\x1b\\)")
STRINGS = re.compile(rb"\x1b(_G[^\x1b]*|P[0-9;]*q[^\x1b]*)\x1b\\")
"""Kitty's graphics and sixels, which are read as one."""
BEGUN_STRING = re.compile(rb"\x1b(?:_[^\x1b]*|P(?:[0-9;]*q[^\x1b]*|[0-9;]*))?(?:\x1b)?\Z")
LONGEST_QUERY = 32
"""Bytes that may be the beginning of a query whose end is still to be read."""
MODES = re.compile(rb"\x1b\[\?([0-9;]+)([hl])")
MOUSE = {1000, 1002, 1003, 1006, 1015, 1016}
REPORTS = {1004, 2048}
ALTERNATE, CURSOR, PASTE, WRAP = 1049, 25, 2004, 7


def environment(home: Path, **more: str) -> dict[str, str]:
    """A new user's: an empty home, no keys, many colours."""
    values = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(home),
        "PONDER_HOME": str(home / "ponder"),
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        **more,
    }
    return {name: value for name, value in values.items() if value}


class Terminal:
    """Everything the program writes, as bytes and as a screen; everything it reads.

    ``name`` and ``attributes``: its answers to questions about it.
    ``started``: by a new interpreter, because the start is what is tested; else forked where that is the same.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        size: tuple[int, int] = (100, 30),
        background: str = "1111/1111/1111",
        parsed: bool = True,
        late: bool = False,
        started: bool = False,
        screen: type[pyte.Screen] = pyte.Screen,
    ) -> None:
        self.cell: tuple[int, int] | None = None
        """Width and height in pixels, if it tells."""
        self.name, self.attributes = b"pyte(0.8)", b"\x1b[?62;22c"
        self._parsed = parsed
        self._late = late
        self._withheld = b""
        self._string = b""
        self._text: str | None = None
        self._lines: list[str] = []
        self.raw = b""
        self.screen = screen(*size)
        self._stream = pyte.ByteStream(self.screen)
        self._background = background.encode()
        self._modes: dict[int, bool] = {CURSOR: True, WRAP: True}
        self._answered = 0
        self.master, slave = pty.openpty()
        # Kept open, to look at the modes a program leaves behind.
        self.slave = slave
        self.modes_before = self.modes()
        _set_size(slave, size)
        self.started = time.perf_counter()
        named: dict[str, Any] = {
            **dict.fromkeys(("stdin", "stdout", "stderr"), slave),
            "env": dict(environment),
            "start_new_session": True,
        }
        self.process: subprocess.Popen[bytes]
        if not started and prefork.forkable(command, environment):
            self.process = prefork.start(command, **named)
        else:
            self.process = subprocess.Popen(command, preexec_fn=lambda: _take_terminal(slave), **named)
        self._open = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.close()

    # Reading

    def pump(self, seconds: float = 0.02) -> bytes:
        """Read what is there, waiting at most so long for it; b"" for nothing."""
        if not self._open or not select.select([self.master], [], [], seconds)[0]:
            return b""
        try:
            data = os.read(self.master, 65_536)
        except OSError:
            data = b""
        if not data:
            self.close()
            return b""
        self.raw += data
        if self._parsed:
            self._text = None
            try:
                for text, command in self._divided(data):
                    self._stream.feed(_without_private(text))
                    if command:
                        self.graphics(command)
            except TypeError as fault:  # a sequence with the arguments of another
                seen = self.raw[-2 * len(data) - 400 :]
                raise AssertionError(f"pyte cannot draw what was written: {seen!r}") from fault
        for found in MODES.finditer(self.raw, max(0, len(self.raw) - len(data) - 12)):
            for mode in found[1].split(b";"):
                self._modes[int(mode)] = found[2] == b"h"
        self._answer()
        return data

    def _divided(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Text and the graphics behind it, which pyte would print; what is still to be read to its end waits."""
        *parts, rest = STRINGS.split(self._string + data)
        yield from zip(parts[::2], parts[1::2], strict=True)
        begun = BEGUN_STRING.search(rest)
        self._string = rest[begun.start() :] if begun else b""
        yield rest[: begun.start()] if begun else rest, b""

    def graphics(self, command: bytes) -> None:
        """Obey kitty's graphics or a sixel; a terminal without graphics ignores them."""

    def forget(self) -> None:
        """Let go of what was read: where much comes, every byte more would copy and search all of it."""
        self.raw, self._answered = b"", 0

    def until(self, holds: Callable[[], bool], what: str, patience: float = PATIENCE_S) -> None:
        """Read until something holds; say what the screen showed if it never does."""
        deadline = time.perf_counter() + patience
        last_read = time.perf_counter()
        while not holds():
            now = time.perf_counter()
            if now > deadline:
                raise AssertionError(f"{what} never came to be; the screen says:\n{self.text()}")
            if self.pump():
                last_read = now
                continue
            # What a program wrote before its end is handed on by the kernel a little later.
            ended = self.process.poll() is not None and (not self._open or now - last_read > LATE_S)
            if ended and not holds():
                raise AssertionError(f"{what} never came to be, the program has ended; it said:\n{self.text()}")

    def wait_for(self, words: str, patience: float = PATIENCE_S) -> None:
        """Read until the screen says these words."""
        self.until(lambda: words in self.text(), f"«{words}»", patience)

    def text(self) -> str:
        """What the screen says."""
        if self._text is None:  # drawing it costs more than what it is asked for
            self._text = "\n".join(self._drawn_lines())
        return self._text

    def _drawn_lines(self) -> list[str]:
        """Every line as text; only those that were written since the last time are drawn again."""
        screen = self.screen
        if type(screen).display is not pyte.Screen.display:
            return [line.rstrip() for line in screen.display]
        if len(self._lines) != screen.lines:
            self._lines = [""] * screen.lines
            screen.dirty.update(range(screen.lines))
        for row in screen.dirty:
            if row < screen.lines:
                self._lines[row] = "".join(_cells(screen.buffer[row], screen.columns)).rstrip()
        screen.dirty.clear()
        return self._lines

    def is_on(self, mode: int) -> bool:
        """Whether a private mode is set."""
        return self._modes.get(mode, False)

    @property
    def is_clean(self) -> bool:
        """The terminal is as a shell wants it: main screen, cursor, wrapping, nothing reported, keys as ever."""
        on = {mode for mode, set_ in self._modes.items() if set_}
        as_ever = self.raw.count(b"\x1b[>25u") <= self.raw.count(b"\x1b[<u")
        return {CURSOR, WRAP} <= on and not on & {ALTERNATE, PASTE, *REPORTS, *MOUSE} and as_ever

    def modes(self) -> list[object]:
        """Echo, signals and the rest of what ``stty -a`` tells."""
        return list(termios.tcgetattr(self.slave))

    def is_echoing(self) -> bool:
        """Whether the kernel shows what is typed."""
        return bool(termios.tcgetattr(self.slave)[3] & termios.ECHO)

    def _answer(self) -> None:
        at, self._answered = self._answered, max(self._answered, len(self.raw) - LONGEST_QUERY)
        for query in QUERIES.finditer(self.raw, at):
            self._answered = max(self._answered, query.end())
            if self._late:
                self._withheld += self._reply(query)
            else:
                os.write(self.master, self._reply(query))

    def answer(self) -> None:
        """Give, at last, the answers a late terminal owes."""
        self._late = False
        self.type(self._withheld)

    def _reply(self, query: re.Match[bytes]) -> bytes:
        asked, colour = query[1], query[2]
        if colour:
            return (
                b"\x1b]" + colour + b";rgb:" + (self._background if colour == b"11" else b"dddd/dddd/dddd") + b"\x1b\\"
            )
        if asked == b"6n":
            return b"\x1b[1;1R"
        if asked == b"16t":
            return b"\x1b[6;%d;%dt" % (self.cell[1], self.cell[0]) if self.cell else b""
        if asked == b">q":
            return b"\x1bP>|" + self.name + b"\x1b\\"
        if asked == b"?u":
            return b"\x1b[?0u"
        if asked.endswith(b"$p"):
            return b"\x1b[" + asked[:-2] + b";0$y"
        return self.attributes

    # Writing

    def type(self, keys: str | bytes) -> None:
        """Press these keys."""
        os.write(self.master, keys.encode() if isinstance(keys, str) else keys)

    def resize(self, columns: int, rows: int) -> None:
        """Another size; the program is told."""
        _set_size(self.master, (columns, rows))
        self._text = None
        self._lines = []
        self.screen.resize(rows, columns)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the program."""
        os.kill(self.process.pid, number)

    def close(self) -> None:
        """The terminal is gone."""
        if self._open:
            self._open = False
            os.close(self.master)
            os.close(self.slave)

    def exit_code(self, patience: float = PATIENCE_S) -> int:
        """Read on until the program has ended; its exit code as a shell gives it."""
        deadline = time.perf_counter() + patience
        while self.process.poll() is None:
            if time.perf_counter() > deadline:
                raise AssertionError(f"the program did not end; the screen says:\n{self.text()}")
            if not self.pump():
                select.select([], [], [], 0.01)
        while self.pump(0):
            pass
        code = self.process.returncode
        return 128 - code if code < 0 else code


def _cells(line: Mapping[int, Any], columns: int) -> Iterator[str]:
    """The characters of a line as pyte draws them: nothing is drawn behind the first half of a wide one."""
    column = 0
    while column < columns:
        text = line[column].data
        yield text
        column += 2 if text and wcwidth(text[0]) == 2 else 1


def _take_terminal(slave: int) -> None:
    prefork.heed_signals()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)


def _set_size(terminal: int, size: tuple[int, int]) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))


def _without_private(data: bytes) -> bytes:
    """What pyte would print by mistake: kitty's keyboard protocol and sequences with ``>`` or ``<``."""
    return re.sub(rb"\x1b\[[<>=][0-9;]*[a-zA-Z]", b"", data)
