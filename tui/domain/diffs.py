"""Recognises the changes of a file as tools write them."""

from __future__ import annotations


def is_diff(text: str) -> bool:
    """Whether a text is a unified diff, or the lines of a new file, each with its plus sign."""
    if text.startswith(("--- ", "diff ", "@@ ")) or "\n@@ " in text[:2_000]:
        return True
    return text.startswith("+") and all(line.startswith(("+", "\\")) for line in text.rstrip("\n").split("\n"))
