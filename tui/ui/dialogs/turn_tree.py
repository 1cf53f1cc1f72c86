"""The tree of a session's turns: drawn with lines, walked by its structure, searched by typing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import ClassVar

from rich.segment import Segment
from textual import on
from textual.content import Content
from textual.events import Click, Resize
from textual.geometry import Offset, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input, Static

from tui.domain.cost import money
from tui.domain.fast_dataclass import dataclass
from tui.domain.format_numbers import count
from tui.domain.listing import TurnInfo
from tui.domain.printable import one_line
from tui.ui.dialogs.sheet import Keys, Sheet
from tui.ui.graphemes import line_within
from tui.ui.input.field import Field
from tui.ui.markdown.runs import Line, Run, width_of
from tui.ui.panels.row_list import REVERSED, has_reverse_bars
from tui.ui.theme.theme_styles import ThemeStyles

SIDE, FIRST_SIDE, PAST = "├─", "╭─", "│ "
"""A branch begins, the first branch of a first turn begins, and a longer lane passes on the left."""
COST = 9
WIDE_ROW, MODEL, NARROW_MODEL = 70, 26, 14
"""Columns from which a row has room for the level, and columns of the model with and without it."""


@dataclass(frozen=True, slots=True)
class TreeRow:
    """A row of the drawn tree."""

    turn: int
    """Index of the turn."""
    lines: str
    """What is drawn left of it."""


class TurnTree:
    """Turns by their structure. The active path is the straight lane at the left; other branches are beside it."""

    def __init__(self, turns: Sequence[TurnInfo], path: Sequence[str]) -> None:
        self.turns = turns
        self._index = {turn.id: index for index, turn in enumerate(turns)}
        self.path = frozenset(self._index[name] for name in path if name in self._index)
        self.head = self._index.get(path[-1], 0) if path else 0
        self._children: dict[int | None, list[int]] = {}
        for index, turn in enumerate(turns):
            parent = self._index.get(turn.parent) if turn.parent is not None else None
            self._children.setdefault(parent, []).append(index)
        self.rows = self._drawn()
        self.row_of = {row.turn: number for number, row in enumerate(self.rows)}
        self._words = [f"{turn.prompt} {turn.model} {turn.level}".lower() for turn in turns]

    def index(self, turn_id: str) -> int | None:
        return self._index.get(turn_id)

    @property
    def branches(self) -> int:
        """The number of ends."""
        return sum(row.turn not in self._children for row in self.rows)

    def parent(self, turn: int) -> int | None:
        name = self.turns[turn].parent
        return None if name is None else self._index.get(name)

    def siblings(self, turn: int) -> Sequence[int]:
        """The turns after the same turn, this one included, oldest first."""
        return self._children[self.parent(turn)]

    def child(self, turn: int) -> int | None:
        """The turn that continues this one in the same lane."""
        children = self._children.get(turn)
        return None if children is None else self._straight(children)

    def walked(self, turn: int, key: str) -> int:
        """The turn that an arrow leads to: up and down along a branch, left and right between siblings."""
        match key:
            case "up":
                parent = self.parent(turn)
                return self._beside(turn, -1) if parent is None else parent
            case "down":
                child = self.child(turn)
                return self._beside(turn, 1) if child is None else child
            case "left" | "right":
                siblings = self.siblings(turn)
                place = siblings.index(turn) + (1 if key == "right" else -1)
                return siblings[place % len(siblings)]
            case _:
                return turn

    def matching(self, query: str) -> list[int]:
        """Rows of the turns that contain every word, from top to bottom."""
        words = query.lower().split()
        return [number for number, row in enumerate(self.rows) if all(word in self._words[row.turn] for word in words)]

    def _beside(self, turn: int, step: int) -> int:
        """The row above or below, where the structure leads no further."""
        return self.rows[min(len(self.rows) - 1, max(0, self.row_of[turn] + step))].turn

    def _straight(self, children: Sequence[int]) -> int:
        return next((child for child in children if child in self.path), children[-1])

    def _drawn(self) -> list[TreeRow]:
        rows: list[TreeRow] = []
        waiting: list[tuple[int, str, str]] = []
        """Turns to draw, the next one last, with the lines of their lane and of their own row."""

        def put(children: Sequence[int], lane: str, first: str) -> None:
            straight = self._straight(children)
            waiting.append((straight, lane, lane))
            sides = [child for child in children if child != straight]
            for number, side in reversed(list(enumerate(sides))):
                waiting.append((side, lane + PAST, lane + (SIDE if number else first)))

        if None in self._children:
            put(self._children[None], "", FIRST_SIDE)
        while waiting:
            turn, lane, lines = waiting.pop()
            rows.append(TreeRow(turn, lines))
            if turn in self._children:
                put(self._children[turn], lane, SIDE)
        return rows


class TreeView(ScrollView, can_focus=False):
    """Paints the visible rows of a tree."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"tree--here"}

    class Clicked(Message):
        """A row was clicked."""

        def __init__(self, turn: int) -> None:
            super().__init__()
            self.turn = turn

    def __init__(self, tree: TurnTree, theme_styles: ThemeStyles, at: int) -> None:
        super().__init__()
        self._tree = tree
        self._theme_styles = theme_styles
        self.at = at
        """The turn under the cursor."""
        self._marked: Collection[int] | None = None

    def on_mount(self) -> None:
        """Set the size."""
        self._fit()

    def on_resize(self, event: Resize) -> None:
        """Fit the rows to the new width."""
        self._fit()

    def _fit(self) -> None:
        self.virtual_size = Size(self.size.width, len(self._tree.rows))
        self._show_cursor()

    def put(self, turn: int) -> None:
        """Move the cursor."""
        if turn == self.at:
            return
        before, self.at = self._tree.row_of[self.at], turn
        if not self._show_cursor():
            self.refresh_line(before)
            self.refresh_line(self._tree.row_of[turn])

    def mark(self, rows: Collection[int] | None) -> None:
        """Dim all rows but these; None dims none."""
        self._marked = rows
        self.refresh()

    def _show_cursor(self) -> bool:
        """Scroll the cursor into view; returns whether that was necessary."""
        row, height = self._tree.row_of[self.at], max(1, self.size.height)
        top = round(self.scroll_y)
        if top <= row < top + height:
            return False
        self.scroll_to(0, row - height // 2, animate=False, immediate=True)
        self.refresh()
        return True

    def on_click(self, event: Click) -> None:
        """Move the cursor to the clicked row."""
        offset = event.get_content_offset(self) or Offset(0, -1)
        row = offset.y + round(self.scroll_y)
        if offset.y >= 0 and row < len(self._tree.rows):
            self.post_message(self.Clicked(self._tree.rows[row].turn))

    def render_line(self, y: int) -> Strip:
        row, width = y + round(self.scroll_y), self.size.width
        line = self._line(row, width) if row < len(self._tree.rows) else []
        strip = self._theme_styles.strip(line, "", width).crop_extend(0, width, self._theme_styles.background(""))
        if not line or self._tree.rows[row].turn != self.at:
            return strip
        bar = REVERSED if has_reverse_bars(self.app) else self.get_component_rich_style("tree--here")
        return Strip(Segment.apply_style(strip, post_style=bar), width)

    def _line(self, number: int, width: int) -> Line:
        row = self._tree.rows[number]
        turn, on_path = self._tree.turns[row.turn], row.turn in self._tree.path
        dimmed = self._marked is not None and number not in self._marked
        lines, most = row.lines, max(4, width // 3)
        if len(lines) > most:
            lines = f"…{lines[1 - most :]}"
        roomy = width >= WIDE_ROW
        name = one_line(f"{turn.model} · {turn.level}" if roomy and turn.level else turn.model, 60)
        column = MODEL if roomy else NARROW_MODEL
        cost = money(turn.cost) if turn.cost is not None else "running" if turn.open else ""
        room = max(4, width - len(lines) - 5 - column - COST)
        prompt = line_within(one_line(turn.prompt, 400) or "(no text)", room)
        role = "text" if on_path and not dimmed else "muted"
        return [
            Run(" "),
            Run(lines, "muted"),
            Run("◐ " if turn.open else "● " if on_path else "○ ", "accent" if on_path else "muted"),
            Run(prompt + " " * (room - width_of(prompt)), role),
            Run(" " + line_within(name, column).ljust(column), "muted"),
            Run(cost.rjust(COST) + " ", "muted"),
        ]


WALKS = ("up", "down", "left", "right")


class TurnTreeSheet(Sheet[str]):
    """Shows the tree; enter returns the id of the turn under the cursor."""

    TITLE_WORDS = "Turns"
    SHAPE: ClassVar[str] = "-wide has-field"
    FITS: ClassVar[bool] = True
    KEYS: ClassVar[Keys] = (
        ("enter", "open"),
        ("up down", "along"),
        ("left right", "siblings"),
        ("tab", "next match"),
    )
    HANDED_ON: ClassVar[frozenset[str]] = frozenset((*WALKS, "pageup", "pagedown", "home", "end", "tab", "shift+tab"))

    def __init__(self, turns: Sequence[TurnInfo], path: Sequence[str], at: str | None = None) -> None:
        super().__init__()
        self.turns = TurnTree(turns, path)
        found = self.turns.index(at) if at is not None else None
        self._first = self.turns.head if found is None else found
        self._matches: list[int] = []

    def inside(self) -> Sequence[Widget]:
        """Search field, tree, and the turn under the cursor."""
        self.field = Field("search prompts and models", handed_on=self.HANDED_ON)
        self.view = TreeView(self.turns, self.ponder.theming.sheet_styles(self.ponder), self._first)
        self._detail = Static("", markup=False, classes="turn-detail")
        return (self.field, self.view, self._detail)

    def on_mount(self) -> None:
        """Show what the tree has."""
        self.field.focus()
        self.note(f"{count(len(self.turns.rows), 'turn')} · {count(self.turns.branches, 'branch', 'branches')}")
        self._describe()
        self.call_after_refresh(self.fit, self.view)

    def put(self, turn: int) -> None:
        """Move the cursor to a turn."""
        self.view.put(turn)
        self._describe()

    def _describe(self) -> None:
        tree, at = self.turns, self.view.at
        turn, siblings = tree.turns[at], tree.siblings(at)
        place = f"{siblings.index(at) + 1} of {len(siblings)} here" if len(siblings) > 1 else ""
        state = "on the current path" if at in tree.path else "on another branch"
        facts = " · ".join(filter(None, (state, place, turn.model, turn.level)))
        prompt = Content.styled(one_line(turn.prompt, 400), "$foreground")
        self._detail.update(Content("\n").join([Content.styled(facts, "$quiet"), prompt]), layout=False)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        query = event.value.strip()
        self._matches = self.turns.matching(query) if query else []
        self.view.mark(frozenset(self._matches) if query else None)
        self.note(f"{count(len(self._matches), 'match', 'matches')}" if query else count(len(self.turns.rows), "turn"))
        if self._matches and self.turns.row_of[self.view.at] not in self._matches:
            self._step(1)

    def _step(self, step: int) -> None:
        """Go to the next or previous match, wrapping around."""
        if not self._matches:
            return
        here = self.turns.row_of[self.view.at]
        further = [row for row in self._matches if (row > here if step > 0 else row < here)]
        row = (further[0] if step > 0 else further[-1]) if further else self._matches[0 if step > 0 else -1]
        self.put(self.turns.rows[row].turn)

    @on(Field.Pressed)
    def _pressed(self, event: Field.Pressed) -> None:
        rows, height = self.turns.rows, max(1, self.view.size.height - 1)
        here = self.turns.row_of[self.view.at]
        match event.key:
            case "tab":
                self._step(1)
            case "shift+tab":
                self._step(-1)
            case "pageup" | "pagedown":
                row = here + (height if event.key == "pagedown" else -height)
                self.put(rows[min(len(rows) - 1, max(0, row))].turn)
            case "home":
                self.put(rows[0].turn)
            case "end":
                self.put(self.turns.head)
            case key:
                self.put(self.turns.walked(self.view.at, key))

    @on(Input.Submitted)
    def _entered(self) -> None:
        self.dismiss(self.turns.turns[self.view.at].id)

    @on(TreeView.Clicked)
    def _clicked(self, event: TreeView.Clicked) -> None:
        """The first click selects a row, the second opens it."""
        if event.turn == self.view.at:
            self._entered()
        else:
            self.put(event.turn)
