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
AT_TEXT_START = 12
IN_ONE_SEGMENT = 10
"""For scattered letters that begin the text, and that stand in one segment: ``thm`` is theme, not the model."""
WIDEST_GAP = 5
"""Letters skipped between two of the query cost one each, up to this."""
MOST_STARTS = 8
"""Places at which scattered letters are tried to begin."""


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
    return max(
        (found for start in _starts(word, text) if (found := _scattered(word, text, start)) is not None), default=None
    )


def _starts(word: str, text: str) -> list[int]:
    """Where the first letter stands: anywhere first, else at the start of a segment."""
    places = [place for place in range(min(len(text), 200)) if text[place] == word[0]]
    at_start = [place for place in places if place == 0 or text[place - 1] in BOUNDARIES]
    first = places[:1] or [text.find(word[0])]
    return [place for place in dict.fromkeys([*first, *at_start[:MOST_STARTS]]) if place >= 0]


def _scattered(word: str, text: str, start: int) -> int | None:
    total, before = 0, start - 1
    for letter in word:
        place = text.find(letter, before + 1)
        if place < 0:
            return None
        opens = place == 0 or text[place - 1] in BOUNDARIES
        total += AT_START if opens else NEXT_TO if place == before + 1 and place != start else ANYWHERE
        total -= min(WIDEST_GAP, place - before - 1)
        before = place
    if start == 0:
        total += AT_TEXT_START
    if not BOUNDARIES & set(text[start:before]):
        total += IN_ONE_SEGMENT
    return total


def best(query: str, things: Iterable[T], words: Callable[[T], str]) -> list[T]:
    """The things that fit, best first; all of them in their order when there is no query.

    Where some have the very words of the query, those that only have its letters are not meant.
    """
    asked = query.lower().split()
    if not asked:
        return list(things)
    scored = [(score(query, words(thing)), number, thing) for number, thing in enumerate(things)]
    fitting = [(-found, number, thing) for found, number, thing in scored if found is not None]
    meant = [row for row in fitting if all(word in words(row[2]).lower() for word in asked)]
    return [thing for _, _, thing in sorted(meant or fitting, key=lambda row: row[:2])]
