"""Markdown as HTML for exported pages, with formulas as MathML and diagrams drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from html import escape

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from tui.typeset.diagrams.fence import is_mermaid
from tui.typeset.drawing import columns_of
from tui.typeset.math.in_markdown import MATH_FENCE, add_formulas, hide_bars, show_bars

PAGE_COLUMNS = 90
"""Columns of a diagram that fit on the page."""


def renderer() -> Callable[[str], str]:
    """A function that renders markdown."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    add_formulas(parser)
    parser.add_render_rule("math_inline", _inline)
    parser.add_render_rule("math_block", _block)
    parser.add_render_rule("fence", _fence)

    def render(text: str) -> str:
        environment: dict[str, object] = {}
        shown = hide_bars(text, growing=False)
        tokens = parser.parse(shown, environment)
        if shown is not text:
            show_bars(tokens)
        return str(parser.renderer.render(tokens, parser.options, environment))

    return render


def _mathml(source: str, *, is_display: bool) -> str | None:
    from tui.typeset.math.typesetting import set_mathml  # most sessions have no formulas

    return set_mathml(source, is_display=is_display)


def _inline(_: RendererHTML, tokens: Sequence[Token], at: int, *__: Mapping[str, object]) -> str:
    source = tokens[at].content
    return _mathml(source, is_display=False) or f"<code>{escape(source)}</code>"


def _fence(
    html: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, environment: MutableMapping[str, object]
) -> str:
    token = tokens[at]
    if token.info.strip() == MATH_FENCE and (drawn := _mathml(f"$$\n{token.content}$$", is_display=True)):
        return f"{drawn}\n"
    if is_mermaid(token.info) and (drawn := _diagram(token.content)):
        return drawn
    return html.fence(tokens, at, options, environment)


def _diagram(source: str) -> str | None:
    """The drawing, and its source to open; None if it cannot be drawn."""
    from tui.typeset.diagrams.diagram import draw  # most sessions have no diagrams
    from tui.typeset.diagrams.graph import DiagramError

    try:
        drawing = draw(source, PAGE_COLUMNS, columns_of)
    except DiagramError:
        return None
    code = f"<details><summary>mermaid</summary><pre><code>{escape(source)}</code></pre></details>"
    return f'<pre class="diagram">{escape(drawing.text)}</pre>\n{code}\n'


def _block(_: RendererHTML, tokens: Sequence[Token], at: int, *__: Mapping[str, object]) -> str:
    source = tokens[at].content
    return f"{_mathml(source, is_display=True) or f'<pre>{escape(source)}</pre>'}\n"
