"""Makes untrusted text safe to print: characters that move the cursor, hide or reorder text become visible.

Only printed text changes; stored and sent text does not. TAB becomes four spaces, CRLF a newline, control characters
their symbols (``␛``), invisible and reordering characters an escape such as ``\\u{202E}``.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from tui.domain.assemble import whole_text
from tui.domain.lazy_regex import lazy_regex

MAX_MARKS = 8
"""Most combining marks in a row. More would be drawn over neighbouring cells."""
CUT = "…"
"""Marks removed text."""
TAB = "    "

_PLAIN_ASCII = bytes([0x0A, *range(0x20, 0x7F)])
_ZERO_WIDTH_JOINERS = "\u200c\u200d"
_SHOWN_AS_ESCAPE = (
    "\x80-\x9f\u2028\u2029"
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb"
    "\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""C1, line separators, and all Unicode ignorable or format characters, including unassigned ones.

Excluded are joiners, the selectors in ``_SELECTORS``, and the signs that Arabic and Syriac draw below numbers
(``Prepended_Concatenation_Mark``), which have a glyph. U+1D159 is a note head without a glyph.
"""
_SELECTORS = "\u180b-\u180d\u180f\ufe0e\ufe0f"
"""Select a variant of the preceding character: emoji or text, a form of a Mongolian letter."""
_NOT_CHARACTERS = "\ud800-\udfff\ufdd0-\ufdef" + "".join(
    chr(plane << 16 | 0xFFFE) + chr(plane << 16 | 0xFFFF) for plane in range(17)
)
_FLAGS = "|".join(
    "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in name) + "\U000e007f"
    for name in ("gbeng", "gbsct", "gbwls")
)
"""The three flags in general use that are written with tag characters."""
_SUSPECT = lazy_regex(
    f"{_FLAGS}|[\x00-\x09\x0b-\x1f\x7f{_SHOWN_AS_ESCAPE}{_NOT_CHARACTERS}{_ZERO_WIDTH_JOINERS}{_SELECTORS}]"
)
_ESCAPED_IN_JSON = lazy_regex(f"[\x7f{_SHOWN_AS_ESCAPE}]")
_NEVER_A_NEIGHBOUR = lazy_regex(f"[{_SHOWN_AS_ESCAPE}{_NOT_CHARACTERS}]")
_JOINING_SCRIPT = lazy_regex(
    "[\u0600-\u08ff\u0900-\u0dff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u1800-\u18af\ua840-\ua87f"
    "\ufb50-\ufdff\ufe70-\ufefc\U00010ac0-\U00010aff\U0001e900-\U0001e95f]"
)
_EMOJI = lazy_regex("[\u00a9\u00ae\u2190-\u21ff\u2300-\u23ff\u2460-\u27bf\u2900-\u2bff\U0001f000-\U0001faff]")
_TAKES_SELECTOR = lazy_regex(
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u2460-\u27bf\u2900-\u2bff\u3030\u303d\u3297\u3299"
    "\U0001f000-\U0001faff]"
)
_MONGOLIAN_LETTER = lazy_regex("[\u1820-\u18aa]")
_KEYCAP = "\u20e3"
_MAYBE_FLOOD = lazy_regex(f"[\u0300-\u20ff\u2cef-\u30ff\ua66f-\U0001efff\U000e0100-\U000e01ef]{{{MAX_MARKS + 1}}}")
"""All Unicode blocks with combining marks: a cheap test before the table of the marks is built."""


def printable(text: str, *, keep_newlines: bool = True) -> str:
    """Return text that is safe to print. The function is idempotent.

    Without ``keep_newlines`` a newline becomes ``␊``.
    """
    shown = text.replace("\r\n", "\n").replace("\t", TAB)
    if not shown.isascii():
        if _MAYBE_FLOOD.search(shown):
            shown = _mark_floods().sub(rf"\1{CUT}", shown)
        shown = _SUSPECT.sub(_shown, shown)
    elif shown.encode("ascii").translate(None, _PLAIN_ASCII):
        shown = _SUSPECT.sub(_shown, shown)
    return shown if keep_newlines else shown.replace("\n", "␊")


def json_escaped(text: str) -> str:
    """Return equivalent JSON with C1, DEL, reordering and invisible characters as ``\\uXXXX``.

    The value is unchanged for every JSON reader, so this applies whether or not the output is a terminal.
    """
    if text.isascii() and "\x7f" not in text:
        return text
    return _ESCAPED_IN_JSON.sub(_as_json_escape, text)


def one_line(text: str, limit: int) -> str:
    """Return the text on one line of at most ``limit`` characters. Runs of white space become one space."""
    head = text[: 4 * limit + 64]
    line = printable(" ".join(head.split()))
    if len(line) <= limit and len(head) == len(text):
        return line
    return line[: max(limit - 1, 0)].rstrip() + CUT if limit > 0 else ""


def _shown(match: re.Match[str]) -> str:
    found = match[0]
    if len(found) > 1 or _is_in_place(match.string, match.start()):
        return found
    code = ord(found)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if 0xD800 <= code <= 0xDFFF or 0xFDD0 <= code <= 0xFDEF or code & 0xFFFE == 0xFFFE:
        return "\ufffd"
    return f"\\u{{{code:X}}}"


def _as_json_escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def _is_in_place(text: str, at: int) -> bool:
    """Whether an invisible character is part of a script or an emoji sequence."""
    if text[at] in _ZERO_WIDTH_JOINERS:
        return _joins(text, at)
    return text[at] in "\ufe0e\ufe0f\u180b\u180c\u180d\u180f" and _selects(text, at)


def _selects(text: str, at: int) -> bool:
    """Whether a selector follows a character that has a variant."""
    before = text[at - 1 : at]
    if text[at] < "\ufe00":
        return _MONGOLIAN_LETTER.match(before) is not None
    if text[at + 1 : at + 2] == _KEYCAP:
        # A stream may have delivered the digit in an earlier delta.
        return before in "#*0123456789"
    return _TAKES_SELECTOR.match(before) is not None


def _joins(text: str, at: int) -> bool:
    """Whether the (non-)joiner is between characters of a script or emoji that use one."""
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if not before or not after or _NEVER_A_NEIGHBOUR.match(before) or _NEVER_A_NEIGHBOUR.match(after):
        return False
    if _JOINING_SCRIPT.match(before) and _JOINING_SCRIPT.match(after):
        return unicodedata.category(after)[0] == "L" and unicodedata.category(before)[0] in "LM"
    base = text[at - 2 : at - 1] if before == "\ufe0f" else before
    return bool(_EMOJI.match(after) and _EMOJI.match(base))


@cache
def _mark_floods() -> re.Pattern[str]:
    """Pattern of more than MAX_MARKS combining marks in a row. Built only when a text may contain such a run."""
    ranges: list[list[int]] = []
    for code in range(0x0300, 0x1F000):
        if unicodedata.category(chr(code)) in ("Mn", "Me"):
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    marks = "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges) + "\U000e0100-\U000e01ef"
    return re.compile(f"([{marks}]{{{MAX_MARKS}}})[{marks}]+")


def scrubbed(text: str) -> str:
    """Replace lone surrogates and NUL by U+FFFD. Text without them is returned as the same object."""
    return whole_text([text]).replace("\0", "\ufffd")
