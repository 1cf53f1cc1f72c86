"""Numbers with their noun."""

from __future__ import annotations


def count(number: int, noun: str, plural: str = "") -> str:
    """``1 turn``, ``2 turns``, ``1,204 turns``; ``plural`` is for nouns that do not just take an s."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
