"""Markdown as HTML for exported pages, with formulas as MathML, diagrams drawn, and the marks that the screen knows."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from html import escape
from itertools import count
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.tasklists import tasklists_plugin

from tui.domain.printable import printable
from tui.domain.web_address import safe_address
from tui.typeset.diagrams.fence import is_mermaid
from tui.typeset.drawing import columns_of
from tui.typeset.marks import (
    DETAILS,
    DETAILS_END,
    FENCE,
    MOST_NESTED,
    NO_SUMMARY,
    SUMMARY,
    SUMMARY_END,
    SUMMARY_LINES,
    add_keys,
    take_alert,
)
from tui.typeset.math.in_markdown import MATH_FENCE, add_formulas, hide_bars, show_bars

LOG = logging.getLogger(__name__)

OPENED, CLOSED = "\ufdd1", "\ufdd2"
"""Paragraphs that stand for the ends of ``<details>`` while markdown is rendered; noncharacters, which no text has."""
PLACE = re.compile(f"<p>({OPENED}(\\d+)|{CLOSED})</p>")
PAGE_COLUMNS = 90
"""Columns of a diagram that fit on the page."""


def _clean_entities(state: StateCore) -> None:
    """Make characters visible that hide or reorder text: ``&#x202e;`` becomes one when the text is parsed."""
    for token in state.tokens:
        for child in token.children or ():
            if child.type == "text" and not child.content.startswith((OPENED, CLOSED)):
                parts = child.content.split("\t")  # pages keep them
                child.content = "\t".join(printable(part, keep_newlines=False) for part in parts)


def _only_web_links(state: StateCore) -> None:
    """Let only http and https addresses be links, as on the screen; others are written behind their text.

    ``//host/path`` would lead to a server of that name, which for a page that is opened as a file is a network share.
    """
    for token in state.tokens:
        if token.children and any(child.type == "link_open" for child in token.children):
            token.children = list(_without_other_links(token.children))


def _without_other_links(tokens: Iterable[Token]) -> Iterator[Token]:
    href: str | None = None
    written: list[str] = []
    for token in tokens:
        if token.type == "link_open":
            address = str(token.attrGet("href") or "")
            href = None if safe_address(address) else address
            written = []
        if href is None:
            yield token
        elif token.type == "link_close":
            shown = unquote(href)
            if "".join(written) not in (href, shown, href.removeprefix("mailto:")):
                yield Token("text", "", 0, content=f" ({printable(shown, keep_newlines=False)})")
            href = None
        elif token.type != "link_open":
            written.append(token.content)
            yield token


def renderer() -> Callable[[str], str]:
    """A function that renders markdown; the footnotes of each text have addresses of their own."""
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")
    add_formulas(parser)
    add_keys(parser)
    parser.use(deflist_plugin).use(footnote_plugin).use(tasklists_plugin).disable("footnote_inline")
    # At the end, for all text: also for footnotes and for the summaries of details.
    parser.core.ruler.push("entities", _clean_entities)
    parser.core.ruler.push("web_links", _only_web_links)
    parser.add_render_rule("kbd", _key)
    numbers = count(1)
    parser.add_render_rule("math_inline", _inline)
    parser.add_render_rule("math_block", _block)
    parser.add_render_rule("fence", _fence)

    def render_parts(text: str) -> str:
        name = str(next(numbers))
        environment: dict[str, object] = {"docId": name}
        shown = hide_bars(text, growing=False)
        tokens = parser.parse(shown, environment)
        if unused := _unused_footnotes(environment):
            # Only footnotes that are referred to are rendered, and a page leaves nothing out.
            environment = {"docId": name}
            tokens = parser.parse(f"{shown}\n\n{unused}", environment)
        if shown is not text:
            show_bars(tokens)
        return str(parser.renderer.render(_with_alerts(tokens), parser.options, environment))

    def render(text: str) -> str:
        marked, summaries = _marked_details(text) if "<details" in text.lower() else (text, [])
        page = render_parts(marked)
        if not summaries:
            return page
        if len(PLACE.findall(page)) != 2 * len(summaries):
            return render_parts(text)  # within a quote, say: such a page would not be well-formed

        def tag(found: re.Match[str]) -> str:
            if found[1] == CLOSED:
                return "</details>"
            title, opens = summaries[int(found[2])]
            return f"<details{' open' * opens}><summary>{parser.renderInline(title)}</summary>"

        return PLACE.sub(tag, page)

    return render


def _unused_footnotes(environment: Mapping[str, object]) -> str:
    """References to the footnotes that have none."""
    notes = environment.get("footnotes")
    known = notes.get("refs", {}) if isinstance(notes, dict) else {}
    return " ".join(f"[^{label[1:]}]" for label, number in known.items() if number < 0)


def _marked_details(text: str) -> tuple[str, list[tuple[str, bool]]]:
    """The text with marks instead of ``<details>``, and their summaries, each with whether it is open."""
    lines: list[str] = []
    summaries: list[tuple[str, bool]] = []
    open_ones, fence = 0, ""
    ahead = text.replace(OPENED, "").replace(CLOSED, "").split("\n")[::-1]
    while ahead:
        line = ahead.pop()
        mark = FENCE.match(line)
        if fence or mark is not None:
            closes = bool(fence) and mark is not None and mark[1].startswith(fence) and not line.strip(" `~")
            fence = "" if closes else fence or (mark[1] if mark is not None else "")
            lines.append(line)
        elif open_ones < MOST_NESTED and (opened := DETAILS.match(line)) is not None:
            title = _take_summary(ahead, opened["rest"])
            lines += ["", f"{OPENED}{len(summaries)}", ""]
            summaries.append((title, opened["open"] is not None))
            open_ones += 1
        elif open_ones and (ended := DETAILS_END.match(line)) is not None:
            if ended["before"].strip():
                ahead += [f"</details>{ended['rest']}", ended["before"]]
                continue
            lines += ["", CLOSED, ""]
            open_ones -= 1
            ahead += [ended["rest"]] if ended["rest"].strip() else []
        else:
            lines.append(line)
    return "\n".join([*lines, *["", CLOSED] * open_ones]), summaries


def _take_summary(ahead: list[str], rest: str) -> str:
    """The summary of a ``<details>``; what follows it stays in ``ahead``, whose next line is its last."""
    while not rest.strip() and ahead and (not ahead[-1].strip() or SUMMARY.match(ahead[-1])):
        rest = ahead.pop()
    begun = SUMMARY.match(rest)
    if begun is None:
        ahead += [rest] if rest.strip() else []
        return NO_SUMMARY
    words, line = [], begun["title"]
    for _ in range(SUMMARY_LINES):
        title, *after = SUMMARY_END.split(line, maxsplit=1)
        words.append(title.strip())
        if after:
            ahead += [after[0]] if after[0].strip() else []
            break
        if not ahead:
            break
        line = ahead.pop()
    return " ".join(filter(None, words)) or NO_SUMMARY


def _with_alerts(tokens: Sequence[Token]) -> Sequence[Token]:
    """Let quotes that are alerts say which."""
    found: list[Token] = []
    for number, token in enumerate(tokens):
        found.append(token)
        if token.type == "blockquote_open" and number + 2 < len(tokens):
            kind = take_alert(tokens[number + 1], tokens[number + 2])
            if kind:
                token.attrSet("class", f"alert {kind}")
                found.append(Token("html_block", "", 0, content=f"<p><strong>{kind.capitalize()}</strong></p>\n"))
    return found


def _key(_: RendererHTML, tokens: Sequence[Token], at: int, *__: Mapping[str, object]) -> str:
    return f"<kbd>{escape(tokens[at].content)}</kbd>"


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
    except Exception:  # an error in a layout must not end the export: the source is shown
        LOG.exception("a diagram could not be drawn")
        return None
    code = f"<details><summary>mermaid</summary><pre><code>{escape(source)}</code></pre></details>"
    return f'<pre class="diagram">{escape(drawing.text)}</pre>\n{code}\n'


def _block(_: RendererHTML, tokens: Sequence[Token], at: int, *__: Mapping[str, object]) -> str:
    source = tokens[at].content
    return f"{_mathml(source, is_display=True) or f'<pre>{escape(source)}</pre>'}\n"
