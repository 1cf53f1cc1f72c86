"""Sets formulas: the entry of this package."""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from html import escape
from itertools import accumulate

from tui.typeset.drawing import Drawing, Measure, Span
from tui.typeset.math import grids
from tui.typeset.math.boxes import Box, beside, blank_box, stacked
from tui.typeset.math.inline import flat
from tui.typeset.math.layout import Setting, box, line
from tui.typeset.math.nodes import CannotSetError, Grid, Node, Row, Space, Symbol
from tui.typeset.math.parser import read
from tui.typeset.math.spacing import Sides, Style, blanks, classes

LOG = logging.getLogger(__name__)
ROLE = "formula"
CONTINUED = 3
"""Columns before the lines that continue a formula."""


@lru_cache(maxsize=128)
def set_display(source: str, measure: Measure, width: int) -> Drawing | None:
    """A display formula as rows, at most this wide if it can be broken; None if it cannot be set."""
    try:
        return _drawing(_fitted(read(source), Setting(measure), width), measure)
    except CannotSetError:
        return None
    except Exception:  # an error here must not hide a formula: its source is shown
        LOG.exception("a formula could not be set")
        return None


@lru_cache(maxsize=1024)
def set_line(source: str) -> str | None:
    """A formula in one line of text; None if it cannot be set."""
    try:
        # Blanks are single, as in any line of text.
        return " ".join(flat(read(source), Style.TEXT).split()) or None
    except CannotSetError:
        return None
    except Exception:  # an error here must not hide a formula: its source is shown
        LOG.exception("a formula could not be set")
        return None


def set_mathml(source: str, *, is_display: bool) -> str | None:
    """The formula for a page, with its source as an annotation; None if it cannot be set."""
    from tui.typeset.math.mathml import element  # only exports need it

    try:
        drawn = element(read(source))
    except CannotSetError:
        return None
    except Exception:  # an error here must not hide a formula: its source is shown
        LOG.exception("a formula could not be set")
        return None
    display = ' display="block"' if is_display else ""
    annotation = f'<annotation encoding="application/x-tex">{escape(source)}</annotation>'
    return f"<math{display}><semantics>{drawn}{annotation}</semantics></math>"


def _drawing(found: Box, measure: Measure) -> Drawing:
    # Characters that join with their neighbours (emoji, some scripts) make the sum of the widths wrong.
    if any(measure(row) != found.width for row in found.rows):
        raise CannotSetError("characters of unsure width")
    return Drawing(tuple((Span(row, ROLE),) for row in found.rows), found.width, found.base)


def _fitted(node: Node, setting: Setting, width: int) -> Box:
    """The formula, broken at relations and operators if it is too wide."""
    whole = box(node, setting)
    if whole.width <= width:
        return whole
    lines = node.rows if isinstance(node, Grid) and node.kind == "lines" else ((node,),)
    found: list[Box] = []
    for cells in lines:
        items = [item for cell in cells for item in (cell.items if isinstance(cell, Row) else (cell,))]
        found.extend(_broken(items, setting, width))
    broken = stacked(_spaced(found), 0, "l")
    return broken if broken.width <= width else whole


def _spaced(found: Sequence[Box]) -> list[Box]:
    if all(each.height == 1 for each in found):
        return list(found)
    return [part for each in found for part in (blank_box(1), each)][1:]


def _broken(items: Sequence[Node], setting: Setting, width: int) -> list[Box]:
    """Lines of at most this width, cut before relations, else before operators."""
    kinds = classes(items)
    gaps = blanks(items, setting.style, kinds)
    ends = list(accumulate(gap + box(item, setting).width for gap, item in zip(gaps, items, strict=True)))
    places = {at: _break_before(items, kinds, at) for at in range(1, len(items))}
    found: list[Box] = []
    start = 0
    while start < len(items):
        limit = (ends[start - 1] + gaps[start] if start else 0) + width - (CONTINUED + 1 if found else 0)
        end = bisect_right(ends, limit)
        end = len(items) if end == len(items) else _cut(places, start, end)
        # The empty atom makes a sign at the beginning of a line an operator.
        first: tuple[Node, ...] = (Symbol(""),) if found else ()
        part = line((*first, *items[start:end]), setting)
        found.append(beside([blank_box(CONTINUED), part]) if found else part)
        start = end
    return found


def _break_before(items: Sequence[Node], kinds: Sequence[Sides], at: int) -> str:
    """The kind of break before an atom: at a relation, an operator, after a comma, or none."""
    if kinds[at - 1].right == "punct" or isinstance(items[at], Space):
        return "punct"
    return kinds[at].left if kinds[at].left in ("rel", "bin") else ""


def _cut(places: dict[int, str], start: int, end: int) -> int:
    """The best place to cut a line that begins at ``start`` and has room up to ``end``."""
    within = [at for at in range(start + 1, end + 1) if places.get(at)]
    if not within:
        return next((at for at in range(end + 1, len(places) + 1) if places.get(at)), len(places) + 1)
    relations = [at for at in within if places[at] == "rel"]
    return relations[-1] if relations and relations[-1] > start + (within[-1] - start) // 2 else within[-1]


__all__ = ["grids", "set_display", "set_line", "set_mathml"]
