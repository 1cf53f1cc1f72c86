"""The inside of a paragraph as plain text: emphasis is dropped, links keep their address, formulas are set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from tui.typeset.marks import add_keys
from tui.typeset.math.in_markdown import add_formulas

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # a tenth of a second: not before the first answer

    parser = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable("strikethrough")
    add_formulas(parser)
    add_keys(parser)
    return parser


def load_parser() -> None:
    """Import what the first answer needs."""
    _parser()


def inline_text(source: str) -> str:
    """Markdown within a block as plain text."""
    if not any(mark in source for mark in "*_`[<\\&$~!\n"):
        return source
    inline = _parser().parseInline(source, {})
    return "".join(_pieces(inline[0].children or ())) if inline else ""


def formula_text(source: str) -> str:
    """A formula in one line: set in Unicode, or as written if it cannot be set."""
    from tui.typeset.math.typesetting import set_line  # most answers have none

    return set_line(source) or " ".join(source.split())


TEXT_OF_TOKEN = {"softbreak": " ", "hardbreak": "\n", "s_open": "[deleted: ", "s_close": "]"}
"""What tokens without content become; emphasis becomes nothing."""


def _pieces(tokens: Sequence[Token]) -> Iterator[str]:
    address, name = "", ""
    for token in tokens:
        if token.type == "link_open":
            address, name = str(token.attrGet("href") or ""), ""
        elif token.type == "link_close":
            if address not in ("", name, f"mailto:{name}"):
                yield f" ({address})"
        else:
            text = TEXT_OF_TOKEN.get(token.type) or _content(token)
            name += text
            yield text


def _content(token: Token) -> str:
    if token.type == "math_inline":
        return formula_text(token.content)
    if token.type == "image":
        where = f" ({token.attrGet('src')})" if token.attrGet("src") else ""
        return f"image: {token.content}{where}"
    return token.content
