"""Finds what is open at a place in a shell command: quotes, substitutions, arithmetic."""

from __future__ import annotations

ESCAPE = "\\"
"""The character at the place is escaped, or belongs to the sign before it (``$$``)."""
_CLOSED_BY = {
    "'": "'",
    "$'": "'",
    '"': '"',
    "`": "`",
    "(": ")",
    "((": "))",
    "$((": "))",
    "${": "}",
    "$[": "]",
}
_IN_DOUBLE_QUOTES = ("$((", "$(", "${", "$[", "`")
_ELSEWHERE = ("$((", "((", "$(", "${", "$[", "$'", "'", '"', "`", "(")


def opened_before(before: str) -> tuple[str, ...]:
    """The signs that are open after ``before``, the outermost first; ``$(`` counts as ``(``."""
    opened: list[str] = []
    at = 0
    while at < len(before):
        top = opened[-1] if opened else ""
        closing = _CLOSED_BY.get(top, "")
        if before[at] == "\\" and top != "'":
            at += 2
        elif closing and before.startswith(closing, at):
            opened.pop()
            at += len(closing)
        elif top in ("'", "$'"):
            at += 1
        elif before.startswith("$$", at) or before[at:] == "$":
            at += 2
        else:
            signs = _IN_DOUBLE_QUOTES if top == '"' else _ELSEWHERE
            sign = next((one for one in signs if before.startswith(one, at)), "")
            opened += ["(" if sign == "$(" else sign] if sign else []
            at += len(sign) or 1
    return (*opened, ESCAPE) if at > len(before) else tuple(opened)
