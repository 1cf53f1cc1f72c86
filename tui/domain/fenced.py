"""Any text as a code block of markdown."""

from __future__ import annotations

import re


def fenced(text: str, language: str = "") -> str:
    """The text with a fence that nothing in it can close."""
    longest = max(map(len, re.findall("`{3,}", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
