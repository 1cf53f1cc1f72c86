"""Sixels, byte for byte and as a terminal draws them, and their places on the screen."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip

from tests.ui.pictures import BLUE, GREEN, RED, WHITE, PIL_Image, encoded, quarters, strong_colour
from tests.ui.sixel_decoder import decoded_sixel
from tui.ui.pictures.sixel import NOTHING, sixel_lines, sixel_picture, sixels
from tui.ui.terminal.sixel_rows import BLANK, with_sixels
from tui.ui.terminal.textual_private import LayoutUpdate

COLOURS = [(255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)]
IMAGES = st.tuples(st.integers(1, 40), st.integers(1, 23)).flatmap(
    lambda size: st.lists(
        st.lists(st.sampled_from([0, 1, 2, 3, NOTHING]), min_size=size[0], max_size=size[0]).map(bytes),
        min_size=size[1],
        max_size=size[1],
    )
)


def test_each_colour_of_six_lines_is_written_over_the_others() -> None:
    lines = [bytes((0, 0, 1)), bytes((0, 1, 1))]
    assert sixels(lines, COLOURS) == '\x1bP0;1;0q"1;1;3;2#0;2;100;0;0#1;2;0;100;0#0B@$#1?AB\x1b\\'


def test_equal_columns_are_counted_and_lines_below_the_sixth_are_another_band() -> None:
    lines = [bytes((0,)) * 9] * 6 + [bytes((1,)) * 9]
    assert sixels(lines, COLOURS) == '\x1bP0;1;0q"1;1;9;7#0;2;100;0;0#1;2;0;100;0#0!9~-#1!9@\x1b\\'


@given(IMAGES)
def test_a_terminal_draws_exactly_the_pixels_that_are_there(lines: list[bytes]) -> None:
    size, pixels = decoded_sixel(sixels(lines, COLOURS))
    assert size == (len(lines[0]), len(lines))
    assert pixels == {
        (x, y): tuple(round(part / 2.55) for part in COLOURS[number])
        for y, line in enumerate(lines)
        for x, number in enumerate(line)
        if number != NOTHING
    }


def test_every_row_of_a_picture_is_a_sixel_of_its_own_and_a_part_of_it_too() -> None:
    picture = sixel_picture(encoded(quarters()), 80, (10, 20), 256)
    assert picture.cells == (16, 8)
    for row in range(8):
        size, pixels = decoded_sixel(picture.row(row, 0, 16))
        assert size == (160, 20)
        assert len(pixels) == 160 * 20
        corners = [strong_colour([part * 2.55 for part in pixels[at]]) for at in ((0, 0), (159, 0))]  # type: ignore[misc]  # whole numbers do as well
        assert corners == ([RED, GREEN] if row < 4 else [BLUE, WHITE])
        whole = pixels
        size, part = decoded_sixel(picture.row(row, 3, 9))
        assert size == (60, 20)
        assert part == {(x - 30, y): colour for (x, y), colour in whole.items() if 30 <= x < 90}


def test_few_colours_are_enough_and_transparent_pixels_are_not_drawn() -> None:
    image = PIL_Image.effect_noise((200, 200), 90).convert("RGBA")
    image.paste((0, 0, 0, 0), (0, 0, 100, 200))
    picture = sixel_picture(encoded(image), 80, (10, 20), 16)
    _, pixels = decoded_sixel(picture.row(3, 0, picture.cells[0]))
    assert len(set(pixels.values())) <= 16
    middle = picture.cells[0] * 10 // 2
    assert min(x for x, _ in pixels) == middle
    assert len(pixels) == middle * 20


def test_what_is_beside_a_narrow_picture_is_not_drawn() -> None:
    picture = sixel_picture(encoded(quarters(1000, 10)), 80, (10, 24), 256)
    assert picture.cells == (80, 1)  # 800 × 8 pixels in a row of 24
    _, pixels = decoded_sixel(picture.row(0, 0, 80))
    assert {y for _, y in pixels} == set(range(8, 16))


def screen_row(*strips: Strip, top: int = 2) -> tuple[str, list[tuple[int, int, int, int]]]:
    """What is written for a row of the screen, and which sixels it asks for."""
    asked: list[tuple[int, int, int, int]] = []

    def row_of(picture: int, row: int, first: int, end: int) -> str:
        asked.append((picture, row, first, end))
        return "PIXELS"

    update = LayoutUpdate([list(strips)], Region(0, top, sum(strip.cell_length for strip in strips), 1))
    with_sixels(update, row_of, 24)
    return "".join(segment.text for strip in update.strips[0] for segment in strip), asked


def test_the_pixels_follow_the_text_of_their_row_at_their_own_place() -> None:
    cells = sixel_lines(7, (4, 2))[1].cells
    row = Strip([Segment("   "), *cells, Segment("..")])
    text, asked = screen_row(row, Strip([Segment("sidebar")]))
    assert text == f"   {BLANK * 4}..sidebar\x1b[3;4HPIXELS\x1b[3;1H"
    assert asked == [(7, 1, 0, 4)]


def test_of_cells_that_are_covered_no_pixel_is_drawn() -> None:
    cells = sixel_lines(7, (8, 1))[0].cells
    left, right = Strip(cells).divide([2, 5, 8])[0], Strip(cells).divide([2, 5, 8])[2]
    text, asked = screen_row(left, Strip([Segment("+++")]), right)
    assert asked == [(7, 0, 0, 2), (7, 0, 5, 8)]
    assert text.endswith("\x1b[3;1HPIXELS\x1b[3;1H\x1b[3;6HPIXELS\x1b[3;1H")


def test_on_the_last_row_and_for_blanks_of_others_there_are_no_pixels() -> None:
    assert screen_row(Strip(sixel_lines(7, (4, 1))[0].cells), top=23)[1] == []
    foreign = Strip([Segment(BLANK, Style(bold=True)), Segment(BLANK)])
    assert screen_row(foreign) == (BLANK * 2 + "", [])
