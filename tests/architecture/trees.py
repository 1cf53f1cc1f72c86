"""Each source parsed once for all tests of the architecture: parsing and walking the trees is most of their time."""

from __future__ import annotations

import ast
from functools import cache


@cache
def parsed(source: str) -> ast.Module:
    return ast.parse(source)


@cache
def nodes_of(source: str) -> tuple[ast.AST, ...]:
    """As ``ast.walk``."""
    return tuple(ast.walk(parsed(source)))


def forget() -> None:
    """The trees of all files are much memory."""
    nodes_of.cache_clear()
    parsed.cache_clear()
