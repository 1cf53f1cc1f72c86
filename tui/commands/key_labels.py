"""Keys as people write them."""

from __future__ import annotations

import unicodedata

SHOWN = {
    "escape": "esc",
    "full_stop": ".",
    "comma": ",",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "question_mark": "?",
    "asterisk": "*",
    "slash": "/",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
}


def key_words(key: str) -> str:
    """``alt+full_stop`` is ``alt+.``."""
    return "+".join(SHOWN.get(part, part) for part in key.split("+"))


MODIFIERS = ("alt", "ctrl", "hyper", "meta", "shift", "super")
NAMED = frozenset(
    (
        *("escape", "enter", "tab", "space", "backspace", "delete", "insert", "home", "end", "pageup", "pagedown"),
        *("up", "down", "left", "right"),
        *(f"f{number}" for number in range(1, 25)),
    )
)
ALIASES = {shown: name for name, shown in SHOWN.items()} | {"return": "enter", "del": "delete", "ins": "insert"}
SHORT = {
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "low_line": "underscore",
    "plus_sign": "plus",
    "reverse_solidus": "backslash",
    "solidus": "slash",
}
"""Signs with a shorter name than Unicode's."""


def key_name(words: str) -> str | None:
    """``alt+.`` is ``alt+full_stop``, ``Shift+R`` is ``R``, ``R`` itself stays; None for what is no key."""
    words = words.strip()
    front, plus, last = words.rpartition("+")
    if words == "+" or words.endswith("++"):
        front, plus, last = front[:-1], words[:-1], "+"
    modifiers = {part.strip().lower() for part in front.split("+")} if plus else set()
    key = _plain(last.strip(), alone=not modifiers)
    if key is None or not modifiers <= set(MODIFIERS):
        return None
    if modifiers == {"shift"} and len(key) == 1 and key.isalpha():
        return key.upper()
    return "+".join([*sorted(modifiers), key])


def _plain(word: str, *, alone: bool) -> str | None:
    """The key without its modifiers; only alone is a capital another key than its small letter."""
    if len(word) == 1 and word.isalnum():
        return word if alone else word.lower()
    lower = ALIASES.get(word.lower(), word.lower())
    if lower in NAMED or lower in SHORT.values():
        return lower
    if len(word) == 1:
        name = unicodedata.name(word, "").lower().replace("-", "_").replace(" ", "_")
        return SHORT.get(name, name) or None
    try:
        sign = unicodedata.lookup(lower.replace("_", " "))
    except KeyError:
        return None
    return lower if sign.isprintable() and not sign.isalnum() else None
