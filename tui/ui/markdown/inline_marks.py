"""Marks within a line that CommonMark has no syntax for: keys written as ``<kbd>``. Other HTML is text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline

KEY = re.compile(r"<kbd>([^<>\n]{1,60})</kbd>", re.IGNORECASE)


def add_inline_marks(parser: MarkdownIt) -> None:
    """Add the rules to a parser."""
    parser.inline.ruler.before("link", "kbd", _key)


def _key(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - as markdown-it calls it
    found = KEY.match(state.src, state.pos, state.posMax) if state.src[state.pos] == "<" else None
    if found is None:
        return False
    if not silent:
        state.push("kbd", "", 0).content = found[1]
    state.pos = found.end()
    return True
