"""Pictures in the whole program, as a terminal shows them."""

from __future__ import annotations

import base64
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.e2e.kitty_screen import KittyScreen
from tests.e2e.loopback import Loopback
from tests.e2e.sixel_screen import SixelScreen
from tests.e2e.terminal import Terminal, environment
from tests.e2e.test_clusters import settled
from tests.e2e.test_living import PONDER, READY
from tests.ui.pictures import encoded, quarters, strong_colour

Colour = tuple[int, int, int]
NAMES = {(255, 0, 0): "red", (0, 255, 0): "green", (0, 0, 255): "blue", (255, 255, 255): "white"}
S = TypeVar("S", bound=Terminal)


def strong(name: str) -> Colour | None:
    """The strong colour that pyte calls so."""
    return strong_colour([int(name[at : at + 2], 16) for at in (0, 2, 4)]) if len(name) == 6 else None


def map_on(terminal: Terminal) -> list[str]:
    """The picture that half blocks make on the screen."""
    screen = terminal.screen
    cells = {(x, y): strong(screen.buffer[y][x].bg) for y in range(screen.lines) for x in range(screen.columns)}
    return corners({place: colour for place, colour in cells.items() if colour is not None})


def corners(cells: Mapping[tuple[int, int], Colour]) -> list[str]:
    """The colours in the corners of the strong ones on the screen, and how many columns and rows these take."""
    seen = {place: NAMES[colour] for place, colour in cells.items()}
    if not seen:
        return []
    left, right = min(x for x, _ in seen), max(x for x, _ in seen)
    top, bottom = min(y for _, y in seen), max(y for _, y in seen)
    found = [seen.get(at, "") for at in ((left, top), (right, top), (left, bottom), (right, bottom))]
    return [*found, f"{right - left + 1} × {bottom - top + 1}"]


WHOLE = ["red", "green", "blue", "white", "16 × 8"]


@contextmanager
def with_picture(home: Path, screen: type[S], **more: str) -> Iterator[S]:
    """A program that shows an attached picture and an answer, on such a terminal."""
    picture = home / "map.png"
    picture.write_bytes(base64.b64decode(encoded(quarters())))
    with Loopback() as model:
        model.configure(home)
        with screen(PONDER, environment(home, **more), size=(80, 24)) as terminal:
            terminal.wait_for(READY)
            terminal.type(f"/attach {picture}\r")
            terminal.wait_for("⟦map.png⟧")
            terminal.type("what is this\r")
            terminal.until(lambda: model.asked.acquire(blocking=False), "a request")
            model.say("Four squares.")
            model.finish()
            terminal.wait_for("Four squares.")
            yield terminal


@pytest.mark.long
@pytest.mark.one_in(2)
@pytest.mark.parametrize("colours", [{}, {"COLORTERM": ""}], ids=["true colours", "256 colours"])
def test_an_attached_picture_is_drawn_covered_and_gone_with_its_session(
    tmp_path: Path, colours: dict[str, str]
) -> None:
    with with_picture(tmp_path, Terminal, **colours) as terminal:
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


@pytest.mark.one_in(2)
@pytest.mark.parametrize("colours", [{}, {"COLORTERM": "", "TERM": "xterm-kitty"}], ids=["true colours", "256 colours"])
def test_a_terminal_with_kittys_protocol_gets_the_picture_itself(tmp_path: Path, colours: dict[str, str]) -> None:
    with with_picture(tmp_path, KittyScreen, **colours) as terminal:
        terminal.until(lambda: corners(terminal.shown()) == WHOLE, "the picture")
        assert "▀" not in terminal.text()
        terminal.type("\x1bOP")  # f1
        terminal.until(lambda: corners(terminal.shown()) != WHOLE, "a sheet above it")
        terminal.type("\x1b")
        terminal.until(lambda: corners(terminal.shown()) == WHOLE, "the picture again")
        terminal.resize(72, 14)
        terminal.until(lambda: settled(terminal) and "Four squares." in terminal.text(), "a smaller window")
        terminal.type("\x1b[1;2A" * 3)  # shift+up
        terminal.until(lambda: 0 < len(terminal.named()) < 16 * 8, "a part of the picture")
        assert len(terminal.pictures) == 1
        terminal.type("/new\r")
        terminal.until(lambda: not terminal.pictures and not terminal.named(), "a new session without it")
        assert terminal.deleted


def test_the_terminal_keeps_no_picture_while_ponder_is_suspended_and_after_its_end(tmp_path: Path) -> None:
    with with_picture(tmp_path, KittyScreen) as terminal:
        terminal.until(lambda: corners(terminal.shown()) == WHOLE, "the picture")
        (first,) = terminal.pictures
        terminal.signal(signal.SIGCONT)  # as after ctrl+z: the terminal is set up again
        terminal.until(lambda: first in terminal.deleted, "the first picture deleted")
        terminal.until(lambda: first not in terminal.pictures and corners(terminal.shown()) == WHOLE, "another one")
        terminal.type("\x11")
        assert terminal.exit_code() == 0
        assert terminal.pictures == {}
        assert terminal.is_clean


@pytest.mark.long
@pytest.mark.one_in(2)
@pytest.mark.parametrize("colours", [{}, {"COLORTERM": ""}], ids=["true colours", "256 colours"])
def test_a_terminal_with_sixels_gets_the_pixels_of_what_is_visible(tmp_path: Path, colours: dict[str, str]) -> None:
    with with_picture(tmp_path, SixelScreen, **colours) as terminal:
        terminal.until(lambda: corners(terminal.shown()) == WHOLE, "the picture")
        assert "▀" not in terminal.text()
        terminal.type("\x1bOP")  # f1
        terminal.until(lambda: settled(terminal) and not terminal.shown(), "no pixel above a sheet")
        terminal.type("\x1b")
        terminal.until(lambda: corners(terminal.shown()) == WHOLE, "the picture again")
        terminal.type("\x1b[1;2A" * 2)  # shift+up
        terminal.until(lambda: settled(terminal) and corners(terminal.shown()) == WHOLE, "the picture further down")
        terminal.resize(72, 14)
        terminal.type("\x1b[1;2A" * 3)
        terminal.until(lambda: settled(terminal) and 0 < len(terminal.shown()) < 100, "a part of the picture")
        terminal.resize(80, 24)
        terminal.until(lambda: settled(terminal) and corners(terminal.shown()) == WHOLE, "the whole again")
        terminal.type("/set ui.images off\r")
        terminal.until(lambda: settled(terminal) and not terminal.shown(), "no picture")
        terminal.type("/set ui.images auto\r")
        terminal.until(lambda: settled(terminal) and corners(terminal.shown()) == WHOLE, "the picture once more")
        terminal.type("/new\r")
        terminal.until(lambda: settled(terminal) and not terminal.shown(), "a new session without it")


@pytest.mark.long
def test_another_font_gets_other_pixels(tmp_path: Path) -> None:
    with with_picture(tmp_path, SixelScreen) as terminal:
        terminal.until(lambda: corners(terminal.shown()) == WHOLE, "the picture")
        terminal.cell = (
            None  # a terminal that tells no longer: without a size of its cells there is no place for pixels
        )
        terminal.resize(90, 24)
        terminal.until(lambda: map_on(terminal) == WHOLE and not terminal.shown(), "half blocks")


class OldKitty(KittyScreen):
    """It knows the protocol, but no placeholders."""

    def __init__(self, *what: Any, **how: Any) -> None:
        super().__init__(*what, **how)
        self.name = b"kitty(0.26.5)"


@pytest.mark.long
def test_a_terminal_that_knows_only_the_rest_of_the_protocol_gets_half_blocks(tmp_path: Path) -> None:
    with with_picture(tmp_path, OldKitty) as terminal:
        terminal.until(lambda: map_on(terminal) == WHOLE, "the picture")
        assert terminal.pictures == {}


@pytest.mark.long
def test_inside_tmux_nothing_is_asked_and_pictures_are_half_blocks(tmp_path: Path) -> None:
    with with_picture(tmp_path, KittyScreen, TMUX="/nowhere,1,0", TERM="tmux-256color") as terminal:
        terminal.until(lambda: map_on(terminal) == WHOLE, "the picture")
        assert b"\x1b_G" not in terminal.raw


@pytest.mark.long
def test_a_picture_of_a_private_session_leaves_no_file(tmp_path: Path) -> None:
    (temporary := tmp_path / "temporary").mkdir()
    with with_picture(tmp_path, KittyScreen, TMPDIR=str(temporary)) as terminal:
        terminal.until(lambda: corners(terminal.shown()) == WHOLE, "the picture")
        terminal.type("/private\r")
        terminal.until(lambda: not terminal.pictures, "another session")
        before = {path for path in tmp_path.rglob("*") if path.is_file()}
        terminal.type(f"/attach {tmp_path / 'map.png'}\r")
        terminal.wait_for("⟦map.png⟧")
        terminal.type("what is this\r")
        terminal.until(lambda: corners(terminal.shown()) == WHOLE, "the picture")
        assert {path for path in tmp_path.rglob("*") if path.is_file()} <= before
        assert list(temporary.iterdir()) == []
