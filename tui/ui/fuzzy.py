"""Fuzzy matching for filters: letters in order, whole words and beginnings of segments first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")

BOUNDARIES = frozenset("/-_.: ")
AT_START = 8
"""What a letter is worth at the start of a segment; next to the letter before; anywhere else."""
NEXT_TO = 5
ANYWHERE = 1
WHOLE = 100
"""Added when the query stands in the text as it is."""


def score(query: str, text: str) -> int | None:
    """How well a query fits a text; None where it does not. Every blank-separated word must fit."""
    total = 0
    for word in query.lower().split():
        found = _word(word, text.lower())
        if found is None:
            return None
        total += found
    return total


def _word(word: str, text: str) -> int | None:
    place = text.find(word)
    if place >= 0:
        at_start = place == 0 or text[place - 1] in BOUNDARIES
        return WHOLE + len(word) * (AT_START if at_start else NEXT_TO) - min(place, 20)
    total, before = 0, -2
    for letter in word:
        place = text.find(letter, before + 1 if before >= 0 else 0)
        if place < 0:
            return None
        start = place == 0 or text[place - 1] in BOUNDARIES
        total += AT_START if start else NEXT_TO if place == before + 1 else ANYWHERE
        before = place
    return total


def best(query: str, things: Iterable[T], words: Callable[[T], str]) -> list[T]:
    """The things that fit, best first; all of them in their order when there is no query."""
    if not query.strip():
        return list(things)
    scored = [(score(query, words(thing)), number, thing) for number, thing in enumerate(things)]
    fitting = [(-found, number, thing) for found, number, thing in scored if found is not None]
    return [thing for _, _, thing in sorted(fitting, key=lambda row: row[:2])]
