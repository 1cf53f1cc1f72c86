"""Pictures in the whole program, as a terminal shows them."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from tests.e2e.terminal import Terminal, environment
from tests.e2e.test_clusters import settled
from tests.e2e.test_living import PONDER, READY, talking
from tests.ui.pictures import encoded, quarters, strong_colour

COLOURS = {"red": (255, 0, 0), "green": (0, 255, 0), "blue": (0, 0, 255), "white": (255, 255, 255)}


def strong(name: str) -> str:
    """The strong colour that pyte calls so; "" for any other."""
    if len(name) != 6:
        return ""
    seen = strong_colour([int(name[at : at + 2], 16) for at in (0, 2, 4)])
    return next((word for word, colour in COLOURS.items() if colour == seen), "")


def map_on(terminal: Terminal) -> list[str]:
    """The corners of the strong colours on the screen, and how many columns and rows they take."""
    screen = terminal.screen
    seen = {
        (x, y): word
        for y in range(screen.lines)
        for x in range(screen.columns)
        if (word := strong(screen.buffer[y][x].bg))
    }
    if not seen:
        return []
    left, right = min(x for x, _ in seen), max(x for x, _ in seen)
    top, bottom = min(y for _, y in seen), max(y for _, y in seen)
    corners = [seen.get(at, "") for at in ((left, top), (right, top), (left, bottom), (right, bottom))]
    return [*corners, f"{right - left + 1} × {bottom - top + 1}"]


WHOLE = ["red", "green", "blue", "white", "16 × 8"]


@pytest.mark.parametrize("colours", [{}, {"COLORTERM": ""}], ids=["true colours", "256 colours"])
def test_an_attached_picture_is_drawn_covered_and_gone_with_its_session(
    tmp_path: Path, colours: dict[str, str]
) -> None:
    picture = tmp_path / "map.png"
    picture.write_bytes(base64.b64decode(encoded(quarters())))
    with talking(tmp_path, **colours) as (terminal, model):
        model.say("Hello.")
        model.finish()
        terminal.wait_for("Hello.")
        terminal.type(f"/attach {picture}\r")
        terminal.wait_for("⟦map.png⟧")
        terminal.type("what is this\r")
        terminal.until(lambda: model.asked.acquire(blocking=False), "a request")
        model.say("Four squares.")
        model.finish()
        terminal.wait_for("Four squares.")
        terminal.until(lambda: map_on(terminal) == WHOLE, "the picture")
        assert "⊞ map.png · 160 × 160 · " in terminal.text()
        terminal.type("\x1bOP")  # f1
        terminal.until(lambda: map_on(terminal) != WHOLE, "a sheet above it")
        terminal.type("\x1b")
        terminal.until(lambda: map_on(terminal) == WHOLE, "the picture again")
        terminal.resize(72, 30)
        terminal.until(lambda: map_on(terminal) == WHOLE and settled(terminal), "the picture in another window")
        terminal.type("/new\r")
        terminal.until(lambda: map_on(terminal) == [], "a new session without it")
        terminal.until(lambda: settled(terminal), "a still screen")
    with Terminal([*PONDER, "--continue"], environment(tmp_path, **colours), size=(80, 30)) as terminal:
        terminal.wait_for(READY)
        terminal.until(lambda: map_on(terminal) == WHOLE, "the picture when it is opened again")
