"""The tree of a formula."""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["ord", "op", "fn", "bin", "rel", "open", "close", "punct", "inner"]
"""The class of an atom, which decides the blanks around it; ``fn`` is an operator written in letters."""


class Symbol(NamedTuple):
    """One character, or the name of a function."""

    text: str
    kind: Kind = "ord"
    limits: bool = False
    """Scripts of a display are set above and below it."""


class Words(NamedTuple):
    """Text within a formula; its blanks count."""

    text: str


class Space(NamedTuple):
    columns: int


class Row(NamedTuple):
    items: tuple[Node, ...] = ()


class Fraction(NamedTuple):
    above: Node
    below: Node
    bar: bool = True
    left: str = ""
    right: str = ""


class Root(NamedTuple):
    body: Node
    degree: Node | None = None


class Script(NamedTuple):
    base: Node
    below: Node | None = None
    above: Node | None = None
    limits: bool | None = None
    """Set above and below the base: always, never, or as the base is usually set."""


class Accent(NamedTuple):
    name: str
    body: Node


class Brace(NamedTuple):
    """A horizontal brace; its label is a script."""

    body: Node
    over: bool


class Stack(NamedTuple):
    """Something small above or below a symbol, which keeps its class."""

    base: Node
    above: Node | None = None
    below: Node | None = None


class Arrow(NamedTuple):
    """An arrow as long as what is written above and below it."""

    left: str
    shaft: str
    right: str
    above: Node | None = None
    below: Node | None = None


class Fence(NamedTuple):
    """Delimiters as tall as what is stacked between them; scripts do not make them grow."""

    left: str
    parts: tuple[Node, ...]
    middles: tuple[str, ...]
    right: str


class Grid(NamedTuple):
    """Rows of cells."""

    rows: tuple[tuple[Node, ...], ...]
    align: str
    """``l``, ``c`` or ``r`` for each column; ``|`` draws a line; the last repeats ("rl" as a pair)."""
    left: str = ""
    right: str = ""
    kind: Literal["matrix", "cases", "lines"] = "matrix"
    tags: tuple[str, ...] = ()
    rules: frozenset[int] = frozenset()
    """Rows with a line above them."""


class Framed(NamedTuple):
    body: Node


class Struck(NamedTuple):
    body: Node


class Phantom(NamedTuple):
    """As wide and tall as its body, but empty."""

    body: Node


class Classed(NamedTuple):
    """Anything in the role of another class."""

    body: Node
    kind: Kind


Node = (
    Symbol
    | Words
    | Space
    | Row
    | Fraction
    | Root
    | Script
    | Accent
    | Brace
    | Stack
    | Arrow
    | Fence
    | Grid
    | Framed
    | Struck
    | Phantom
    | Classed
)


class CannotSetError(Exception):
    """The formula has something that is not known, is not whole, or is too large: its source is shown instead."""
