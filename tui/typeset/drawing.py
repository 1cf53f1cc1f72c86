"""A drawing: rows of text whose parts have roles. Colours are chosen by the code that shows it."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import NamedTuple

Measure = Callable[[str], int]
"""Returns the columns that a text takes on the screen."""


def columns_of(text: str) -> int:
    """The columns that a text takes by the standard, where no screen is there to be asked."""
    if text.isascii():
        return len(text)
    return sum(_columns_of(character) for character in text)


def _columns_of(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


class Span(NamedTuple):
    """A part of a row. Roles are names such as ``label`` or ``edge``; "" is plain text."""

    text: str
    role: str = ""


class Drawing(NamedTuple):
    rows: tuple[tuple[Span, ...], ...]
    width: int
    """Columns of the widest row."""
    baseline: int = 0
    """The row that is on the line of the surrounding text."""

    @property
    def text(self) -> str:
        return "\n".join("".join(span.text for span in row).rstrip() for row in self.rows)
