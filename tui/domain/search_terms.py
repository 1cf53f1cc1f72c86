"""What a search looks for in a text: one phrase as typed, or the terms of a search for sessions."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from tui.domain.fast_dataclass import dataclass

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class SearchTerms:
    """``typed`` matches as it stands; ``terms`` match at the beginning of words, without accents, and go first."""

    typed: str = ""
    terms: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.typed or self.terms)

    def spans(self, text: str) -> list[Span]:
        """Every occurrence in a text, from its start."""
        if not self:
            return []
        pattern = _any_of(self.terms) if self.terms else _phrase(self.typed)
        return [found.span() for found in pattern.finditer(fold(text) if self.terms else text)]

    def is_in(self, text: str) -> bool:
        """Whether it occurs at all."""
        if self.terms:
            return _any_of(self.terms).search(fold(text)) is not None
        return bool(self.typed) and _phrase(self.typed).search(text) is not None


def fold(text: str) -> str:
    """Lower case without accents, every character still at its place."""
    return text.lower() if text.isascii() else text.translate(_FOLDED)


class _Folded(dict[int, str]):
    """Every character's plain lower form, worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        base = unicodedata.normalize("NFKD", character)[:1].lower()
        self[code] = base if len(base) == 1 else character
        return self[code]


_FOLDED = _Folded()


def term_pattern(term: str) -> re.Pattern[str] | None:
    """A term in folded text: its words with anything but letters between them; None without a letter or digit."""
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
