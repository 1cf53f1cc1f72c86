"""Marks within a line that CommonMark has no syntax for: keys written as ``<kbd>``, and references to footnotes.

Other HTML is text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tui.ui.markdown.footnotes import REFERENCE, raised

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline

NOTES = "footnotes"
"""Key of the parser's environment: the numbers of footnotes by label."""
KEY = re.compile(r"<kbd>([^<>\n]{1,60})</kbd>", re.IGNORECASE)


def add_inline_marks(parser: MarkdownIt) -> None:
    """Add the rules to a parser."""
    parser.inline.ruler.before("link", "kbd", _key)
    parser.inline.ruler.before("link", "footnote", _footnote)


def _key(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - as markdown-it calls it
    found = KEY.match(state.src, state.pos, state.posMax) if state.src[state.pos] == "<" else None
    if found is None:
        return False
    if not silent:
        state.push("kbd", "", 0).content = found[1]
    state.pos = found.end()
    return True


def _footnote(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - as markdown-it calls it
    numbers = state.env.get(NOTES)
    if not numbers or state.src[state.pos] != "[":
        return False
    found = REFERENCE.match(state.src, state.pos, state.posMax)
    number = numbers.get(found[1].casefold()) if found is not None else None
    if found is None or number is None:
        return False
    if not silent:
        state.push("footnote", "", 0).content = raised(number)
    state.pos = found.end()
    return True
