"""The text around a hit. The index stores no text, so hits are located again in the message."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tui.domain.search_terms import fold, term_pattern

BEGIN, END = "\x02", "\x03"
"""Markers around a hit; removed from the text itself."""
WIDTH = 120
CUT = "…"


def snippet(texts: Sequence[str], terms: Sequence[str]) -> str:
    """The passage of the first matching text with the most different terms, hits marked; "" without a hit."""
    best = (0, "")
    for text in texts:
        found = _best_of(text, terms)
        if found[0] > best[0]:
            best = found
    return best[1]


def _best_of(text: str, terms: Sequence[str]) -> tuple[int, str]:
    plain = text.replace(BEGIN, " ").replace(END, " ")
    folded = fold(plain)
    hits = sorted(
        (hit.start(), hit.end(), number)
        for number, term in enumerate(terms)
        if (pattern := term_pattern(term)) is not None
        for hit in _first(pattern, folded, 50)
    )
    if not hits:
        return 0, ""
    chosen, count = hits[0], 0
    for hit in hits:
        different = len({number for start, end, number in hits if hit[0] <= start and end <= hit[0] + WIDTH})
        if different > count:
            chosen, count = hit, different
    return count, _around(plain, chosen[0], [(start, end) for start, end, _ in hits])


def _around(text: str, first: int, hits: Sequence[tuple[int, int]]) -> str:
    start = max(0, first - WIDTH // 4)
    if start:
        space = text.find(" ", start, first)
        start = space + 1 if space >= 0 else start
    stop = min(len(text), start + WIDTH)
    pieces = [CUT if start else ""]
    at = start
    for begin, end in hits:
        if begin < at or end > stop:
            continue
        pieces += [text[at:begin], BEGIN, text[begin:end], END]
        at = end
    pieces += [text[at:stop], CUT if stop < len(text) else ""]
    return " ".join("".join(pieces).split())


def _first(pattern: re.Pattern[str], text: str, limit: int) -> list[re.Match[str]]:
    found = []
    for match in pattern.finditer(text):
        found.append(match)
        if len(found) == limit:
            break
    return found
