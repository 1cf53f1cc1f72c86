"""Keys as people write them."""

from __future__ import annotations

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
