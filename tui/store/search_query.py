"""What a user types into the search → words, phrases and filters. Pure.

``fermi "great filter" in:thinking model:opus after:2026-01-01``: every word must occur, in any order; quotes hold
words together; the last word may be the beginning of one.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from tui.domain.errors import UsageError
from tui.domain.fast_dataclass import dataclass
from tui.store.fulltext import spaced

COLUMNS = {
    "prompts": "prompts",
    "prompt": "prompts",
    "answers": "answers",
    "answer": "answers",
    "thinking": "thinking",
    "tools": "tools",
    "tool": "tools",
}
_TERM = re.compile(r'(?:(in|model|after|before):)?(?:"([^"]*)"?|(\S+))', re.IGNORECASE)
_DAY_S = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A search, taken apart."""

    terms: tuple[str, ...] = ()
    """Words and phrases as typed."""
    last_is_open: bool = False
    """The last one is still being typed: its beginning is enough."""
    columns: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    after: float | None = None
    before: float | None = None

    @property
    def is_empty(self) -> bool:
        """Nothing is asked for."""
        return self == Query()

    def expression(self) -> str:
        """In the index's own language; "" when none of the terms has a letter or digit."""
        phrases = [
            f'"{words}"' + (" *" if self.last_is_open and number == len(self.terms) - 1 else "")
            for number, term in enumerate(self.terms)
            if (words := _indexed(term))
        ]
        wanted = " AND ".join(phrases)
        return f"{{{' '.join(self.columns)}}} : ({wanted})" if wanted and self.columns else wanted


def parse(typed: str) -> Query:
    """Raises UsageError for a filter that makes no sense."""
    terms: list[str] = []
    columns: list[str] = []
    models: list[str] = []
    after = before = None
    is_open = False
    writable = typed.encode("utf-8", "replace").decode()
    for found in _TERM.finditer(writable):
        name, quoted, bare = found.groups()
        value = quoted if quoted is not None else bare
        match (name or "").lower():
            case "in":
                columns.append(_column(value))
            case "model":
                models.append(value)
            case "after":
                after = _day(value)
            case "before":
                before = _day(value)
            case _:
                if value.strip():
                    terms.append(value)
                    is_open = quoted is None and found.end() == len(writable)
    return Query(
        terms=tuple(terms),
        last_is_open=is_open,
        columns=tuple(dict.fromkeys(columns)),
        models=tuple(models),
        after=after,
        before=before,
    )


def _column(word: str) -> str:
    column = COLUMNS.get(word.lower())
    if column is None:
        raise UsageError(f"`in:{word}` is unknown.", advice="in:prompts, in:answers, in:thinking or in:tools.")
    return column


def _day(word: str) -> float:
    """The first second of a day, month or year, in UTC."""
    for form in ("%Y-%m-%d", "%Y-%m", "%Y"):
        try:
            return datetime.strptime(word, form).replace(tzinfo=UTC).timestamp()
        except ValueError:
            continue
    raise UsageError(f"`{word}` is not a date.", advice="Write it as 2026-11-18, 2026-11 or 2026.")


def _indexed(term: str) -> str:
    words = spaced(term).replace('"', " ")
    return words if any(character.isalnum() for character in words) else ""
