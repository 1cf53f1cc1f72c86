"""The commands that take arguments, and the environments."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from tui.typeset.math import quantities
from tui.typeset.math.chemistry import chemistry
from tui.typeset.math.environments import begin
from tui.typeset.math.nodes import (
    Accent,
    Arrow,
    Brace,
    CannotSetError,
    Classed,
    Fence,
    Fraction,
    Framed,
    Grid,
    Kind,
    Node,
    Phantom,
    Root,
    Row,
    Script,
    Space,
    Stack,
    Struck,
    Symbol,
    Words,
)
from tui.typeset.math.vocabulary import (
    ACCENTS,
    ARROWS,
    CHARACTERS,
    DELIMITERS,
    FONTS,
    IGNORED,
    IGNORED_WITH_ARGUMENT,
    SIZES,
    SPACES,
    SWITCHES,
    SYMBOLS,
)

if TYPE_CHECKING:
    from tui.typeset.math.parser import Parser

Handler = Callable[["Parser", str], Node | None]

TEXT_ESCAPES = {"\\%": "%", "\\$": "$", "\\&": "&", "\\#": "#", "\\_": "_", "\\{": "{", "\\}": "}", "~": " "}
TEXT_ESCAPES |= {
    "\\ ": " ",
    "\\,": " ",
    "\\;": " ",
    "\\quad": "  ",
    "\\qquad": "    ",
    "``": "“",
    "''": "”",
    "---": "—",
}
TEXT_ESCAPES |= {"--": "–", "\\textbackslash": "\\", "\\ldots": "…", "\\dots": "…", "{}": "", "\\\\": " "}
ESCAPE = re.compile(r"\\[A-Za-z]+ ?|\\.|~|``|''|---?|\{\}")
STYLED = re.compile(r"\\(?:text(?:bf|it|rm|tt|sf|sc|normal|up|md)?|emph|mbox|mathrm|mathbf)\s*\{([^{}]*)\}")
CLASSES: dict[str, Kind] = {
    "mathord": "ord",
    "mathop": "op",
    "mathbin": "bin",
    "mathrel": "rel",
    "mathopen": "open",
    "mathclose": "close",
    "mathpunct": "punct",
    "mathinner": "inner",
}


def infix(token: str, above: Node, below: Node) -> Node:
    """``\\over`` and its like."""
    left, right = {"\\choose": ("(", ")"), "\\brace": ("{", "}"), "\\brack": ("[", "]")}.get(token, ("", ""))
    return Fraction(above, below, token == "\\over", left, right)


def sized(parser: Parser, name: str) -> Node:
    """A delimiter that is enlarged by hand; it grows with its content like any other."""
    text = delimiter(parser)
    side: Kind = {"l": "open", "r": "close", "m": "rel"}.get(SIZES[name], "ord")  # type: ignore[assignment]
    if side == "ord":
        known = CHARACTERS.get(text, Symbol(text))
        side = "close" if text in ("|", "‖") else known.kind if known.kind in ("open", "close") else "ord"
    return Symbol(text, side)


def delimiter(parser: Parser) -> str:
    parser.skip_blanks()
    token = parser.next()
    found = DELIMITERS.get(token)
    if found is None:
        raise CannotSetError(f"{token} is no delimiter")
    return found


def _fraction(parser: Parser, _: str) -> Node:
    above = parser.argument()
    return Fraction(above, parser.argument())


def _continued(parser: Parser, name: str) -> Node:
    parser.optional_raw()
    return _fraction(parser, name)


def _binomial(parser: Parser, _: str) -> Node:
    above = parser.argument()
    return Fraction(above, parser.argument(), bar=False, left="(", right=")")


def _root(parser: Parser, _: str) -> Node:
    index = parser.optional()
    return Root(parser.argument(), index)


def _accent(parser: Parser, name: str) -> Node:
    return Accent(name, parser.argument())


def _brace(parser: Parser, name: str) -> Node:
    return Brace(parser.argument(), over=name.startswith("over"))


def _left(parser: Parser, _: str) -> Node:
    left = delimiter(parser)
    parts: list[Node] = []
    middles: list[str] = []
    while True:
        parts.append(parser.row())
        token = parser.next()
        if token == "\\middle":
            middles.append(delimiter(parser))
        elif token == "\\right":
            return Fence(left, tuple(parts), tuple(middles), delimiter(parser))
        else:
            raise CannotSetError("\\right is missing")


def _words(parser: Parser, name: str) -> Node:
    """Text, in which dollar signs enclose formulas."""
    pieces = re.split(r"(?<!\\)\$", _in_braces(parser))
    if len(pieces) % 2 == 0:
        raise CannotSetError("a dollar sign is not closed")
    items: list[Node] = []
    for number, piece in enumerate(pieces):
        if number % 2:
            items.append(type(parser)(piece).row())
        elif piece:
            items.append(Words(_plain(piece)))
    return items[0] if len(items) == 1 else Row(tuple(items))


def _in_braces(parser: Parser) -> str:
    parser.skip_blanks()
    return parser.raw()


def _plain(text: str) -> str:
    """Text without its markup."""
    while (simpler := STYLED.sub(r"\1", text)) != text:
        text = simpler
    text = ESCAPE.sub(lambda found: _unescaped(found[0]), re.sub(r"\s+", " ", text))
    if "{" in text or "}" in text:
        text = text.replace("{", "").replace("}", "")
    return text


def _unescaped(found: str) -> str:
    known = TEXT_ESCAPES.get(found, TEXT_ESCAPES.get(found.rstrip()))
    if known is not None:
        return known
    symbol = SYMBOLS.get(found[1:].rstrip())
    if symbol is None:
        raise CannotSetError(f"{found} in text")
    return symbol.text + " " * found.endswith(" ")


def _operator(parser: Parser, _: str) -> Node:
    starred = parser.take("*")
    name = _plain(parser.raw().replace("\\,", " ").replace("\\ ", " ").replace("-", "‑"))
    return Symbol(name.replace("‑", "-").strip(), "fn", limits=starred)


def _font(parser: Parser, name: str) -> Node | None:
    """A font for the argument, or for the rest of the group."""
    outer = parser.font
    parser.font = FONTS[name]
    if name in SWITCHES and not _opens(parser):
        return None
    try:
        found = parser.argument()
    finally:
        parser.font = outer
    if FONTS[name] == "plain" and (word := _word(found)):
        return Words(word)
    return found


def _opens(parser: Parser) -> bool:
    parser.skip_blanks()
    return parser.peek() == "{"


def _word(node: Node) -> str:
    """The letters of an upright name of several letters."""
    items = node.items if isinstance(node, Row) else ()
    letters = [item.text for item in items if isinstance(item, Symbol) and item.kind == "ord"]
    text = "".join(letters)
    return text if len(letters) == len(items) > 1 and text.isalpha() else ""


def _space(_: Parser, name: str) -> Node:
    return Space(SPACES[name])


def _nothing(_: Parser, __: str) -> None:
    return None


def _argument_ignored(parser: Parser, name: str) -> Node | None:
    parser.take("*")
    if name in ("kern", "mkern", "mskip"):
        while parser.peek() and re.fullmatch(r"[-\d.\s]|[a-z]", parser.peek()):
            token = parser.next()
            if token.isalpha() and not re.fullmatch(r"[a-z]", parser.peek()):
                break
            if token.isalpha():
                parser.next()
                break
        return None
    parser.optional_raw()
    parser.raw()
    return Space(1) if name == "hspace" else None


def _coloured(parser: Parser, _: str) -> Node:
    parser.optional_raw()
    parser.raw()
    return parser.argument()


def _linked(parser: Parser, _: str) -> Node:
    parser.raw()
    return parser.argument()


def _tag(parser: Parser, _: str) -> None:
    starred = parser.take("*")
    text = _plain(parser.raw())
    parser.tag = text if starred else f"({text})"


def _reference(parser: Parser, _: str) -> Node:
    return Words(f"({parser.raw()})")


def _over_symbol(parser: Parser, name: str) -> Node:
    small = parser.argument()
    base = parser.argument()
    if isinstance(base, Stack):
        return base._replace(below=small) if name == "underset" else base._replace(above=small)
    return Stack(base, below=small) if name == "underset" else Stack(base, above=small)


def _arrow(parser: Parser, name: str) -> Node:
    below = parser.optional()
    left, shaft, right = ARROWS[name]
    return Arrow(left, shaft, right, parser.argument(), below)


def _not(parser: Parser, _: str) -> Node:
    parser.skip_blanks()
    found = parser.argument()
    if not isinstance(found, Symbol) or len(found.text) != 1:
        raise CannotSetError("\\not before something long")
    from unicodedata import normalize

    return found._replace(text=normalize("NFC", found.text + "\u0338"))


def _framed(parser: Parser, _: str) -> Node:
    return Framed(parser.argument())


def _framed_words(parser: Parser, name: str) -> Node:
    return Framed(_words(parser, name))


def _struck(parser: Parser, _: str) -> Node:
    return Struck(parser.argument())


def _struck_to(parser: Parser, _: str) -> Node:
    value = parser.argument()
    return Script(Struck(parser.argument()), above=value)


def _phantom(parser: Parser, _: str) -> Node:
    return Phantom(parser.argument())


def _same(parser: Parser, _: str) -> Node:
    parser.optional_raw()
    return parser.argument()


def _classed(parser: Parser, name: str) -> Node:
    body = parser.argument()
    if isinstance(body, Words):
        body = Symbol(body.text)
    if isinstance(body, Symbol):
        wordy = name == "mathop" and body.text.isalpha() and len(body.text) > 1
        return Symbol(body.text, "fn" if wordy else CLASSES[name], limits=name == "mathop")
    return Classed(body, CLASSES[name])


def _substack(parser: Parser, _: str) -> Node:
    if not parser.take("{"):
        raise CannotSetError("\\substack without a group")
    rows: list[tuple[Node, ...]] = []
    while True:
        rows.append((parser.row("}"),))
        token = parser.next()
        if token == "}":
            return Grid(tuple(rows), "c", kind="matrix")
        if token != "\\\\":
            raise CannotSetError(f"{token} in \\substack")


def _chemistry(parser: Parser, _: str) -> Node:
    return type(parser)(chemistry(parser.raw())).row()


def _quantity(parser: Parser, name: str) -> Node:
    parser.optional_raw()
    if not _opens(parser):
        raise CannotSetError(f"\\{name} without a group")
    value = quantities.unit(parser.raw()) if name in ("si", "unit") else quantities.number(parser.raw())
    after = {"SI": r"\,", "qty": r"\,", "ang": r"^\circ"}.get(name, "")
    if after == r"\,":
        after += quantities.unit(parser.raw())
    return type(parser)(value + after).row()


def _name(_: Parser, name: str) -> Node:
    return Words(name)


def _modulo(parser: Parser, name: str) -> Node:
    if name == "bmod":
        return Symbol("mod", "bin")
    if name == "mod":
        return Row((Space(2), Words("mod "), parser.argument()))
    body = parser.argument()
    words = [Words("mod ")] if name == "pmod" else []
    return Row((Space(2), Fence("(", (Row((*words, body)),), (), ")")))


def _enclosed(left: str, right: str, middle: str = "") -> Handler:
    """A notation of physics: its arguments between delimiters."""

    def read(parser: Parser, _: str) -> Node:
        parser.take("*")
        parts = [parser.argument()]
        if middle:
            parts = _divided(parts[0], parser)
        return Fence(left, tuple(parts), (middle,) * (len(parts) - 1), right)

    return read


def _divided(first: Node, parser: Parser) -> list[Node]:
    """The parts of a bracket: at bars, or a second argument."""
    if parser.peek() == "{":
        return [first, parser.argument()]
    items = first.items if isinstance(first, Row) else (first,)
    parts: list[list[Node]] = [[]]
    for item in items:
        if item == Symbol("|") or item == SYMBOLS["mid"]:
            parts.append([])
        else:
            parts[-1].append(item)
    return [Row(tuple(part)) for part in parts]


def _derivative(letter: str) -> Handler:
    def read(parser: Parser, _: str) -> Node:
        order = parser.optional()
        first = parser.argument()
        second = parser.argument() if parser.peek() == "{" else None
        sign: Node = Symbol(letter) if order is None else Script(Symbol(letter), above=order)
        variable = second if second is not None else first
        below: Node = variable if order is None else Script(variable, above=order)
        return Fraction(Row((sign, first)) if second is not None else sign, Row((Symbol(letter), below)))

    return read


def _line(parser: Parser, _: str) -> None:
    parser.lined.add(parser.row_number)


COMMANDS: dict[str, Handler] = {
    **dict.fromkeys(("frac", "dfrac", "tfrac", "nicefrac", "sfrac", "flatfrac"), _fraction),
    "cfrac": _continued,
    **dict.fromkeys(("binom", "dbinom", "tbinom"), _binomial),
    "sqrt": _root,
    **dict.fromkeys(ACCENTS, _accent),
    **dict.fromkeys(("underbrace", "overbrace", "underbracket", "overbracket"), _brace),
    "left": _left,
    **dict.fromkeys(("text", "textrm", "textbf", "textit", "texttt", "textsf", "textnormal", "mbox", "hbox"), _words),
    **dict.fromkeys(("textsc", "textup", "emph", "textmd", "intertext", "shortintertext"), _words),
    **dict.fromkeys(("operatorname", "operatornamewithlimits"), _operator),
    **dict.fromkeys(FONTS, _font),
    **dict.fromkeys(SPACES, _space),
    **dict.fromkeys(IGNORED, _nothing),
    **dict.fromkeys(IGNORED_WITH_ARGUMENT, _argument_ignored),
    **dict.fromkeys(("textcolor", "colorbox", "fcolorbox"), _coloured),
    **dict.fromkeys(("href", "htmlClass", "class", "cssId", "style"), _linked),
    "tag": _tag,
    "ce": _chemistry,
    **dict.fromkeys(("SI", "qty", "num", "si", "unit", "ang"), _quantity),
    **dict.fromkeys(("LaTeX", "TeX"), _name),
    **dict.fromkeys(("eqref", "ref"), _reference),
    **dict.fromkeys(("overset", "underset", "stackrel"), _over_symbol),
    **dict.fromkeys(ARROWS, _arrow),
    "not": _not,
    **dict.fromkeys(("boxed", "fbox"), _framed),
    "fbox": _framed_words,
    **dict.fromkeys(("cancel", "bcancel", "xcancel", "sout"), _struck),
    "cancelto": _struck_to,
    **dict.fromkeys(("phantom", "hphantom"), _phantom),
    **dict.fromkeys(("smash", "ensuremath", "bbox", "mathclap", "mathllap", "mathrlap"), _same),
    **dict.fromkeys(CLASSES, _classed),
    "substack": _substack,
    **dict.fromkeys(("pmod", "bmod", "mod", "pod"), _modulo),
    "abs": _enclosed("|", "|"),
    "norm": _enclosed("‖", "‖"),
    "ceil": _enclosed("⌈", "⌉"),
    "floor": _enclosed("⌊", "⌋"),
    "set": _enclosed("{", "}"),
    "ket": _enclosed("|", "⟩"),
    "bra": _enclosed("⟨", "|"),
    "braket": _enclosed("⟨", "⟩", "|"),
    "Ket": _enclosed("|", "⟩"),
    "Bra": _enclosed("⟨", "|"),
    "Braket": _enclosed("⟨", "⟩", "|"),
    "expval": _enclosed("⟨", "⟩"),
    "dv": _derivative("d"),
    "pdv": _derivative("∂"),
    "begin": begin,
    **dict.fromkeys(("hline", "toprule", "midrule", "bottomrule", "hdashline"), _line),
}
