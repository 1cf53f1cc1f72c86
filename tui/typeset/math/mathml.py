"""Formulas as MathML, which browsers draw without scripts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import singledispatch
from html import escape
from itertools import zip_longest

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
from tui.typeset.math.spacing import Style, blanks
from tui.typeset.math.vocabulary import ACCENTS

WIDTH_OF_BLANK_EM = 0.28
SIDES = {"l": "left", "c": "center", "r": "right"}
MARKS = {"bar": "¯", "overline": "¯", "underline": "_", "underbar": "_"}
"""Marks of accents that differ from those drawn as text."""


@singledispatch
def element(node: Node) -> str:
    """The element of a formula, or of a part of one."""
    raise CannotSetError(f"{type(node).__name__} in MathML")


@element.register
def _(node: Symbol) -> str:
    text = escape(node.text)
    if not text:
        return "<mrow></mrow>"
    if node.text.isdecimal():
        return f"<mn>{text}</mn>"
    if node.kind == "fn" or (node.kind == "ord" and node.text.isalpha()):
        return f"<mi>{text}</mi>"
    return f"<mo>{text}</mo>"


@element.register
def _(node: Words) -> str:
    return f"<mtext>{escape(node.text).replace(' ', '&#160;')}</mtext>"


@element.register
def _(node: Space) -> str:
    return f'<mspace width="{node.columns * WIDTH_OF_BLANK_EM:.2f}em"/>'


@element.register
def _(node: Row) -> str:
    return f"<mrow>{''.join(_items(node.items))}</mrow>"


def _items(items: Sequence[Node]) -> Iterator[str]:
    gaps = blanks(items, Style.TEXT)
    digits = ""
    for number, item in enumerate(items):
        is_digit = isinstance(item, Symbol) and (item.text.isdecimal() or (item.text in ".," and item.kind == "ord"))
        if isinstance(item, Symbol) and is_digit:
            digits += item.text
            continue
        if digits:
            yield f"<mn>{escape(digits)}</mn>"
            digits = ""
        before = items[number - 1] if number else None
        # Browsers know the spacing of operators, but not of functions.
        if gaps[number] and isinstance(before, Symbol | Script) and _is_function(before):
            yield element(Space(1))
        yield element(item)
    if digits:
        yield f"<mn>{escape(digits)}</mn>"


def _is_function(node: Node) -> bool:
    base = node.base if isinstance(node, Script) else node
    return isinstance(base, Symbol) and base.kind == "fn"


def _delimiter(mark: str) -> str:
    return f'<mo fence="true" stretchy="true">{escape(mark)}</mo>' if mark else ""


@element.register
def _(node: Fraction) -> str:
    line = "" if node.bar else ' linethickness="0"'
    fraction = f"<mfrac{line}>{element(node.above)}{element(node.below)}</mfrac>"
    return f"<mrow>{_delimiter(node.left)}{fraction}{_delimiter(node.right)}</mrow>" if node.left else fraction


@element.register
def _(node: Root) -> str:
    if node.degree is None:
        return f"<msqrt>{element(node.body)}</msqrt>"
    return f"<mroot>{element(node.body)}{element(node.degree)}</mroot>"


@element.register
def _(node: Script) -> str:
    base = node.base
    usual = isinstance(base, Brace) or (isinstance(base, Symbol) and base.limits)
    names = ("munder", "mover") if node.limits or (node.limits is None and usual) else ("msub", "msup")
    return _with_small(element(base), node.below, node.above, names)


def _with_small(base: str, below: Node | None, above: Node | None, names: tuple[str, str]) -> str:
    if below is not None and above is not None:
        name = names[0] + names[1].removeprefix("m")
        return f"<{name}>{base}{element(below)}{element(above)}</{name}>"
    if below is not None:
        return f"<{names[0]}>{base}{element(below)}</{names[0]}>"
    return f"<{names[1]}>{base}{element(above)}</{names[1]}>" if above is not None else base


@element.register
def _(node: Accent) -> str:
    mark = MARKS.get(node.name, ACCENTS[node.name][1])
    if node.name.startswith("under"):
        return f'<munder accentunder="true">{element(node.body)}<mo stretchy="true">{mark}</mo></munder>'
    return f'<mover accent="true">{element(node.body)}<mo>{escape(mark)}</mo></mover>'


@element.register
def _(node: Brace) -> str:
    name, mark = ("mover", "⏞") if node.over else ("munder", "⏟")
    return f'<{name}>{element(node.body)}<mo stretchy="true">{mark}</mo></{name}>'


@element.register
def _(node: Stack) -> str:
    return _with_small(element(node.base), node.below, node.above, ("munder", "mover"))


@element.register
def _(node: Arrow) -> str:
    mark = node.right if not node.left else node.left if not node.right else "↔" if node.right == "→" else "⇔"
    arrow = f'<mo stretchy="true">{mark or node.shaft}</mo>'
    return _with_small(arrow, node.below, node.above, ("munder", "mover"))


@element.register
def _(node: Fence) -> str:
    middles = [_delimiter(middle) for middle in node.middles]
    inner = "".join(part for pair in zip_longest(map(element, node.parts), middles, fillvalue="") for part in pair)
    return f"<mrow>{_delimiter(node.left)}{inner}{_delimiter(node.right)}</mrow>"


@element.register
def _(node: Grid) -> str:
    sides = [side for side in node.align if side != "|"]
    rows: list[str] = []
    for number, cells in enumerate(node.rows):
        drawn = [
            f'<mtd style="text-align:{SIDES[_side(sides, column, node)]}">{element(cell)}</mtd>'
            for column, cell in enumerate(cells)
        ]
        tag = node.tags[number] if number < len(node.tags) else ""
        if tag:
            drawn.append(f'<mtd style="padding-left:2em"><mtext>{escape(tag)}</mtext></mtd>')
        rows.append(f"<mtr>{''.join(drawn)}</mtr>")
    style = ' displaystyle="true"' if node.kind == "lines" else ""
    return f"<mrow>{_delimiter(node.left)}<mtable{style}>{''.join(rows)}</mtable>{_delimiter(node.right)}</mrow>"


def _side(sides: Sequence[str], column: int, node: Grid) -> str:
    return sides[column % len(sides)] if node.kind == "lines" else sides[min(column, len(sides) - 1)]


@element.register
def _(node: Framed) -> str:
    return f'<mrow style="border:1px solid;padding:.2em">{element(node.body)}</mrow>'


@element.register
def _(node: Struck) -> str:
    return f'<menclose notation="updiagonalstrike">{element(node.body)}</menclose>'


@element.register
def _(node: Phantom) -> str:
    return f"<mphantom>{element(node.body)}</mphantom>"


@element.register
def _(node: Classed) -> str:
    return element(node.body)
