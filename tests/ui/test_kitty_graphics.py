"""Kitty's graphics protocol, byte for byte, and what terminals say of themselves."""

from __future__ import annotations

import base64
import io
import re

import pytest
from rich.cells import cell_len

from tests.ui.pictures import PIL_Image, encoded, quarters
from tui.ui.graphemes import is_unsure
from tui.ui.pictures.kitty import (
    CHUNK,
    NUMBERS,
    PLACEHOLDER,
    deletion,
    kitty_picture,
    new_id,
    placeholder_lines,
    transmission,
)
from tui.ui.pictures.rows import MOST_COLUMNS, MOST_ROWS
from tui.ui.terminal.graphics import Graphics, can_be_asked, graphics_in

IMAGE = 3 << 24 | 200
ATTRIBUTES = "\x1b[?62;c"
YES = "\x1b_Gi=31;OK\x1b\\"


def test_a_picture_is_sent_in_chunks_of_which_only_the_last_says_that_it_is() -> None:
    png = "A" * CHUNK + "B" * CHUNK + "CCCC"
    assert list(transmission(IMAGE, png, (16, 8))) == [
        f"\x1b_Ga=T,U=1,f=100,t=d,q=2,i={IMAGE},c=16,r=8,m=1;{'A' * CHUNK}\x1b\\",
        f"\x1b_Gq=2,m=1;{'B' * CHUNK}\x1b\\",
        "\x1b_Gq=2,m=0;CCCC\x1b\\",
    ]
    assert list(transmission(7, "AAAA", (1, 1))) == ["\x1b_Ga=T,U=1,f=100,t=d,q=2,i=7,c=1,r=1,m=0;AAAA\x1b\\"]
    assert deletion(7) == "\x1b_Ga=d,d=I,i=7,q=2\x1b\\"


def test_every_cell_names_its_picture_row_and_column() -> None:
    lines = placeholder_lines(IMAGE, (3, 2))
    assert [[segment.text for segment in line.cells] for line in lines] == [
        ["\U0010eeee\u0305\u0305\u0310", "\U0010eeee\u0305\u030d\u0310", "\U0010eeee\u0305\u030e\u0310"],
        ["\U0010eeee\u030d\u0305\u0310", "\U0010eeee\u030d\u030d\u0310", "\U0010eeee\u030d\u030e\u0310"],
    ]
    styles = {segment.style for line in lines for segment in line.cells}
    assert [style.render("x") for style in styles if style is not None] == ["\x1b[38;5;200mx\x1b[0m"]


def test_there_is_a_number_for_every_row_and_column_and_none_takes_a_cell() -> None:
    assert len(set(NUMBERS)) == len(NUMBERS) > max(MOST_COLUMNS, MOST_ROWS)
    assert {cell_len(f"{PLACEHOLDER}{number}") for number in NUMBERS} == {1}
    assert not any(is_unsure(f"{PLACEHOLDER}{number}") for number in NUMBERS)


def test_ids_are_new_and_can_be_written_as_a_colour_and_a_number() -> None:
    taken: set[int] = set()
    for _ in range(2_000):
        taken.add(new_id(taken))
    assert len(taken) == 2_000
    assert all(16 <= image & 0xFF < 256 and 0 < image >> 24 < len(NUMBERS) for image in taken)
    assert all(image & 0xFFFF00 == 0 for image in taken)


@pytest.mark.parametrize(
    ("size", "cell", "cells", "pixels"),
    [
        ((1600, 800), (8, 17), (80, 20), (640, 320)),
        ((1600, 800), None, (80, 20), (1600, 800)),
        ((100, 100), (8, 17), (16, 8), (100, 100)),
        ((4000, 40), (10, 20), (80, 1), (800, 8)),
    ],
)
def test_no_more_pixels_are_sent_than_the_cells_have(
    size: tuple[int, int], cell: tuple[int, int] | None, cells: tuple[int, int], pixels: tuple[int, int]
) -> None:
    png, found = kitty_picture(encoded(quarters(*size)), 100, cell)
    assert found == cells
    assert PIL_Image.open(io.BytesIO(base64.b64decode(png))).size == pixels


def test_transparent_pixels_stay_so() -> None:
    png, _ = kitty_picture(encoded(PIL_Image.new("RGBA", (40, 40), (10, 20, 30, 0))), 100, None)
    assert PIL_Image.open(io.BytesIO(base64.b64decode(png))).getpixel((5, 5))[3] == 0


@pytest.mark.parametrize(
    ("answers", "graphics"),
    [
        (f"{YES}\x1bP>|kitty(0.41.1)\x1b\\\x1b[6;38;18t{ATTRIBUTES}", Graphics(placeholders=True, cell=(18, 38))),
        (f"{YES}\x1bP>|kitty(0.28.0)\x1b\\{ATTRIBUTES}", Graphics(placeholders=True)),
        (f"{YES}\x1bP>|kitty(0.26.5)\x1b\\{ATTRIBUTES}", Graphics()),
        (f"{YES}\x1bP>|ghostty 1.1.3\x1b\\{ATTRIBUTES}", Graphics(placeholders=True)),
        (f"{YES}\x1bP>|WezTerm 20240203-110809-5046fc22\x1b\\\x1b[?65;4;6;18;22c", Graphics(sixel=True)),
        ("\x1bP>|XTerm(379)\x1b\\\x1b[6;17;8t\x1b[?1;0;1024S\x1b[?63;1;4;22c", Graphics(sixel=True, cell=(8, 17))),
        ("\x1b[?1;0;16S\x1b[?62;4c", Graphics(sixel=True, colours=16)),
        ("\x1b[?1;3;0S\x1b[?4;1c", Graphics()),
        ("\x1b[6;0;0t" + ATTRIBUTES, Graphics()),
        ("", Graphics()),
    ],
)  # fmt: skip
def test_what_terminals_answer(answers: str, graphics: Graphics) -> None:
    assert graphics_in(answers) == graphics
    assert graphics_in(re.sub("(.)", r"\1", f"typed{answers}meanwhile")) == graphics


@pytest.mark.parametrize(
    ("environment", "asked"),
    [
        ({"TERM": "xterm-256color"}, True),
        ({"TERM": "xterm-kitty"}, True),
        ({"TERM": "tmux-256color", "TMUX": "/tmp/tmux-0/default,1,0"}, False),
        ({"TERM": "xterm-256color", "TMUX": "/tmp/tmux-0/default,1,0"}, False),
        ({"TERM": "screen.xterm-256color"}, False),
        ({"TERM": "linux"}, False),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}, False),
    ],
)
def test_who_is_asked(environment: dict[str, str], asked: bool) -> None:
    assert can_be_asked(environment) is asked
