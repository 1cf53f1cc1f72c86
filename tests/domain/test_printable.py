"""Foreign text made safe to draw."""

from __future__ import annotations

import json
import time
import unicodedata
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.domain.printable import json_escaped, one_line, printable

OTHER_IGNORABLE = [
    *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2065, 0x3164, 0xFFA0, *range(0xFFF0, 0xFFF9)),
    *(0xE0000, *range(0xE0002, 0xE0020), *range(0xE0080, 0xE0100), *range(0xE01F0, 0xE1000)),
]
"""Other_Default_Ignorable_Code_Point of Unicode's PropList.txt, which the standard library does not know."""
HAVE_A_GLYPH = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
"""Format characters that are drawn: Prepended_Concatenation_Mark of PropList.txt."""
WHERE_NEEDED = {0x180B, 0x180C, 0x180D, 0x180F, 0x200C, 0x200D, 0xFE0E, 0xFE0F}
"""Joiners and selectors that scripts and emoji need; elsewhere they are shown as well."""


def _is_invisible(code: int) -> bool:
    kind, name = unicodedata.category(chr(code)), unicodedata.name(chr(code), "")
    return kind in ("Cc", "Cf", "Cs", "Zl", "Zp") or "VARIATION SELECTOR" in name


@cache
def invisible() -> frozenset[int]:
    """Code points that are not drawn. Made by the tests that need it: asking all takes most of a second."""
    return frozenset(OTHER_IGNORABLE).union(code for code in range(0x110000) if _is_invisible(code))


MAY_STAY = {0x0A} | HAVE_A_GLYPH | WHERE_NEEDED
ANY_TEXT = st.text(st.characters(), max_size=60) | st.text(
    "a\n\r\t\x1b\x9b\u200d\u200c\u061c\u0628\u064b\u0301\u093f\u0915\ufe0e\ufe0f\u20e31\u1820\u180b\U0001f468\U0001f469\U0001f3f4"
    "\U000e0067\ud83d\udc68",
    max_size=40,
)


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain words, no change", "plain words, no change"),
        ("a\tb\r\nc", "a    b\nc"),
        ("hidden\rtext", "hidden␍text"),
        ("\x1b]52;c;Zm9v\x07", "␛]52;c;Zm9v␇"),
        ("nul\x00del\x7f", "nul␀del␡"),
        ("8-bit \x9b31m", "8-bit \\u{9B}31m"),
        ("abc\u202edcba", "abc\\u{202E}dcba"),
        ("zero\u200bwidth\ufeff", "zero\\u{200B}width\\u{FEFF}"),
        ("lone \ud83d here", "lone \ufffd here"),
        ("non\ufffe\U0001ffff", "non\ufffd\ufffd"),
        ("tag \U000e0041", "tag \\u{E0041}"),
        ("one\u2028two\u2029", "one\\u{2028}two\\u{2029}"),
        ("x\ufe0f y\ufe00 \u2764\ufe0f\ufe0f", "x\\u{FE0F} y\\u{FE00} \u2764\ufe0f\\u{FE0F}"),
        ("a\u034fb \U0001d173c\u206f d\u180be", "a\\u{34F}b \\u{1D173}c\\u{206F} d\\u{180B}e"),
        ("private \ue0b0 stays", "private \ue0b0 stays"),
        ("é ü 漢字 🙂", "é ü 漢字 🙂"),
    ],
)
def test_each_class_of_character_is_kept_or_shown(raw: str, shown: str) -> None:
    assert printable(raw) == shown


@pytest.mark.parametrize(
    "text",
    [
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "\u2764\ufe0f\u200d\U0001f525",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\u0915\u094d\u200d\u0937",
        "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
        "1\ufe0f\u20e3 \u26a0\ufe0e \U0001f3f3\ufe0f\u200d\U0001f308",
        "\u1820\u180b",
    ],
)
def test_joiners_and_flags_stay_where_scripts_and_emoji_need_them(text: str) -> None:
    assert printable(text) == text


def test_a_joiner_between_latin_letters_is_shown() -> None:
    assert printable("pay\u200dpal") == "pay\\u{200D}pal"


def test_a_flood_of_combining_marks_is_cut_with_a_mark() -> None:
    assert printable("e" + "\u0301" * 500 + "x") == "e" + "\u0301" * 8 + "…x"


def test_newlines_can_be_shown_too() -> None:
    assert printable("a\r\nb", keep_newlines=False) == "a␊b"


def test_one_line_folds_white_space_and_cuts_at_the_limit() -> None:
    assert one_line("  first\n second\tthird ", 40) == "first second third"
    assert one_line("0123456789", 5) == "0123…"
    assert one_line("x" * 10_000, 8) == "xxxxxxx…"
    assert one_line("abc", 0) == ""


def test_every_invisible_character_of_unicode_is_shown() -> None:
    assert {code for code in invisible() if printable(f"a{chr(code)}b") == f"a{chr(code)}b"} == {0x0A} | HAVE_A_GLYPH


@given(ANY_TEXT)
def test_nothing_dangerous_survives(text: str) -> None:
    assert {hex(ord(letter)) for letter in printable(text) if ord(letter) in invisible() - MAY_STAY} == set()


@given(ANY_TEXT)
def test_json_holds_nothing_dangerous_and_means_the_same(text: str) -> None:
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    written = json_escaped(json.dumps({text: [text]}, ensure_ascii=False))
    assert {hex(ord(letter)) for letter in written if ord(letter) in invisible() - MAY_STAY} == set()
    assert json.loads(written) == {text: [text]}


def test_json_keeps_what_is_harmless_as_it_is() -> None:
    text = '{"a": "Grüße, 世界 👩\u200d💻"}'
    assert json_escaped(text) == text


@given(ANY_TEXT)
def test_a_second_pass_changes_nothing(text: str) -> None:
    assert printable(printable(text)) == printable(text)


@given(ANY_TEXT, ANY_TEXT)
def test_pieces_give_the_same_as_the_whole_except_at_a_seam(first: str, second: str) -> None:
    seam = {"\r", "\u200c", "\u200d"}
    edge = first[-1:] + second[:1]
    marks = any(unicodedata.category(letter) in ("Mn", "Me") for letter in edge)
    tags = any("\U000e0000" <= letter <= "\U000e007f" or letter == "\U0001f3f4" for letter in first + second)
    if not (seam & set(edge) or marks or tags):
        assert printable(first + second) == printable(first) + printable(second)


def test_a_megabyte_of_ascii_takes_milliseconds() -> None:
    text = "The quick brown fox jumps over the lazy dog.\n" * 23_000
    taken = []
    for _ in range(3):
        started = time.thread_time()
        assert printable(text) == text
        taken.append(time.thread_time() - started)
    assert min(taken) < 0.1
