"""Formulas as rows of text: fractions are stacked, scripts raised, delimiters as tall as their content."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import NamedTuple

from tui.typeset.drawing import Measure
from tui.typeset.math.boxes import EMPTY, Box, beside, blank_box, delimiter, placed, stacked, text_box
from tui.typeset.math.inline import ROOTS, flat, is_one_factor, lowered, raised, with_mark
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
)
from tui.typeset.math.spacing import Style, blanks, classes
from tui.typeset.math.vocabulary import ACCENTS

BAR = "▁"
"""A line at the foot of the row above; unlike an underscore it has no gaps in any font."""


class Setting(NamedTuple):
    """How a part is set."""

    measure: Measure
    style: Style = Style.DISPLAY

    def text(self, text: str) -> Box:
        return text_box(text, self.measure)


@singledispatch
def box(node: Node, setting: Setting) -> Box:
    """The rows of a formula, or of a part of one."""
    return setting.text(flat(node, setting.style))


@box.register
def _(_: Space, __: Setting) -> Box:
    return EMPTY


@box.register
def _(node: Row, setting: Setting) -> Box:
    return line(node.items, setting)


def line(items: Sequence[Node], setting: Setting) -> Box:
    """Atoms beside each other."""
    gaps = blanks(items, setting.style)
    # Symbols without a dispatch: they are most of the items.
    drawn = [setting.text(item.text) if isinstance(item, Symbol) else box(item, setting) for item in items]
    heights = [each.height for each in drawn]
    for number, item in enumerate(items):
        if is_integral(item) and heights[number] < 3 and _tallest_after(items, heights, number) > 1:
            drawn[number] = _integral(item, setting, tall=True)
    found: list[Box] = []
    for gap, each in zip(gaps, drawn, strict=True):
        if gap:
            found.append(blank_box(gap))
        found.append(each)
    return beside(found)


def _tallest_after(items: Sequence[Node], heights: Sequence[int], at: int) -> int:
    """The height of the tallest part that an operator applies to."""
    tallest = 1
    for number, side in enumerate(classes(items)):
        if number > at:
            if side.left == "rel":
                break
            tallest = max(tallest, heights[number] if isinstance(items[number], Fraction | Fence | Grid) else 1)
    return tallest


@box.register
def _(node: Fraction, setting: Setting) -> Box:
    inner = setting._replace(style=Style.TEXT)
    above, below = box(node.above, inner), box(node.below, inner)
    width = max(above.width, below.width)
    if node.bar:
        width = max(1, width + 2 * any(_has_bar(part) for part in (node.above, node.below)))
        return stacked([above, Box(("─" * width,), width), below], above.height)
    found = stacked([above, Box((" " * width,), width), below], above.height)
    return fenced(node.left, [found], (), node.right)


def _has_bar(node: Node) -> bool:
    """Whether the bar of a fraction in a fraction could be taken for its own."""
    items = node.items if isinstance(node, Row) else (node,)
    return any(isinstance(item, Fraction) and item.bar for item in items)


@box.register
def _(node: Root, setting: Setting) -> Box:
    body = box(node.body, setting)
    index = flat(node.degree, Style.SCRIPT) if node.degree is not None else ""
    if body.height == 1:
        sign = "√" if not index else ROOTS.get(index) or (raised(index) and raised(index) + "√")
        if sign:
            return _simple_root(sign, body, setting)
    return _tall_root(body, index, setting)


def _simple_root(sign: str, body: Box, setting: Setting) -> Box:
    head = setting.text(sign)
    if is_one_factor(body.rows[0]):
        return beside([head, body])
    return stacked([Box((BAR * body.width,), body.width), beside([head, body])], 1, "r")


def _tall_root(body: Box, index: str, setting: Setting) -> Box:
    stem = ("┌", *["│"] * body.height)
    rows = [stem[0] + "─" * (body.width + 1)]
    rows += [mark + row + " " for mark, row in zip(stem[1:], body.rows, strict=True)]
    right = Box(tuple(rows), body.width + 2, body.base + 1)
    label = " " + index if index else ""
    width = max(1, setting.measure(label))
    left = [" " * width] * (body.height + 1)
    left[-1] = " " * (width - 1) + "√"
    if label:
        left[-2] = label
    return beside([Box(tuple(left), width, body.base + 1), right])


@box.register
def _(node: Script, setting: Setting) -> Box:
    base = node.base
    if _has_limits(node, setting):
        return _with_limits(box(base, setting), node, setting)
    if isinstance(base, Brace):
        return _labelled(base, node, setting)
    if is_integral(node):
        return _integral(node, setting, tall=False)
    body = box(base, setting)
    is_bare_root = isinstance(base, Root) and body.height == 1 and node.above is not None
    if is_bare_root or (isinstance(base, Row | Fraction | Script) and body.width > 1):
        body = fenced("(", [body], (), ")")
    is_tall = body.base > 0 and body.depth > 0 and (not isinstance(base, Fence) or _is_tall(base))
    return beside_scripts(body, node, setting, is_tall=is_tall)


def _has_limits(node: Script, setting: Setting) -> bool:
    if node.limits is not None:
        return node.limits
    base = node.base
    usual = isinstance(base, Symbol) and base.limits
    return usual and (setting.style is Style.DISPLAY or (isinstance(base, Symbol) and base.kind == "fn"))


def small(node: Node, setting: Setting) -> Box:
    """A script or a limit, in one line if that is possible."""
    if not isinstance(node, Grid):
        return setting.text(flat(node, Style.SCRIPT))
    return box(node, setting._replace(style=Style.SCRIPT))


def _with_limits(body: Box, node: Script, setting: Setting) -> Box:
    above = [small(node.above, setting)] if node.above is not None else []
    below = [small(node.below, setting)] if node.below is not None else []
    return stacked([*above, body, *below], sum(each.height for each in above) + body.base)


def beside_scripts(body: Box, node: Script, setting: Setting, *, is_tall: bool = False) -> Box:
    """Scripts at the right: characters of their own in the row of the base, or rows above and below it.

    Those of a tall base are at its corners.
    """
    low = small(node.below, setting) if node.below is not None else EMPTY
    high = small(node.above, setting) if node.above is not None else EMPTY
    low_text = lowered(low.rows[0]) if low.height == 1 else ""
    high_text = raised(high.rows[0]) if high.height == 1 else ""
    if not is_tall:
        parts = [high] if high.width and not high_text else []
        middle = setting.text(low_text + high_text)
        rows = [*parts, middle, *([low] if low.width and not low_text else [])]
        side = stacked(rows, sum(part.height for part in parts), "l")
        return beside([body, side])
    tall_high = setting.text(high_text) if high_text else high
    tall_low = setting.text(low_text) if low_text else low
    gap = max(0, body.height - 2)
    width = max(tall_high.width, tall_low.width)
    between = [Box((" " * width,) * gap, width)] if gap else []
    side = stacked([tall_high, *between, tall_low], 0, "l")
    return beside([body, side._replace(base=body.base + tall_high.height - 1)])


def is_integral(node: Node) -> bool:
    base = node.base if isinstance(node, Script) else node
    return isinstance(base, Symbol) and base.kind == "op" and not base.limits and "∫" <= base.text <= "∳"


def _integral(node: Node, setting: Setting, *, tall: bool) -> Box:
    """An integral sign of one row, or of three where its limits or what follows are tall."""
    script = node if isinstance(node, Script) else Script(node)
    sign = script.base.text if isinstance(script.base, Symbol) else ""
    low = small(script.below, setting) if script.below is not None else EMPTY
    high = small(script.above, setting) if script.above is not None else EMPTY
    fits = not high.width or (raised(high.rows[0]) and (lowered(low.rows[0]) or not low.width))
    if fits and not tall:
        return beside_scripts(setting.text(sign), script, setting)
    count = {"∫": 1, "∬": 2, "∭": 3}.get(sign)
    if count is None:
        return beside_scripts(setting.text(sign), script, setting)
    stem = Box(tuple(mark * count for mark in "⌠⎮⌡"), count, 1)
    if low.height > 1 or high.height > 1:
        raise CannotSetError("limits of an integral")
    side = stacked([high, Box(("",), 0), low], 1, "l")
    return beside([stem, side])


@box.register
def _(node: Accent, setting: Setting) -> Box:
    body = box(node.body, setting)
    mark, sign = ACCENTS[node.name]
    if body.height == 1 and body.width == 1:
        return Box((with_mark(body.rows[0], mark),), body.width)
    if node.name in ("underline", "underbar"):
        return stacked([body, Box((sign * body.width,), body.width)], body.base)
    return stacked([_long_mark(node.name, sign, body.width), body], body.base + 1)


def _long_mark(name: str, sign: str, width: int) -> Box:
    if name in ("overline", "bar"):
        return Box((BAR * width,), width)
    if name == "overleftarrow":
        return Box((sign + "─" * (width - 1),), width)
    if name in ("overrightarrow", "vec"):
        return Box(("─" * (width - 1) + sign,), width)
    if name == "overleftrightarrow":
        return Box(("←" + "─" * (width - 2) + "→",), width)
    return placed(Box((sign,), 1), width, "c")


@box.register
def _(node: Brace, setting: Setting) -> Box:
    return _labelled(node, Script(node), setting)


def _labelled(node: Brace, labels: Script, setting: Setting) -> Box:
    body = box(node.body, setting)
    width = max(3, body.width)
    body = placed(body, width, "c")
    left = (width - 3) // 2
    if node.over:
        brace = Box(("╭" + "─" * left + "┴" + "─" * (width - 3 - left) + "╮",), width)
        rows = [*([small(labels.above, setting)] if labels.above is not None else []), brace, body]
        below = [small(labels.below, setting)] if labels.below is not None else []
        found = [*rows, *below]
        base = sum(each.height for each in rows) - body.height + body.base
    else:
        brace = Box(("╰" + "─" * left + "┬" + "─" * (width - 3 - left) + "╯",), width)
        above = [small(labels.above, setting)] if labels.above is not None else []
        below = [small(labels.below, setting)] if labels.below is not None else []
        found = [*above, body, brace, *below]
        base = sum(each.height for each in above) + body.base
    return stacked(found, base)


@box.register
def _(node: Stack, setting: Setting) -> Box:
    body = box(node.base, setting)
    above = [small(node.above, setting)] if node.above is not None else []
    below = [small(node.below, setting)] if node.below is not None else []
    return stacked([*above, body, *below], sum(each.height for each in above) + body.base)


@box.register
def _(node: Arrow, setting: Setting) -> Box:
    above = small(node.above, setting) if node.above is not None else EMPTY
    below = small(node.below, setting) if node.below is not None else EMPTY
    ends = len(node.left) + len(node.right)
    shaft = max(above.width, below.width, 1) + 2 - ends
    arrow = setting.text(node.left + node.shaft * max(1, shaft) + node.right)
    rows = [*([above] if above.width else []), arrow, *([below] if below.width else [])]
    return stacked(rows, above.height if above.width else 0)


@box.register
def _(node: Fence, setting: Setting) -> Box:
    parts = [box(part, setting) for part in node.parts]
    whole = beside(parts)
    if whole.height == 1 or not _is_tall(node):
        text = [part for pair in zip(parts, map(setting.text, (*node.middles, "")), strict=True) for part in pair]
        return beside([setting.text(node.left), *text, setting.text(node.right)])
    return fenced(node.left, parts, node.middles, node.right)


def _is_tall(node: Node) -> bool:
    """Whether delimiters grow with this."""
    match node:
        case Row(parts) | Fence(_, parts):
            return any(map(_is_tall, parts))
        case Script(Symbol(_, "op", True)):
            return True
        case Script(base) | Root(base) | Accent(_, base) | Classed(base) | Struck(base):
            return _is_tall(base)
        case _:
            return isinstance(node, Fraction | Grid | Brace)


def fenced(left: str, parts: Sequence[Box], middles: Sequence[str], right: str) -> Box:
    """Parts between delimiters."""
    whole = beside(parts)
    height, base = whole.height, whole.base
    found = [delimiter(left, height, base)]
    for number, part in enumerate(parts):
        if number:
            found.append(delimiter(middles[number - 1], height, base))
        found.append(part)
    return beside([*found, delimiter(right, height, base)])


@box.register
def _(node: Framed, setting: Setting) -> Box:
    body = box(node.body, setting)
    edge = "─" * (body.width + 2)
    rows = (f"┌{edge}┐", *(f"│ {row} │" for row in body.rows), f"└{edge}┘")
    return Box(rows, body.width + 4, body.base + 1)


@box.register
def _(node: Struck, setting: Setting) -> Box:
    body = box(node.body, setting)
    return body._replace(rows=tuple(with_mark(row, "\u0336") for row in body.rows))


@box.register
def _(node: Phantom, setting: Setting) -> Box:
    body = box(node.body, setting)
    return body._replace(rows=(" " * body.width,) * body.height)


@box.register
def _(node: Classed, setting: Setting) -> Box:
    return box(node.body, setting)
