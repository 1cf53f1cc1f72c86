"""Which blocks of code are diagrams. Apart, because every answer asks it and few have one."""

from __future__ import annotations


def is_mermaid(info: str) -> bool:
    """Whether the info string of a fence is that of a diagram."""
    return info.strip().lower().split(" ")[0] == "mermaid"
