"""Formulas in one line of text, with characters that are raised and lowered where Unicode has them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import singledispatch
from unicodedata import combining, normalize

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
from tui.typeset.math.spacing import Sides, Style, blanks, classes
from tui.typeset.math.vocabulary import ACCENTS, LOWERED, RAISED, VULGAR

ENDS_OPEN = re.compile(r"[_^][^\s()_^]+\Z")
"""A script that only a blank separates from a following letter."""
ROOTS = {"3": "∛", "4": "∜", "2": "√"}
NAMED = {("=", "def"): "≝", ("=", "!"): "≟", ("=", "?"): "≟", ("=", "△"): "≜"}
SUBSCRIPTS = "".join(LOWERED.values())
ENDS_FRACTION = frozenset((")", *VULGAR.values()))
FACTORIAL = Symbol("!", "close")
DIFFERENTIALS = ("d", "∂", "D", "δ", "Δ")


def raised(text: str) -> str:
    """The text in superscript characters; "" if one of them does not exist."""
    return _translated(text, RAISED).replace("′′′", "‴").replace("′′", "″")


def lowered(text: str) -> str:
    """The text in subscript characters; "" if one of them does not exist."""
    return "" if text.startswith(",") or text.endswith(",") else _translated(text, LOWERED)


def _translated(text: str, table: dict[str, str]) -> str:
    return "".join(table[character] for character in text) if all(map(table.__contains__, text)) else ""


def with_mark(text: str, mark: str) -> str:
    """Every character with a combining mark."""
    marked = "".join(character + mark * (not combining(character)) for character in text)
    return normalize("NFC", marked)


@singledispatch
def flat(node: Node, style: Style) -> str:
    """The formula in one line."""
    raise CannotSetError(f"{type(node).__name__} in a line")


@flat.register
def _(node: Symbol, style: Style) -> str:
    return node.text


@flat.register
def _(node: Words, style: Style) -> str:
    return node.text


@flat.register
def _(node: Space, style: Style) -> str:
    return " " * node.columns


@flat.register
def _(node: Row, style: Style) -> str:
    items = node.items
    kinds = classes(items)
    gaps = blanks(items, style, kinds)
    text = ""
    for number, item in enumerate(items):
        if isinstance(item, Space):
            continue
        part, gap = flat(item, style), gaps[number]
        before = items[number - 1] if number else None
        if isinstance(item, Fraction):
            part = _factor(item, part, items, kinds, number)
            if number and (kinds[number - 1].right == "sign" or _follows_closely(text, part, before)):
                gap = 0
        elif isinstance(before, Fraction) and gap == 1 and kinds[number].left in ("ord", "open"):
            gap = int(_is_operator(before) or not before.bar or text[-1] not in ENDS_FRACTION)
        if not gap and text and ENDS_OPEN.search(text) and part[:1].isalnum():
            gap = 1
        text += " " * gap + part
    return text + " " * (items[-1].columns if items and isinstance(items[-1], Space) else 0)


def _follows_closely(text: str, part: str, before: Node | None) -> bool:
    """Whether a fraction follows without a blank: a mixed number, or the argument of a function."""
    is_function = isinstance(before, Symbol) and before.kind == "fn"
    return (text[-1:].isdecimal() and part in VULGAR.values()) or (is_function and part[0] == "(")


def _factor(node: Fraction, text: str, items: Sequence[Node], kinds: Sequence[Sides], at: int) -> str:
    """A fraction in brackets if it would else include what follows, or end the argument before it."""
    if not node.bar or text in VULGAR.values() or _is_operator(node):
        return text
    after = next((place for place in range(at + 1, len(items)) if not isinstance(items[place], Space)), 0)
    is_last = not after or (kinds[after].left in ("bin", "rel", "punct", "close") and items[after] != FACTORIAL)
    is_argument = at > 0 and kinds[at - 1].right == "fn"
    return text if is_last and not is_argument else f"({text})"


def _is_operator(node: Fraction) -> bool:
    """A derivative that is applied to what follows."""
    sign = node.above.base if isinstance(node.above, Script) else node.above
    return isinstance(sign, Symbol) and sign.text in DIFFERENTIALS


@flat.register
def _(node: Fraction, style: Style) -> str:
    if not node.bar:
        if node.left == "(":
            return f"({flat(node.above, style)} choose {flat(node.below, style)})"
        raise CannotSetError("a stack in a line")
    above, below = flat(node.above, style), flat(node.below, style)
    vulgar = VULGAR.get(f"{above}/{below}")
    if vulgar is not None:
        return vulgar
    if not above or not below:
        raise CannotSetError("an empty fraction")
    above = _parenthesised(above, is_clear=_is_product(node.above))
    return f"{above}/{_parenthesised(below, is_clear=_is_single(node.below))}"


def _parenthesised(text: str, *, is_clear: bool) -> str:
    return text if is_clear else f"({text})"


def _is_product(node: Node) -> bool:
    """Whether the node needs no brackets before a slash."""
    if not isinstance(node, Row):
        return not isinstance(node, Fraction | Grid) and not (isinstance(node, Words) and " " in node.text)
    kinds = classes(node.items)
    for number, (item, side) in enumerate(zip(node.items, kinds, strict=True)):
        is_called = side.left == "fn" and kinds[min(number + 1, len(kinds) - 1)].left == "open"
        if side.left in ("bin", "rel", "punct", "op", "fn") and not is_called:
            return False
        if number and (side.right == "sign" or isinstance(item, Fraction | Words) or item == Symbol("/")):
            return False
    return True


def _is_single(node: Node) -> bool:
    """Whether the node needs no brackets after a slash."""
    if not isinstance(node, Row):
        return _is_product(node)
    items = [item for item in node.items if not isinstance(item, Space)]
    if all(isinstance(item, Symbol) and (item.text.isdecimal() or item.text in ".,") for item in items):
        return True
    first, last = items[0], items[-1]
    if last == first == Symbol("|") or (len(items) == 2 and isinstance(last, Symbol) and last.text == "!"):
        return True
    if len(items) != 2 or not isinstance(first, Symbol) or not _is_product(last):
        return False
    return first.text in DIFFERENTIALS or (first.text.isalpha() and isinstance(last, Fence) and last.left == "(")


@flat.register
def _(node: Root, style: Style) -> str:
    body = flat(node.body, style)
    sign = "√"
    if node.degree is not None:
        index = flat(node.degree, Style.SCRIPT)
        sign = ROOTS.get(index, "")
        if not sign:
            small = raised(index)
            if not small:
                raise CannotSetError("the index of a root")
            sign = small + "√"
    return sign + (body if is_one_factor(body) else f"({body})")


def is_one_factor(text: str) -> bool:
    """Whether it is clear without a bar that a root is of all of this: a number, or a letter with its index."""
    letter = text.rstrip(SUBSCRIPTS)
    return _is_letter_or_number(letter or text)


def _is_letter_or_number(text: str) -> bool:
    letters = [character for character in text if not combining(character)]
    return len(letters) == 1 or text.isdecimal()


@flat.register
def _(node: Script, style: Style) -> str:
    if isinstance(node.base, Brace):
        raise CannotSetError("a brace in a line")
    base = flat(node.base, style)
    if isinstance(node.base, Fraction | Row) or (isinstance(node.base, Root | Script) and node.above is not None):
        base = f"({base})" if not _is_letter_or_number(base) and base else base
    below = _script(node.below, "_")
    above = _script(node.above, "^")
    is_above_first = not base or (below[:1] == "_" and below[-1] != ")" and above[:1] != "^")
    return base + (above + below if is_above_first else below + above)


def _script(node: Node | None, mark: str) -> str:
    text = flat(node, Style.SCRIPT) if node is not None else ""
    if not text:
        return ""
    small = lowered(text) if mark == "_" else raised(text)
    if small:
        return small
    is_word = mark == "_" and text.replace(",", "").isalnum() and text[-1] != ","
    is_clear = is_word or is_one_factor(text) or _is_bracketed(text)
    return mark + (text if is_clear else f"({text})")


def _is_bracketed(text: str) -> bool:
    """Whether the first bracket is closed by the last character."""
    depth = 0
    for at, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if depth == 0:
            return at == len(text) - 1 and at > 0
    return False


@flat.register
def _(node: Accent, style: Style) -> str:
    return with_mark(flat(node.body, Style.SCRIPT), ACCENTS[node.name][0])


@flat.register
def _(node: Brace, style: Style) -> str:
    return flat(node.body, style)


@flat.register
def _(node: Stack, style: Style) -> str:
    base = flat(node.base, style)
    above = flat(node.above, Style.SCRIPT) if node.above is not None else ""
    if node.below is None and (base, above) in NAMED:
        return NAMED[base, above]
    return base + _script(node.below, "_") + _script(node.above, "^")


@flat.register
def _(node: Arrow, style: Style) -> str:
    if node.below is not None:
        raise CannotSetError("two labels of an arrow in a line")
    text = flat(node.above, Style.SCRIPT) if node.above is not None else ""
    before, after = node.shaft * bool(node.right), node.shaft * (bool(node.left) or not node.right)
    return node.left + before + text + after + node.right


@flat.register
def _(node: Fence, style: Style) -> str:
    parts = [
        _cells(part, style) if isinstance(part, Grid) and part.kind == "matrix" else flat(part, style)
        for part in node.parts
    ]
    text = parts[0]
    for middle, part in zip(node.middles, parts[1:], strict=True):
        text = f"{text}{middle}{part}" if style is Style.SCRIPT else f"{text.rstrip()} {middle} {part.lstrip()}"
    return node.left + text + node.right


@flat.register
def _(node: Grid, style: Style) -> str:
    if node.kind == "lines":
        return _lines(node, style)
    left, right = node.left, node.right
    if node.kind == "matrix" and not left and not right and len(node.rows) > 1 and style is not Style.SCRIPT:
        left, right = "[", "]"
    return left + _cells(node, style) + right


def _lines(node: Grid, style: Style) -> str:
    """The lines of a display one after the other; one that begins with a relation continues the one before."""
    rows: list[list[Node]] = []
    for number, cells in enumerate(node.rows):
        items: list[Node] = []
        for column, cell in enumerate(cells):
            if column and column % 2 == 0 and node.align == "rl":
                items.append(Space(2))
            items.extend(cell.items if isinstance(cell, Row) else [cell])
        if number < len(node.tags) and node.tags[number]:
            items += [Space(2), Words(node.tags[number])]
        begins = [side.left for item, side in zip(items, classes(items), strict=True) if not isinstance(item, Space)]
        if rows and begins and (begins[0] == "rel" or _is_sign(items)):
            rows[-1] += items
        elif items:
            rows.append(items)
    return "; ".join(flat(Row(tuple(items)), style).strip().rstrip(",") for items in rows)


def _is_sign(items: Sequence[Node]) -> bool:
    first = next(item for item in items if not isinstance(item, Space))
    return isinstance(first, Symbol) and first.kind == "bin"


def _cells(node: Grid, style: Style) -> str:
    """The cells of a matrix, separated as in a list."""
    rows = [[flat(cell, style).strip() for cell in row] for row in node.rows]
    if node.kind == "cases":
        rows = [[cell.rstrip(",") for cell in row] for row in rows]
    between = ", " if style is Style.SCRIPT else "; "
    return between.join(", ".join(filter(None, row)) for row in rows)


@flat.register
def _(node: Framed, style: Style) -> str:
    return f"[{flat(node.body, style).strip()}]"


@flat.register
def _(node: Struck, style: Style) -> str:
    return with_mark(flat(node.body, style), "\u0336")


@flat.register
def _(node: Phantom, style: Style) -> str:
    return ""


@flat.register
def _(node: Classed, style: Style) -> str:
    return flat(node.body, style)
