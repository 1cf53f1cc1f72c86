"""Marks within a line that CommonMark has no syntax for: keys, and references to footnotes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.typeset.marks import REFERENCE, add_keys
from tui.ui.markdown.footnotes import raised

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline

NOTES = "footnotes"
"""Key of the parser's environment: the numbers of footnotes by label."""


def add_inline_marks(parser: MarkdownIt) -> None:
    """Add the rules to a parser."""
    add_keys(parser)
    parser.inline.ruler.before("link", "footnote", _footnote)


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
