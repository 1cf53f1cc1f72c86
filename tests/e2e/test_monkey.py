"""Whatever keys, clicks, sizes and pastes came before, every cell of the screen is as if it had just been painted."""

from __future__ import annotations

import random
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyte
import pytest

from tests.e2e.cluster_screens import CodePointScreen
from tests.e2e.terminal import Terminal, environment
from tests.patience import PATIENCE_S

SECONDS = 180
STOP_EVERY = 60
"""Actions between two comparisons."""
QUIET_S = 10.0
"""Toasts are gone and the demo has answered after so long without output."""
SMALLEST, LARGEST = (20, 5), (300, 100)
READY = "enter send"
SETTINGS = 'model = "demo/fast"\n[ui]\nmotion = false\n'

PROMPTS = (
    "hello",
    "markdown",
    "table",
    "code",
    "think hard",
    "error 500",
    "error 400",
    "cut",
    "list the files",
    "/help",
    "/tokens",
    "/cost",
    "/theme paper",
    "/theme dusk",
    "/tree",
    "/status",
    "/system terse",
    "/find the",
    "/new",
)
PASTES = (
    "one line",
    "two\nlines",
    "👨‍👩‍👧‍👦 and 🇩🇪 and नमस्ते and ❤️",
    "tabs\tand \x07 controls \u202e here",
    "long " * 400,
    "\n".join(f"line {number}" for number in range(30)),
)
KEYS = (
    *("\r", "\x1b", "\t", "\x1b[Z", "\x7f", " ", "\n"),
    *("\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D", "\x1b[5~", "\x1b[6~", "\x1b[H", "\x1b[F"),
    *("\x1b[1;3A", "\x1b[1;3B", "\x1b[1;2A", "\x1b[1;5F", "\x1b[1;5H"),
    *("\x02", "\x06", "\x0e", "\x0f", "\x10", "\x12", "\x13", "\x14", "\x15"),
    *("\x1bOP", "\x1bOQ", "\x1b[24~", "\x1b,", "\x1b.", "\x1bs"),
    *"abcgGijklnNortwyxs{}[]/?",
)
"""All but those that end or suspend the program or open an editor."""


class Monkey:
    """Does things at random at a terminal; the same seed does the same."""

    def __init__(self, terminal: Terminal, seed: int) -> None:
        self._terminal = terminal
        self._random = random.Random(seed)
        self.done: list[str] = []

    def act(self) -> None:
        """Do one thing, and read what came of it."""
        acts: tuple[tuple[Callable[[], str], int], ...] = (
            (self._press, 60),
            (self._ask, 8),
            (self._paste, 4),
            (self._click, 12),
            (self._scroll, 10),
            (self._resize, 6),
        )
        act = self._random.choices([act for act, _ in acts], [weight for _, weight in acts])[0]
        self.done.append(act())
        self._terminal.pump(0.01)
        while self._terminal.pump(0):
            pass

    def _type(self, keys: str) -> None:
        self._terminal.type(keys)

    def _press(self) -> str:
        key = self._random.choice(KEYS)
        self._type(key)
        return f"press {key!r}"

    def _ask(self) -> str:
        prompt = self._random.choice(PROMPTS)
        self._type(f"\x1b{prompt}\r")
        return f"ask {prompt!r}"

    def _paste(self) -> str:
        text = self._random.choice(PASTES)
        self._type(f"\x1b[200~{text}\x1b[201~")
        return f"paste {text[:20]!r}"

    def _place(self) -> tuple[int, int]:
        screen = self._terminal.screen
        return self._random.randint(1, screen.columns), self._random.randint(1, screen.lines)

    def _click(self) -> str:
        (column, row), (to_column, to_row) = self._place(), self._place()
        drag = f"\x1b[<32;{to_column};{to_row}M" if self._random.random() < 0.3 else ""
        up = f"\x1b[<0;{to_column};{to_row}m" if drag else f"\x1b[<0;{column};{row}m"
        self._type(f"\x1b[<0;{column};{row}M{drag}{up}")
        return f"click {column},{row}{f' drag {to_column},{to_row}' if drag else ''}"

    def _scroll(self) -> str:
        column, row = self._place()
        button, times = self._random.choice((64, 65)), self._random.randint(1, 8)
        self._type(f"\x1b[<{button};{column};{row}M" * times)
        return f"scroll {button} {column},{row} x{times}"

    def _resize(self) -> str:
        size = self._random.randint(SMALLEST[0], LARGEST[0]), self._random.randint(SMALLEST[1], LARGEST[1])
        if self._random.random() < 0.5:
            size = self._random.choice((SMALLEST, LARGEST, (80, 24), (120, 40), (100, 30)))
        self._terminal.resize(*size)
        return f"resize {size}"


def cells(screen: pyte.Screen) -> list[list[pyte.screens.Char]]:
    return [[screen.buffer[row][column] for column in range(screen.columns)] for row in range(screen.lines)]


def differences(before: list[list[pyte.screens.Char]], after: list[list[pyte.screens.Char]]) -> Iterator[str]:
    for row, (old, new) in enumerate(zip(before, after, strict=True)):
        columns = [column for column, (one, other) in enumerate(zip(old, new, strict=True)) if one != other]
        if columns:
            first, last = columns[0], columns[-1] + 1
            was, now = ("".join(cell.data for cell in line[first:last]) for line in (old, new))
            yield f"row {row}, columns {first} to {last}: {was!r} is painted as {now!r} ({old[first]}, {new[first]})"


def painted_afresh(terminal: Terminal) -> list[list[pyte.screens.Char]]:
    """Fill the screen with something else and let the program paint all of it."""
    screen = terminal.screen
    for row in range(screen.lines):
        for column in range(screen.columns):
            screen.buffer[row][column] = screen.buffer[row][column]._replace(data="X", fg="red", bg="green")
    terminal.signal(signal.SIGSTOP)
    terminal.signal(signal.SIGCONT)
    terminal.until(lambda: not any(cell.bg == "green" for line in cells(screen) for cell in line), "a fresh paint")
    wait_until_quiet(terminal, 1.0)
    return cells(screen)


def wait_until_quiet(terminal: Terminal, seconds: float) -> None:
    last = began = time.monotonic()
    while time.monotonic() - last < seconds:
        assert time.monotonic() - began < PATIENCE_S, f"it writes on and on:\n{terminal.text()}"
        assert terminal.process.poll() is None, f"it has ended:\n{terminal.text()}"
        if terminal.pump(0.1):
            last = time.monotonic()
            terminal.forget()


@pytest.mark.minutes
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("seed", [1, 2])
def test_after_three_minutes_of_a_monkey_every_cell_is_as_freshly_painted(tmp_path: Path, seed: int) -> None:
    folder = tmp_path / "ponder" / "config"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(SETTINGS, encoding="utf-8")
    work = tmp_path / "work"
    work.mkdir()
    command = ["sh", "-c", f"cd {shlex.quote(str(work))} && exec {shlex.quote(sys.executable)} -m tui"]
    deadline, stops, made = time.monotonic() + SECONDS, 0, 0
    while time.monotonic() < deadline:
        with Terminal(command, environment(tmp_path), size=(100, 30), screen=CodePointScreen) as terminal:
            terminal.wait_for(READY)
            monkey = Monkey(terminal, seed * 1_000 + made)
            while time.monotonic() < deadline and terminal.process.poll() is None:
                monkey.act()
                made += 1
                if len(monkey.done) % STOP_EVERY == 0:
                    wait_until_quiet(terminal, QUIET_S)
                    seen = cells(terminal.screen)
                    found = list(differences(seen, painted_afresh(terminal)))
                    assert not found, "\n".join([*found[:20], *monkey.done[-STOP_EVERY:], terminal.text()])
                    stops += 1
            if terminal.process.poll() is not None:  # it found the command that quits
                assert terminal.exit_code() == 0, "\n".join([*monkey.done[-30:], terminal.text()])
    assert stops >= 3
    log = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "ponder").rglob("*.log"))
    assert "Traceback" not in log, log[-5_000:]
