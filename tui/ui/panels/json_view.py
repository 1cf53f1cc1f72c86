"""A foldable JSON tree: a cursor, space to fold, colours by type of value."""

# A module of its own, because it is loaded only with the inspector.
from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.strip import Strip

from tui.domain.printable import printable
from tui.ui.markdown.runs import Line, Run, wrap
from tui.ui.panels.page import Page
from tui.ui.theme.theme_styles import ThemeStyles

LONGEST = 4_000
"""Most characters of a string that are drawn; saving writes all of it."""
SHORT = 12
"""Lists with more items than this start folded, except for the last few items."""
LAST = 4

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """A line of the tree before wrapping."""

    path: Path
    depth: int
    runs: Line
    folds: bool = False


def first_folds(value: object, path: Path = ()) -> set[Path]:
    """The paths that start folded: all but the last items of long lists."""
    folded: set[Path] = set()
    if isinstance(value, Mapping):
        for key, inner in value.items():
            folded |= first_folds(inner, (*path, str(key)))
    elif isinstance(value, list | tuple):
        if len(value) > SHORT:
            folded |= {(*path, number) for number in range(len(value) - LAST)}
        for number, inner in enumerate(value):
            folded |= first_folds(inner, (*path, number))
    return folded


def nodes(value: object, folded: set[Path]) -> Iterator[Node]:
    """Lines of a value; a folded one is one line with its size. Unfolded, the lines are the exact JSON."""
    yield from _nodes(value, folded, (), [], "")


def _nodes(value: object, folded: set[Path], path: Path, label: Line, tail: str) -> Iterator[Node]:
    depth = len(path)
    if not isinstance(value, Mapping | list | tuple) or not value:
        yield Node(path, depth, [*label, _leaf(value), Run(tail, "code")])
        return
    is_map = isinstance(value, Mapping)
    opening, closing = ("{", "}" + tail) if is_map else ("[", "]" + tail)
    if path in folded:
        size = f" {len(value)} {'fields' if is_map else 'items'} "
        yield Node(path, depth, [*label, Run(opening, "code"), Run(size, "muted"), Run(closing, "code")], folds=True)
        return
    yield Node(path, depth, [*label, Run(opening, "code")], folds=True)
    items = list(value.items() if isinstance(value, Mapping) else enumerate(value))
    for number, (key, inner) in enumerate(items):
        name = printable(json.dumps(str(key), ensure_ascii=False))
        named = [Run(f"{name}: ", "syntax-function")] if is_map else []
        yield from _nodes(inner, folded, (*path, key), named, "," if number < len(items) - 1 else "")
    yield Node(path, depth, [Run(closing, "code")])


def _leaf(value: object) -> Run:
    if isinstance(value, str):
        shown = json.dumps(value[:LONGEST], ensure_ascii=False)
        more = f" … {len(value) - LONGEST:,} more characters" if len(value) > LONGEST else ""
        return Run(printable(shown) + more, "syntax-string")
    if isinstance(value, Mapping | list | tuple):
        return Run("{}" if isinstance(value, Mapping) else "[]", "code")
    return Run(json.dumps(value, default=str), "syntax-keyword" if value in (True, False, None) else "syntax-number")


class JsonView(Page):
    """Shows a value as a tree."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "up", show=False),
        Binding("down,j", "move(1)", "down", show=False),
        Binding("space,enter", "fold", "fold", show=False),
    ]

    def __init__(self, theme_styles: ThemeStyles) -> None:
        super().__init__(theme_styles)
        self._value: object = None
        self._folded: set[Path] = set()
        self._tree_nodes: list[Node] = []
        self._of_line: list[int] = []
        self._cursor = 0

    def show_value(self, value: object) -> None:
        self._value, self._folded, self._cursor = value, first_folds(value), 0
        self.show(self._laid)

    def _laid(self, width: int) -> Sequence[Line]:
        self._tree_nodes = list(nodes(self._value, self._folded))
        self._of_line = []
        lines: list[Line] = []
        for number, node in enumerate(self._tree_nodes):
            mark = ("▸ " if node.path in self._folded else "▾ ") if node.folds else "  "
            indent = [Run("  " * node.depth + mark, "muted")]
            rows = wrap(node.runs, width, indent, [Run("  " * node.depth + "    ")])
            self._of_line.extend([number] * len(rows))
            lines.extend(rows)
        return lines

    def action_move(self, step: int) -> None:
        """Move the cursor to the next foldable line, or scroll if there is none near."""
        self._cursor = min(max(self._cursor + step, 0), max(0, len(self._tree_nodes) - 1))
        if self._cursor in self._of_line:
            line = self._of_line.index(self._cursor)
            top, height = round(self.scroll_y), self.size.height
            if not top <= line < top + height:
                self.scroll_to(0, line if step < 0 else line - height + 1, animate=False, immediate=True)
        self.refresh()

    def action_fold(self) -> None:
        """Fold or unfold at the cursor."""
        node = self._tree_nodes[self._cursor] if self._cursor < len(self._tree_nodes) else None
        if node is not None and node.folds:
            self._folded ^= {node.path}
            self.show(self._laid, keep_place=True)

    def on_click(self, event: events.Click) -> None:
        """Fold or unfold the clicked line."""
        offset = event.get_content_offset(self)
        line = offset.y + round(self.scroll_y) if offset is not None else -1
        if 0 <= line < len(self._of_line):
            self._cursor = self._of_line[line]
            self.action_fold()

    def render_line(self, y: int) -> Strip:
        strip = super().render_line(y)
        line = y + round(self.scroll_y)
        if self.has_focus and line < len(self._of_line) and self._of_line[line] == self._cursor:
            background = Style(bgcolor=self.theme_styles.background("user").bgcolor, bold=True)
            return Strip(Segment.apply_style(strip, post_style=background), strip.cell_length)
        return strip
