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
    """Limits are set beside their operator."""
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


OF_KIND = {kind: Sides(kind, kind) for kind in ("ord", "op", "fn", "bin", "rel", "open", "close", "punct", "inner")}
SIGN = Sides("ord", "sign")


def sides_of(node: Node) -> Sides:
    if isinstance(node, Symbol):  # most atoms, and far faster than a pattern
        return OF_KIND[node.kind]
    match node:
        case Classed(_, kind):
            found = OF_KIND[kind]
        case Script(Symbol(_, "fn", True), Symbol() | Row()):
            found = Sides("fn", "op")
        case Script(Words()):
            found = OF_KIND["ord"]
        case Script(base) | Stack(base) | Struck(base) | Accent(_, base):
            found = sides_of(base)
        case _:
            found = SIDES.get(type(node), OF_KIND["ord"])
    return found


def classes(items: Sequence[Node]) -> list[Sides]:
    """The classes of consecutive atoms; signs are ordinary."""
    found = [sides_of(item) for item in items]
    if not any(side.left == "bin" for side in found):
        return found
    atoms = [number for number, item in enumerate(items) if not isinstance(item, Space)]
    for place, number in enumerate(atoms):
        if found[number].left != "bin":
            continue
        before = found[atoms[place - 1]].right if place else ""
        after = found[atoms[place + 1]].left if place + 1 < len(atoms) else ""
        if before in BEFORE_SIGN or after in AFTER_SIGN:
            found[number] = SIGN
    return found


def blanks(items: Sequence[Node], style: Style, kinds: Sequence[Sides] | None = None) -> list[int]:
    """The blanks before each atom. Explicit spaces and those of the rules do not add up."""
    kinds = classes(items) if kinds is None else kinds
    gaps = TIGHT if style is Style.SCRIPT else WIDE
    found: list[int] = []
    before: Node | None = None
    side = ""
    explicit = 0
    for item, (left, right) in zip(items, kinds, strict=True):
        if isinstance(item, Space):
            explicit = max(explicit, item.columns)
            found.append(0)
            continue
        wanted = gaps[side, left] if before is not None else 0
        if gaps is TIGHT and before is not None and (_is_wordy(item) or _is_wordy(before)):
            wanted = WIDE[side, left]
        if wanted and (_is_blank(before, -1) or _is_blank(item, 0)):
            wanted = 0
        found.append(max(wanted, explicit))
        before, side, explicit = item, right, 0
    return found


def _is_wordy(item: Node) -> bool:
    """Whether this is an operator in letters."""
    return isinstance(item, Symbol) and item.kind == "bin" and item.text.isalpha()


def _is_blank(item: Node | None, at: int) -> bool:
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


_NAMES = (*OF_KIND, "sign")
WIDE = {(left, right): _gap(left, right, tight=False) for left in _NAMES for right in _NAMES}
TIGHT = {(left, right): _gap(left, right, tight=True) for left in _NAMES for right in _NAMES}
"""The blanks between neighbours, in a line and in a script."""
