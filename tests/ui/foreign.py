"""Text that wants to be more than text: 19 escape payloads, 17 strings that look like markup."""

from __future__ import annotations

import re

ESCAPES = {
    "clear screen": "before \x1b[2J\x1b[H after",
    "colour": "\x1b[31mred\x1b[0m",
    "clipboard": "\x1b]52;c;ZXZpbA==\x07",
    "title": "\x1b]0;owned\x07",
    "link": "\x1b]8;;https://evil.example\x07click\x1b]8;;\x07",
    "device control": "\x1bP+q544e\x1b\\",
    "reset": "\x1bc",
    "eight-bit csi": "\x9b31mred",
    "eight-bit osc": "\x9d0;owned\x9c",
    "bidi override": "abc\u202edcba\u202c",
    "bidi isolate": "a\u2066b\u2069c",
    "tag characters": "hi\U000e0041\U000e0042",
    "nul": "a\x00b",
    "backspace": "secret\x08\x08\x08\x08\x08\x08public",
    "carriage return": "rm -rf /\rls       ",
    "bell": "ding\x07",
    "zero width": "pay\u200bpal\ufeff",
    "alternate screen": "\x1b[?1049h\x1b[?25l",
    "query": "\x1b[6n\x1b[c",
}
MARKUP = (
    "path [/some/path]",
    "[bold]bold[/bold]",
    "[/]",
    "[red",
    "[@click=app.quit]quit[/]",
    "[link=https://evil.example]x[/link]",
    "a[0] = b[1]",
    "[[nested]]",
    "[/unopened]",
    "[on red]x",
    "\\[escaped]",
    "[$error]x[/]",
    "[bold",
    "list[int] | dict[str, list[str]]",
    "[not a tag!]",
    "[@click='app.bell()']bell[/]",
    "[reverse]x[/reverse] [/reverse]",
)

OBEYED = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)
"""What a terminal would obey instead of drawing."""


def obeyed(text: str) -> list[str]:
    """Characters in what is drawn that no line of text may hold."""
    return OBEYED.findall(text.replace("\n", ""))
