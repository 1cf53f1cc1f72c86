"""The blanks between the atoms of a formula, after the rules of TeX."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from tui.typeset.math.nodes import (
    Accent,
    Arrow,
    Classed,
    Fence,
    Fraction,
    Grid,
    Node,
    Root,
    Row,
    Script,
    Space,
    Stack,
    Struck,
    Symbol,
    Words,
)

OPERATORS = ("op", "fn")
OPERANDS = ("ord", "inner", "op", "fn")
BEFORE_SIGN = ("bin", "rel", "open", "punct", "op", "fn", "")
"""After these a binary operator is a sign."""
AFTER_SIGN = ("rel", "close", "punct", "")
APART = {("inner", right) for right in ("ord", "open", "inner")} | {("op", "open")}
APART |= {(left, "inner") for left in ("ord", "close", "sign")}
"""Neighbours with a blank between them, besides operators and relations."""


class Style(Enum):
    """How spaciously a part is set."""

    DISPLAY = "display"
    TEXT = "text"
    """Limits stand beside their operator."""
    SCRIPT = "script"
    """No blanks around operators."""


class Sides(NamedTuple):
    """The classes that an atom shows to its neighbours."""

    left: str
    right: str


SIDES: dict[type[Node], Sides] = {
    Fence: Sides("open", "close"),
    Fraction: Sides("inner", "inner"),
    Grid: Sides("inner", "inner"),
    Root: Sides("ord", "inner"),
    Arrow: Sides("rel", "rel"),
}


def sides_of(node: Node) -> Sides:
    match node:
        case Symbol(_, kind) | Classed(_, kind):
            found = Sides(kind, kind)
        case Script(Symbol(_, "fn", True), Symbol() | Row()):
            found = Sides("fn", "op")
        case Script(Words()):
            found = Sides("ord", "ord")
        case Script(base) | Stack(base) | Struck(base) | Accent(_, base):
            found = sides_of(base)
        case _:
            found = SIDES.get(type(node), Sides("ord", "ord"))
    return found


def classes(items: Sequence[Node]) -> list[Sides]:
    """The classes of consecutive atoms; signs are ordinary."""
    found = [sides_of(item) for item in items]
    atoms = [number for number, item in enumerate(items) if not isinstance(item, Space)]
    for place, number in enumerate(atoms):
        if found[number].left != "bin":
            continue
        before = found[atoms[place - 1]].right if place else ""
        after = found[atoms[place + 1]].left if place + 1 < len(atoms) else ""
        if before in BEFORE_SIGN or after in AFTER_SIGN:
            found[number] = Sides("ord", "sign")
    return found


def blanks(items: Sequence[Node], style: Style) -> list[int]:
    """The blanks before each atom. Explicit spaces and those of the rules do not add up."""
    kinds = classes(items)
    found: list[int] = []
    before = -1
    explicit = 0
    for number, item in enumerate(items):
        found.append(0)
        if isinstance(item, Space):
            explicit = max(explicit, item.columns)
            continue
        is_tight = style is Style.SCRIPT and not _is_wordy(items, before, number)
        wanted = _gap(kinds[before].right, kinds[number].left, tight=is_tight)
        if before < 0 or _is_blank(items[before], -1) or _is_blank(item, 0):
            wanted = 0
        found[-1] = max(wanted, explicit) if before >= 0 else explicit
        before, explicit = number, 0
    return found


def _is_wordy(items: Sequence[Node], left: int, right: int) -> bool:
    """Whether one of two neighbours is an operator in letters."""
    pair = (items[left], items[right])
    return left >= 0 and any(isinstance(one, Symbol) and one.kind == "bin" and one.text.isalpha() for one in pair)


def _is_blank(item: Node, at: int) -> bool:
    return isinstance(item, Words) and item.text[at:][:1] == " "


def _gap(left: str, right: str, *, tight: bool) -> int:
    if (left in OPERATORS and right in OPERANDS) or (right in OPERATORS and left in ("ord", "inner", "close")):
        return 1
    if tight:
        return 0
    if "bin" in (left, right) or (left == "punct" and right != "close"):
        return 1
    if "rel" in (left, right):
        return int(left != right and left != "open" and right not in ("close", "punct"))
    return int((left, right) in APART)
