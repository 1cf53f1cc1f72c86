"""Numbers followed by a noun in the singular or plural."""

from __future__ import annotations


def noun(number: int, singular: str, plural: str = "") -> str:
    """Return ``turn`` or ``turns``. ``plural`` is for irregular plurals."""
    return singular if number == 1 else plural or f"{singular}s"


def count(number: int, singular: str, plural: str = "") -> str:
    """Return ``1 turn``, ``2 turns``, ``1,204 turns``."""
    return f"{number:,} {noun(number, singular, plural)}"
