"""Convert key names between Textual's form and the form shown to users."""

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
    """The shown form of a key: ``alt+full_stop`` becomes ``alt+.``."""
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
"""Textual's names of characters, by Unicode name."""


def key_name(words: str) -> str | None:
    """Textual's name of a key: ``alt+full_stop`` for ``alt+.``, ``R`` for ``Shift+R``; None if it is not a key."""
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
    """Textual's name of a key without modifiers. Case matters only without modifiers."""
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
