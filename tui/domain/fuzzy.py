"""Fuzzy matching for filters: letters in order; whole words and starts of segments score highest."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")

BOUNDARIES = frozenset("/-_.: ")
AT_START = 8
"""Scores of a letter at the start of a segment, next to the previous match, and anywhere else."""
NEXT_TO = 5
ANYWHERE = 1
WHOLE = 100
"""Added if the text contains the whole query."""
AT_TEXT_START = 12
IN_ONE_SEGMENT = 10
"""Added for scattered letters if they begin the text, and if they are in one segment: ``thm`` matches theme before
model."""
WIDEST_GAP = 5
"""Most points lost for letters skipped between two matches, one per letter."""
MOST_STARTS = 8
"""Most starting positions tried for scattered letters."""


def score(query: str, text: str) -> int | None:
    """How well a text matches; None if it does not. Every blank-separated word of the query must match."""
    total = 0
    for word in query.lower().split():
        found = _word(word, text.lower())
        if found is None:
            return None
        total += found
    return total


def _word(word: str, text: str) -> int | None:
    index = text.find(word)
    if index >= 0:
        at_start = index == 0 or text[index - 1] in BOUNDARIES
        return WHOLE + len(word) * (AT_START if at_start else NEXT_TO) - min(index, 20)
    return max(
        (found for start in _starts(word, text) if (found := _scattered(word, text, start)) is not None), default=None
    )


def _starts(word: str, text: str) -> list[int]:
    """Positions of the first letter: anywhere for the first match, later only starts of segments."""
    indexes = [index for index in range(min(len(text), 200)) if text[index] == word[0]]
    at_start = [index for index in indexes if index == 0 or text[index - 1] in BOUNDARIES]
    first = indexes[:1] or [text.find(word[0])]
    return [index for index in dict.fromkeys([*first, *at_start[:MOST_STARTS]]) if index >= 0]


def _scattered(word: str, text: str, start: int) -> int | None:
    total, before = 0, start - 1
    for letter in word:
        index = text.find(letter, before + 1)
        if index < 0:
            return None
        opens = index == 0 or text[index - 1] in BOUNDARIES
        total += AT_START if opens else NEXT_TO if index == before + 1 and index != start else ANYWHERE
        total -= min(WIDEST_GAP, index - before - 1)
        before = index
    if start == 0:
        total += AT_TEXT_START
    if not BOUNDARIES & set(text[start:before]):
        total += IN_ONE_SEGMENT
    return total


def best(query: str, things: Iterable[T], text: Callable[[T], str]) -> list[T]:
    """Matching items, best first; all items in their order if the query is empty.

    If some items contain the words of the query, items that only contain its letters are left out.
    """
    asked = query.lower().split()
    if not asked:
        return list(things)
    scored = [(score(query, text(thing)), number, thing) for number, thing in enumerate(things)]
    fitting = [(-found, number, thing) for found, number, thing in scored if found is not None]
    meant = [row for row in fitting if all(word in text(row[2]).lower() for word in asked)]
    return [thing for _, _, thing in sorted(meant or fitting, key=lambda row: row[:2])]
