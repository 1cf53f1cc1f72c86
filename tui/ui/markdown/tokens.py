"""Parses one chunk of markdown into a small tree, with markdown-it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cache
from typing import TYPE_CHECKING, Literal

from tui.domain.fast_dataclass import dataclass
from tui.domain.printable import printable
from tui.typeset.marks import REFERENCE, add_keys, take_alert
from tui.typeset.math.in_markdown import GROWING, IN_WORD, MATH_FENCE, MAY_CHANGE, add_formulas, hide_bars, show_bars
from tui.ui.markdown.footnotes import raised
from tui.ui.markdown.runs import Line, Look, Run
from tui.ui.markdown.set_formulas import formula_runs

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

NOTES = "footnotes"
"""Key of the parser's environment: the numbers of footnotes by label."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph or heading."""

    runs: Line
    level: int = 0
    """1 to 6 for headings."""


@dataclass(frozen=True, slots=True)
class Code:
    """Verbatim text with an optional language."""

    text: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Formula:
    """A display formula as written, with its delimiters."""

    source: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A horizontal rule."""


@dataclass(frozen=True, slots=True)
class Quote:
    """Quoted blocks, drawn with a bar."""

    blocks: tuple[Node, ...]
    alert: str = ""
    """``note``, ``tip``, ``important``, ``warning`` or ``caution``; "" for a plain quote."""


@dataclass(frozen=True, slots=True)
class ItemList:
    """A list; ``start`` is None for bullets."""

    items: tuple[tuple[Node, ...], ...]
    start: int | None = None
    loose: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells; the first row is the head."""

    rows: tuple[tuple[Line, ...], ...]
    align: tuple[Literal["left", "center", "right"], ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Definitions:
    """Terms, each with its definitions."""

    entries: tuple[tuple[Line, tuple[tuple[Node, ...], ...]], ...]


Node = Paragraph | Code | Formula | Rule | Quote | ItemList | Table | Definitions


@cache
def _parser() -> MarkdownIt:
    # Imported late: the first screen shows no markdown, and this import takes a tenth of the start-up time.
    from markdown_it import MarkdownIt
    from mdit_py_plugins.deflist import deflist_plugin

    parser = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])
    add_formulas(parser)
    add_keys(parser)
    parser.inline.ruler.before("link", "footnote", _footnote)
    parser.use(deflist_plugin)
    return parser


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


def parse(
    source: str,
    links: dict[str, object] | None = None,
    *,
    notes: Mapping[str, int] | None = None,
    growing: bool = False,
) -> tuple[Node, ...]:
    """The blocks of a chunk. ``links`` carries reference definitions from chunk to chunk, ``notes`` numbers footnotes.

    ``growing`` means that more may follow: a formula at the end need not be closed yet.
    """
    environment: dict[str, object] = {} if links is None else {"references": links}
    if notes:
        environment[NOTES] = notes
    shown = hide_bars(source, growing=growing)
    if growing:
        environment[GROWING] = shown.rstrip()
        environment[IN_WORD] = not shown[-1:].isspace()
    tokens = _parser().parse(shown, environment)
    if shown is not source:
        show_bars(tokens)
    return tuple(_blocks(_Cursor(tokens), until=""))


class _Cursor:
    """Iterates over tokens."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._at = 0

    def next(self) -> Token | None:
        if self._at >= len(self._tokens):
            return None
        self._at += 1
        return self._tokens[self._at - 1]

    def peek(self, ahead: int) -> Token | None:
        """A token that ``next`` will return later."""
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else None


def _blocks(cursor: _Cursor, until: str) -> Iterator[Node]:
    while (token := cursor.next()) is not None and token.type != until:
        node = _leaf(token) or _container(cursor, token)
        if node is not None:
            yield node


def _leaf(token: Token) -> Node | None:
    match token.type:
        case "fence":
            text, info = token.content.removesuffix("\n"), token.info.strip()
            return Formula(f"$$\n{text}\n$$") if info == MATH_FENCE else Code(text, info)
        case "code_block":
            return Code(token.content.removesuffix("\n"))
        case "math_block":
            return Formula(token.content)
        case "hr":
            return Rule()
        case _:
            return None


def _container(cursor: _Cursor, token: Token) -> Node | None:
    if token.type in ("paragraph_open", "heading_open"):
        level = int(token.tag[1]) if token.tag.startswith("h") else 0
        return Paragraph(_inline(cursor, token.type.replace("open", "close")), level)
    read = CONTAINERS.get(token.type)
    if read is not None:
        return read(cursor, token)
    return Paragraph([Run(token.content)]) if token.content else None


def _quote(cursor: _Cursor, _: Token) -> Quote:
    alert = take_alert(cursor.peek(0), cursor.peek(1))
    return Quote(tuple(_blocks(cursor, "blockquote_close")), alert)


def _definitions(cursor: _Cursor, _: Token) -> Definitions:
    entries: list[tuple[Line, tuple[tuple[Node, ...], ...]]] = []
    while (token := cursor.next()) is not None and token.type != "dl_close":
        if token.type == "dt_open":
            entries.append((_inline(cursor, "dt_close"), ()))
        elif token.type == "dd_open" and entries:
            term, meanings = entries[-1]
            entries[-1] = (term, (*meanings, tuple(_blocks(cursor, "dd_close"))))
    return Definitions(tuple(entries))


def _list(cursor: _Cursor, opened: Token) -> ItemList:
    start: int | None = None
    if opened.type == "ordered_list_open":
        written = opened.attrGet("start")
        start = int(written) if written is not None else 1
    until = opened.type.replace("open", "close")
    items: list[tuple[Node, ...]] = []
    loose = False
    while (token := cursor.next()) is not None and token.type != until:
        if token.type == "list_item_open":
            blocks = tuple(_blocks(cursor, "list_item_close"))
            loose = loose or sum(isinstance(block, Paragraph) for block in blocks) > 1
            items.append(blocks)
    return ItemList(tuple(items), start, loose)


def _table(cursor: _Cursor, _: Token) -> Table:
    rows: list[tuple[Line, ...]] = []
    align: list[Literal["left", "center", "right"]] = []
    cells: list[Line] = []
    while (token := cursor.next()) is not None and token.type != "table_close":
        match token.type:
            case "tr_open":
                cells = []
            case "th_open" | "td_open":
                if not rows:
                    style = str(token.attrGet("style") or "")
                    align.append("right" if "right" in style else "center" if "center" in style else "left")
                cells.append(_inline(cursor, token.type.replace("open", "close")))
            case "tr_close":
                rows.append(tuple(cells))
            case _:
                pass
    return Table(tuple(rows), tuple(align))


CONTAINERS: dict[str, Callable[[_Cursor, Token], Node]] = {
    "blockquote_open": _quote,
    "bullet_list_open": _list,
    "ordered_list_open": _list,
    "table_open": _table,
    "dl_open": _definitions,
}


def _inline(cursor: _Cursor, until: str) -> Line:
    runs: Line = []
    while (token := cursor.next()) is not None and token.type != until:
        if token.children:
            runs.extend(_runs(token.children))
    return runs


LOOKS = {
    "strong_open": Look.BOLD,
    "em_open": Look.ITALIC,
    "s_open": Look.STRIKE,
    "strong_close": Look.BOLD,
    "em_close": Look.ITALIC,
    "s_close": Look.STRIKE,
}


def _runs(tokens: Sequence[Token]) -> Iterator[Run]:
    look = Look.PLAIN
    href = ""
    for token in tokens:
        name = token.type
        if name == "link_open":
            href = str(token.attrGet("href") or "")
        elif name == "link_close":
            href = ""
        elif name in LOOKS:
            look ^= LOOKS[name]
        elif name == "math_inline":
            yield from formula_runs(token.content, look, href, is_open=token.info == MAY_CHANGE)
        else:
            run = _run(token, look, href)
            if run.text:
                yield run


def _run(token: Token, look: Look, href: str) -> Run:
    text, role = token.content, "text"
    match token.type:
        case "text":
            # The source is clean, but ``&#13;`` and ``&#x202e;`` become characters when it is parsed.
            text, role = printable(text, keep_newlines=False), "link" if href else "text"
        case "code_inline":
            text, role = text.replace("\n", " "), "inline-code"
        case "kbd":
            role, look = "kbd", look | Look.BOLD
        case "footnote":
            role = "footnote"
        case "softbreak":
            text = " "
        case "hardbreak":
            text = "\n"
        case "image":
            text, role, href = f"[image: {token.content}]", "muted", str(token.attrGet("src") or "")
        case _:
            pass
    return Run(text, role, look, href)
