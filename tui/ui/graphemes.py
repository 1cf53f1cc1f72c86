"""Grapheme clusters and their widths: emoji sequences, flags, joined letters.

Rich counts spacing vowel signs of Brahmic scripts as zero columns. Terminals that count code points give them one
column, and so do newer ones that count clusters. With Rich's count the next letter would be drawn over the sign, so its
table is replaced (``rich.cells.load_cell_table``) before anything is measured.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from rich import cells
from rich._unicode_data import load
from rich.cells import CellTable, split_graphemes

from tui.domain.lazy_regex import lazy_regex
from tui.domain.printable import CUT, one_line

_UNSURE = lazy_regex(
    "[\u0900-\u0dff\u0e31\u0e33-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb3-\u0ebc\u0ec8-\u0ece\u0f00-\u109f\u1100-\u11ff"
    "\u1700-\u17ff\u1800-\u180f\u1900-\u1cff\u200c\u200d\u20e3\ua800-\ua8ff\ua900-\uaaff\uabc0-\uabff\ud7b0-\ud7ff"
    "\ufe0e\ufe0f\U00010a00-\U00010a5f\U00011000-\U00011fff\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff"
    "\U000e0020-\U000e007f]"
)
"""Joiners, selectors, flags and skin tones, and scripts in which letters join or marks have a width."""
_FLAG_HALVES = ("\U0001f1e6", "\U0001f1ff")
_JOINS_LETTERS = tuple("\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca\u1039\u17d2")
"""The virama of Brahmic scripts: it removes a letter's vowel and joins it to the next letter."""


_BRAHMIC = ((0x900, 0x1D00), (0xA800, 0xAC00), (0x11000, 0x12000))
"""Blocks with spacing vowel signs, which Rich's table counts as marks of zero columns."""


@lru_cache(maxsize=4)
def _table_with_spacing_marks(unicode_version: str = "auto") -> CellTable:
    table = load(unicode_version)
    widths: list[tuple[int, int, int]] = []
    for first, last, width in table.widths:
        if width or not any(begin <= first < end for begin, end in _BRAHMIC):
            widths.append((first, last, width))
            continue
        widths.extend((code, code, int(_is_spacing_mark(chr(code)))) for code in range(first, last + 1))
    return table._replace(widths=widths)


cells.load_cell_table = _table_with_spacing_marks  # type: ignore[attr-defined]  # imported there, and called by name


def _is_spacing_mark(character: str) -> bool:
    return unicodedata.category(character) == "Mc"


@lru_cache(maxsize=4096)
def is_unsure(text: str) -> bool:
    """Whether terminals disagree about the columns this text takes."""
    return not text.isascii() and _UNSURE.search(text) is not None


def clusters(text: str) -> list[tuple[str, int]]:
    """The clusters of a text with their columns, whose sum is ``cell_len`` of the text."""
    found: list[tuple[str, int]] = []
    for start, end, width in split_graphemes(text)[0]:
        part = text[start:end]
        if found and _joins(found[-1][0], part):
            before, columns = found[-1]
            found[-1] = before + part, columns + width
        else:
            found.append((part, width))
    return found


def cluster_edge(text: str, position: int) -> int:
    """The last cluster boundary at or before a position, but at least the end of the first cluster."""
    at = 0
    for cluster, _ in clusters(text):
        if at and at + len(cluster) > position:
            break
        at += len(cluster)
    return at


MOST_CHARACTERS = 12
"""Most characters examined per column of a line."""


def line_within(text: str, columns: int) -> str:
    """The text on one line of at most this many columns; blanks are merged as ``one_line`` does."""
    line = one_line(text, MOST_CHARACTERS * columns)
    if (len(line) if line.isascii() else cells.cell_len(line)) <= columns:
        return line
    if line.isascii():
        return one_line(line, columns)
    used, kept = len(CUT), ""
    for cluster, width in clusters(line):
        used += width
        if used > columns:
            break
        kept += cluster
    return kept.rstrip() + CUT if columns > 0 else ""


def _joins(before: str, part: str) -> bool:
    if before.endswith(_JOINS_LETTERS):
        return 0x900 <= ord(part[0]) < 0x1800
    if _is_spacing_mark(part[0]):
        return True
    return _is_flag_half(part) and _is_flag_half(before)


def _is_flag_half(text: str) -> bool:
    return len(text) == 1 and _FLAG_HALVES[0] <= text <= _FLAG_HALVES[1]
