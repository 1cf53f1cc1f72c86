"""Pictures as kitty and xterm really draw them, on a display of their own. Needs Xvfb, ImageMagick and the terminal."""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.terminal import Terminal, environment
from tests.e2e.test_pictures_on_a_terminal import WHOLE, map_on, with_picture
from tests.patience import PATIENCE_S
from tests.ui.pictures import BLUE, GREEN, RED, PIL_Image, strong_colour

pytestmark = pytest.mark.minutes

PLACEHOLDERS_FROM = (0, 28)
TERMINALS = {
    "xterm": [
        "xterm",
        "-ti",
        "vt340",
        "-tn",
        "xterm-256color",
        "-geometry",
        "90x30+0+0",
        "-fa",
        "monospace",
        "-hold",
        "-bg",
        "black",
    ],
    "kitty": [
        "kitty",
        "--config",
        "NONE",
        "--hold",
        "-o",
        "linux_display_server=x11",
        "-o",
        "confirm_os_window_close=0",
    ],
}
WINDOW = (900, 700)
FEW = 100
"""Fewer pixels of a colour are words."""
Cells = Mapping[tuple[int, int], tuple[int, int, int]]


def _skip_without(*programs: str) -> None:
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}; nothing was looked at in a real terminal")


def _kitty_version() -> tuple[int, ...]:
    said = subprocess.run(["kitty", "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"(\d+)\.(\d+)", said)
    return tuple(map(int, found.groups())) if found else (0, 0)


@contextmanager
def display() -> Iterator[str]:
    """A display that nobody sees."""
    reading, writing = os.pipe()
    size = "x".join(map(str, WINDOW))
    command = ["Xvfb", "-displayfd", str(writing), "-screen", "0", f"{size}x24", "-nolisten", "tcp", "-noreset"]
    server = subprocess.Popen(command, pass_fds=[writing], stderr=subprocess.DEVNULL)
    os.close(writing)
    try:
        yield f":{os.read(reading, 16).decode().strip()}"
    finally:
        os.close(reading)
        server.terminate()
        server.wait()


def seen(screen: str) -> dict[tuple[int, int], tuple[int, int, int]]:
    """The strong colours on the display, by pixel; every fourth is looked at."""
    taken = subprocess.run(["import", "-display", screen, "-window", "root", "png:-"], capture_output=True, check=True)
    image: Any = PIL_Image.open(io.BytesIO(taken.stdout)).convert("RGB")
    found = {}
    for y in range(0, WINDOW[1], 4):
        for x in range(0, WINDOW[0], 4):
            colour = strong_colour(image.getpixel((x, y)))
            if colour is not None:
                found[x, y] = colour
    return found


def places_of(cells: Cells, colour: tuple[int, int, int]) -> list[tuple[int, int]]:
    """Where a colour is."""
    return [place for place, found in cells.items() if found == colour]


def is_map(cells: Cells) -> bool:
    """Red left of green and above blue, of one size, without gaps; what is written on the screen may be white too."""
    boxes: dict[tuple[int, int, int], tuple[int, int, int, int]] = {}
    for colour in (RED, GREEN, BLUE):
        places = places_of(cells, colour)
        if len(places) < FEW:
            return False
        columns, rows = zip(*places, strict=True)
        left, top, right, bottom = boxes[colour] = min(columns), min(rows), max(columns), max(rows)
        if len(places) < 0.9 * ((right - left) // 4 + 1) * ((bottom - top) // 4 + 1):
            return False
    red, green, blue = boxes.values()
    return red[1::2] == green[1::2] and red[::2] == blue[::2] and red[2] < green[0] and red[3] < blue[1]


def until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 2 * PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, f"{what} never came to be"


@pytest.mark.parametrize("program", TERMINALS)
def test_a_real_terminal_draws_the_picture_and_keeps_nothing_of_it(tmp_path: Path, program: str) -> None:
    _skip_without("Xvfb", "import", program)
    if program == "kitty" and _kitty_version() < PLACEHOLDERS_FROM:
        pytest.skip("this kitty is older than 0.28 and has no placeholders; nothing was looked at")
    with with_picture(tmp_path, Terminal) as first:
        first.until(lambda: map_on(first) == WHOLE, "the picture as half blocks")
        first.type("\x11")
        assert first.exit_code() == 0
    pid = tmp_path / "pid"
    script = f"echo $$ > {pid}; exec {sys.executable} -m tui --continue"
    values: Mapping[str, str] = environment(tmp_path, XDG_RUNTIME_DIR=str(tmp_path), LIBGL_ALWAYS_SOFTWARE="1", TERM="")
    with display() as screen:
        command = [*TERMINALS[program], *(["-e"] if program == "xterm" else []), "sh", "-c", script]
        terminal = subprocess.Popen(
            command, env={**values, "DISPLAY": screen}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            until(lambda: is_map(seen(screen)), "the picture")
            os.kill(int(pid.read_text()), signal.SIGTERM)
            until(lambda: all(len(places_of(seen(screen), colour)) < FEW for colour in (RED, GREEN, BLUE)), "its end")
        finally:
            terminal.terminate()
            terminal.wait()
