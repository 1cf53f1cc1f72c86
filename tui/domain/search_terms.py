"""Matches of a search in a text: one phrase as typed, or the terms of a session search."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from tui.domain.fast_dataclass import dataclass

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class SearchTerms:
    """``typed`` matches literally. ``terms`` match word beginnings without accents and take precedence."""

    typed: str = ""
    terms: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.typed or self.terms)

    def spans(self, text: str) -> list[Span]:
        """Return all matches in the text, in order."""
        if not self:
            return []
        pattern = _any_of(self.terms) if self.terms else _phrase(self.typed)
        return [found.span() for found in pattern.finditer(fold(text) if self.terms else text)]

    def is_in(self, text: str) -> bool:
        """Return whether the text contains a match."""
        if self.terms:
            return _any_of(self.terms).search(fold(text)) is not None
        return bool(self.typed) and _phrase(self.typed).search(text) is not None


def fold(text: str) -> str:
    """Return the text in lower case without accents. Character positions are unchanged."""
    return text.lower() if text.isascii() else text.translate(_FOLDED)


class _Folded(dict[int, str]):
    """Maps a character to its lower-case base character, computed on first use."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        base = unicodedata.normalize("NFKD", character)[:1].lower()
        self[code] = base if len(base) == 1 else character
        return self[code]


_FOLDED = _Folded()


def term_pattern(term: str) -> re.Pattern[str] | None:
    """Return a pattern for a term in folded text, with any non-letters between its words; None if it has no words."""
    words = re.findall(r"\w+", fold(term))
    if not words:
        return None
    start = r"\b" if words[0].isascii() else ""
    return re.compile(start + r"[\W_]+".join(map(re.escape, words)))


@lru_cache(maxsize=16)
def _phrase(words: str) -> re.Pattern[str]:
    return re.compile(r"\s+".join(map(re.escape, words.split())) or re.escape(words), re.IGNORECASE)


@lru_cache(maxsize=16)
def _any_of(terms: tuple[str, ...]) -> re.Pattern[str]:
    patterns = [found.pattern if (found := term_pattern(term)) is not None else re.escape(fold(term)) for term in terms]
    return re.compile("|".join(patterns))
