"""Marks in markdown that CommonMark does not know, for the screen and for exported pages.

Alerts (``> [!NOTE]``), keys (``<kbd>``), and the lines that begin and end ``<details>`` and footnotes. Other HTML is
text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tui.domain.lazy_regex import lazy_regex

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

DETAILS = lazy_regex(
    r"^ {0,3}<details(?P<open>\s+open(?:=\"\w*\"|='\w*'|=\w+)?)?\s*>(?P<rest>.*)$",
    re.IGNORECASE,
)
SUMMARY = lazy_regex(r"^\s*<summary>(?P<title>.*)$", re.IGNORECASE)
SUMMARY_END = lazy_regex(r"</summary>", re.IGNORECASE)
SUMMARY_LINES = 8
"""Most lines of a summary."""
DETAILS_END = lazy_regex(r"^(?P<before> {0,3}|[^`]*)</details>(?P<rest>.*)$", re.IGNORECASE)
MOST_NESTED = 6
NO_SUMMARY = "Details"
FENCE = lazy_regex(r"^ {0,3}(`{3,}|~{3,})")
FOOTNOTE = lazy_regex(r"^ {0,3}\[\^(?P<label>[^\]\s^]{1,60})\]:[ \t]*(?P<rest>.*)$")
REFERENCE = lazy_regex(r"\[\^([^\]\s^]{1,60})\]")
"""A reference to a footnote, or the beginning of one."""
KEY = lazy_regex(r"<kbd>([^<>\n]{1,60})</kbd>", re.IGNORECASE)
ALERT = lazy_regex(r"\[!(NOTE|TIP|IMPORTANT|WARNING|CAUTION)\][ \t]*(?:\n|$)", re.IGNORECASE)
"""The first line of a quote that is an alert."""


def add_keys(parser: MarkdownIt) -> None:
    """Let a parser make ``kbd`` tokens."""
    parser.inline.ruler.before("link", "kbd", _key)


def _key(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - as markdown-it calls it
    found = KEY.match(state.src, state.pos, state.posMax) if state.src[state.pos] == "<" else None
    if found is None:
        return False
    if not silent:
        state.push("kbd", "", 0).content = found[1]
    state.pos = found.end()
    return True


def take_alert(paragraph: Token | None, inline: Token | None) -> str:
    """The kind of alert of a quote that begins with these tokens, from which its name is removed; "" if it is none."""
    if paragraph is None or paragraph.type != "paragraph_open" or inline is None or not inline.children:
        return ""
    found = ALERT.match(inline.content)
    if found is None:
        return ""
    breaks = [number for number, child in enumerate(inline.children) if child.type in ("softbreak", "hardbreak")]
    inline.children = inline.children[breaks[0] + 1 :] if breaks else []
    return found[1].lower()
