"""Numbers with their noun."""

from __future__ import annotations


def noun(number: int, singular: str, plural: str = "") -> str:
    """``turn`` or ``turns``; ``plural`` is for nouns that do not just take an s."""
    return singular if number == 1 else plural or f"{singular}s"


def count(number: int, singular: str, plural: str = "") -> str:
    """``1 turn``, ``2 turns``, ``1,204 turns``."""
    return f"{number:,} {noun(number, singular, plural)}"
