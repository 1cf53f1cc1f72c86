"""Pictures are measured by their first bytes and decoded within limits."""

from __future__ import annotations

import base64
import contextlib
import io
import struct
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.color import ColorSystem

from tests.ui.pictures import BLUE, GREEN, RED, WHITE, PIL_Image, encoded, quarters
from tui.ui.pictures import decoding
from tui.ui.pictures.decoding import NotDrawable, PillowMissing, decoded
from tui.ui.pictures.half_blocks import half_block_lines
from tui.ui.pictures.headers import PixelSize, size_of
from tui.ui.pictures.rows import LEAST_COLUMNS, MOST_COLUMNS, MOST_ROWS, cells_for

FORMS: dict[str, dict[str, Any]] = {
    "PNG": {},
    "GIF": {},
    "JPEG": {},
    "WEBP": {},
}


def rotated(orientation: int) -> str:
    exif = PIL_Image.Exif()
    exif[0x0112] = orientation
    return encoded(quarters(300, 200), "JPEG", exif=exif)


@pytest.mark.parametrize("form", FORMS)
@given(width=st.integers(1, 900), height=st.integers(1, 900))
def test_the_size_is_read_without_decoding(form: str, width: int, height: int) -> None:
    assert size_of(encoded(PIL_Image.new("RGB", (width, height)), form)) == PixelSize(width, height)


@pytest.mark.parametrize("how", [{"lossless": True}, {"lossless": False}, {"exif": b"Exif\0\0"}, {"quality": 1}])
def test_every_kind_of_webp_says_its_size(how: dict[str, Any]) -> None:
    assert size_of(encoded(quarters(321, 123), "WEBP", **how)) == PixelSize(321, 123)
    transparent = PIL_Image.new("RGBA", (321, 123), (1, 2, 3, 100))
    assert size_of(encoded(transparent, "WEBP", **how)) == PixelSize(321, 123)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_photo_on_its_side_is_measured_and_drawn_upright(orientation: int) -> None:
    wanted = PixelSize(200, 300) if orientation >= 5 else PixelSize(300, 200)
    assert size_of(rotated(orientation)) == wanted
    assert decoded(rotated(orientation), lambda *size: size).size == wanted


@given(st.binary(max_size=400))
def test_no_bytes_break_the_reading_of_the_size(data: bytes) -> None:
    for beginning in (b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe1", b"GIF89a", b"RIFF\0\0\0\0WEBPVP8X"):
        size_of(base64.b64encode(beginning + data).decode())


@given(st.integers(1, 60_000), st.integers(1, 60_000), st.integers(1, 300))
def test_a_picture_is_never_larger_than_its_place(width: int, height: int, room: int) -> None:
    columns, rows = cells_for(PixelSize(width, height), room)
    assert 1 <= columns <= min(room, MOST_COLUMNS)
    assert 1 <= rows <= MOST_ROWS


def test_a_small_picture_is_enlarged_but_not_beyond_its_pixels() -> None:
    assert cells_for(PixelSize(40, 40), 80) == (LEAST_COLUMNS, LEAST_COLUMNS // 2)
    assert cells_for(PixelSize(4, 4), 80) == (4, 2)
    assert cells_for(PixelSize(1600, 400), 100) == (80, 10)


def colours_of(data: str, system: ColorSystem = ColorSystem.TRUECOLOR) -> list[list[tuple[str, Any, Any]]]:
    """Every cell of every row: character, colour, background."""

    def number(colour: Any) -> Any:
        return None if colour is None else tuple(colour.triplet) if colour.triplet else colour.number

    return [
        [
            (character, number(style and style.color), number(style and style.bgcolor))
            for text, style, _ in line.cells
            for character in text
        ]
        for line in half_block_lines(data, 16, system)
    ]


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "P", "CMYK"])
def test_half_blocks_have_the_colours_of_the_pixels(mode: str) -> None:
    data = encoded(
        quarters(16, 16, mode), "JPEG" if mode == "CMYK" else "PNG", **({"quality": 100} if mode == "CMYK" else {})
    )
    rows = colours_of(data)
    assert [len(row) for row in rows] == [16] * 8
    corners = [rows[0][0], rows[0][15], rows[7][0], rows[7][15]]
    if mode == "CMYK":  # which has no green as bright as that
        assert [text for text, _, _ in corners]
        return
    assert corners == [(" ", None, RED), (" ", None, GREEN), (" ", None, BLUE), (" ", None, WHITE)]


def test_each_half_of_a_cell_has_its_own_pixel() -> None:
    image = PIL_Image.new("RGBA", (2, 4))
    for at, colour in {(0, 0): RED, (0, 1): BLUE, (1, 0): GREEN, (1, 3): WHITE}.items():
        image.putpixel(at, (*colour, 255))
    assert colours_of(encoded(image)) == [
        [("▀", RED, BLUE), ("▀", GREEN, None)],
        [(" ", None, None), ("▄", WHITE, None)],
    ]


def test_256_colours_are_made_of_the_palette() -> None:
    rows = colours_of(encoded(quarters(16, 16)), ColorSystem.EIGHT_BIT)
    assert [rows[0][0][2], rows[0][15][2], rows[7][0][2], rows[7][15][2]] == [196, 46, 21, 231]


def test_sixteen_bits_of_grey_keep_their_shades() -> None:
    image = PIL_Image.new("I;16", (16, 16), 0x8000)
    assert colours_of(encoded(image))[0][0] == (" ", None, (128, 128, 128))


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_of(width: int, height: int, rows: bytes) -> str:
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + body).decode()


def problem_of(data: str) -> str:
    with pytest.raises(NotDrawable) as caught:
        decoded(data, lambda width, height: (16, 16))
    return str(caught.value)


def test_a_bomb_is_refused_by_its_size_before_anything_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = png_of(60_000, 60_000, bytes(7501 * 600))
    assert len(bomb) < 20_000
    monkeypatch.setattr(PIL_Image, "open", lambda *_, **__: pytest.fail("it was opened"))
    assert problem_of(bomb) == "too many pixels to show"


def test_a_size_that_is_only_in_the_decoders_hands_is_limited_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "size_of", lambda _: None)
    monkeypatch.setattr(decoding, "MOST_PIXELS", 100)
    assert problem_of(encoded(quarters(11, 10))) == "too many pixels to show"


def test_a_jpeg_of_many_scans_is_refused() -> None:
    picture = base64.b64decode(encoded(quarters(64, 64), "JPEG", progressive=True))
    scan = picture[picture.rindex(b"\xff\xda") : -2]
    many = picture[:-2] + scan * 200 + picture[-2:]
    assert problem_of(base64.b64encode(many).decode()) == "too many scans to show"


def test_decoding_ends_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "MOST_SECONDS", -1.0)
    assert problem_of(encoded(quarters())) == "takes too long to decode"


@pytest.mark.parametrize("form", ["BMP", "TIFF", "PPM", "ICO", "PDF"])
def test_other_formats_reach_no_decoder(form: str) -> None:
    assert problem_of(encoded(quarters(), form)) == "cannot be decoded"


def test_an_animation_is_its_first_frame() -> None:
    frames = [quarters(16, 16), PIL_Image.new("RGB", (16, 16)), PIL_Image.new("RGB", (16, 16))]
    data = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert colours_of(data)[0][0] == (" ", None, RED)


@pytest.mark.parametrize("cut", [9, 40, 200])
def test_half_a_picture_is_no_picture(cut: int) -> None:
    target = io.BytesIO()
    PIL_Image.effect_noise((64, 64), 80).save(target, "PNG")
    assert problem_of(base64.b64encode(target.getvalue()[:cut]).decode()) == "cannot be decoded"


@given(st.binary(max_size=300))
def test_no_bytes_break_the_decoding(data: bytes) -> None:
    for beginning in (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", b"RIFF\0\0\0\0WEBP"):
        with contextlib.suppress(NotDrawable):
            decoded(base64.b64encode(beginning + data).decode(), lambda *_: (16, 16))


def test_base64_with_line_ends_is_understood() -> None:
    data = encoded(quarters(16, 16))
    broken = "\n".join(data[at : at + 76] for at in range(0, len(data), 76))
    assert size_of(broken) == PixelSize(16, 16)
    assert colours_of(broken) == colours_of(data)


def test_a_pillow_with_known_faults_decodes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("PIL.__version__", "12.3.0")
    with pytest.raises(PillowMissing, match=r"Pillow 12.3.0 is not safe: pip install -U 'ponder-tui\[images\]'"):
        decoded(encoded(quarters()), lambda width, height: (width, height))
    monkeypatch.setattr("PIL.__version__", "13.0.0")
    assert decoded(encoded(quarters()), lambda width, height: (width, height)).size == quarters().size
