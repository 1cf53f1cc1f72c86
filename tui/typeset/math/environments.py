"""Environments: matrices, cases, arrays, and the lines of displays."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tui.typeset.math.nodes import CannotSetError, Grid, Node, Row, Space, Symbol
from tui.typeset.math.vocabulary import LINES, MATRICES

if TYPE_CHECKING:
    from tui.typeset.math.parser import Parser


def begin(parser: Parser, _: str) -> Node:
    """Read an environment."""
    name = parser.raw()
    plain = name.rstrip("*")
    if plain in MATRICES:
        return _matrix(parser, name, plain)
    if plain in LINES:
        if plain.endswith(("at", "edat")):
            parser.raw()
        parser.optional_raw()
        if plain == "IEEEeqnarray":
            parser.raw()
        rows, tags = parser.rows(name)
        if plain.startswith("multline"):
            rows = [row if not number else (_continued_line(row),) for number, row in enumerate(rows)]
        return Grid(tuple(rows), LINES[plain], kind="lines", tags=tuple(tags))
    if plain in ("subequations", "center"):
        rows, _tags = parser.rows(name)
        if len(rows) == 1 and len(rows[0]) == 1:
            return rows[0][0]
    raise CannotSetError(f"{{{name}}} is not known")


def _continued_line(row: tuple[Node, ...]) -> Node:
    """An indented line, whose first sign is an operator."""
    return Row(
        (Space(4), Symbol(""), *(item for cell in row for item in (cell.items if isinstance(cell, Row) else [cell])))
    )


def _matrix(parser: Parser, name: str, plain: str) -> Node:
    left, right = MATRICES[plain]
    align = "c"
    if plain in ("array", "tabular", "subarray"):
        parser.optional_raw()
        align = _columns(parser.raw())
    elif name.endswith("*"):
        align = (parser.optional_raw() or "c").strip()
    elif plain.endswith("cases"):
        align = "ll"
    rows, _ = parser.rows(name)
    kind = "cases" if plain.endswith("cases") else "matrix"
    return Grid(tuple(rows), align, left, right, kind, rules=parser.last_lined)  # type: ignore[arg-type]


def _columns(spec: str) -> str:
    """The alignment of an array's columns."""
    spec = re.sub(r"[@!<>]\s*\{[^{}]*\}|\s+", "", spec)
    spec = re.sub(r"\*\{(\d+)\}\{([^{}]*)\}", lambda found: found[2] * min(int(found[1]), 40), spec)
    spec = re.sub(r"[pmb]\{[^{}]*\}", "l", spec).replace("||", "|").replace(":", "|")
    if not re.fullmatch(r"[lcr|]*[lcr][lcr|]*", spec):
        raise CannotSetError(f"columns {spec}")
    return spec
