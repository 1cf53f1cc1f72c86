"""The numbered answers to a question, in one or two columns. None is chosen until the user moves to it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from tui.domain.events import ApprovalAsked
from tui.domain.fast_dataclass import dataclass
from tui.domain.rule_words import rule_words, session_words
from tui.ui.panels.row_list import has_reverse_bars

LONGEST_RULE = 240
"""Longest rule offered, in characters, because an answer must be visible in full."""
NO, NO_BECAUSE = "no", "no:"
INDENT = 4
"""Columns before the words of an answer: its number, and blanks below it."""
NO_ANSWER = -1
"""The index of blank cells above which the answers of the first column end."""
ESC_AGAIN = " · esc again denies"
LEAST_COLUMN = 30
"""Columns that an answer needs beside another: "No" with what escape does, and the longest of the usual answers."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is delivered, and what the row says."""

    key: str
    words: str


def answers_to(asked: ApprovalAsked, folder: str, waiting: Sequence[ApprovalAsked] = ()) -> list[Answer]:
    """The possible answers in the order of their numbers. ``waiting`` are the open questions, with this one."""
    if asked.answers:
        return [Answer(key, words) for key, words in asked.answers]
    covered = sum(other.session == asked.session for other in waiting)
    rules = [(pattern, rule_words(pattern, asked, folder)) for pattern in asked.patterns]
    return [
        Answer("once", "Yes, once"),
        *([Answer("session", session_words(asked, folder, covered))] if asked.session else []),
        *(Answer(pattern, f"Always allow {text}") for pattern, text in rules if len(text) <= LONGEST_RULE),
        Answer(NO, "No"),
        *([Answer(NO_BECAUSE, "No, and tell the model why…")] if asked.turn_id else []),
    ]


class Answers(Widget, can_focus=True):
    """The list of answers, with a bar on the chosen one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "step(-1)", show=False),
        Binding("down", "step(1)", show=False),
        Binding("home", "choose(0)", show=False),
        Binding("end", "choose(-1)", show=False),
        Binding("enter", "pick", show=False),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"answers--chosen"}

    index: reactive[int | None] = reactive[int | None](None)
    """The chosen answer."""
    is_armed: reactive[bool] = reactive(default=False)
    """Escape went to "No", and again it denies."""

    class Picked(Message):
        """The user gives this answer."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(self) -> None:
        super().__init__()
        self.rows: Sequence[Answer] = ()
        self._is_low = False

    def show(self, rows: Sequence[Answer]) -> None:
        """Show these answers, with none chosen."""
        self.rows = rows
        self.index = None
        self.is_armed = False
        self.refresh(layout=True)

    def reword(self, rows: Sequence[Answer]) -> bool:
        """Show the same answers in other words, with the same one chosen; False if the words are the same."""
        if list(rows) == list(self.rows):
            return False
        self.rows = rows
        self.refresh(layout=True)
        return True

    def set_low(self, *, low: bool) -> None:
        """Use two columns if the answers take fewer rows in them."""
        if low != self._is_low:
            self._is_low = low
            self.refresh(layout=True)

    @property
    def chosen(self) -> str | None:
        """The key of the chosen answer."""
        return None if self.index is None else self.rows[self.index].key

    def arm(self) -> None:
        """Choose the answer that denies, and say that escape gives it."""
        self.index = next((index for index, row in enumerate(self.rows) if row.key == NO), None)
        self.is_armed = True

    def disarm(self, *, keep: bool = False) -> None:
        """Let the next escape be the first one again; the answer stays chosen only to ``keep`` it."""
        if self.is_armed:
            self.is_armed = False
            self.index = self.index if keep else None

    def height(self, width: int) -> int:
        """Rows that the answers take in this width."""
        return len(self._lines(width))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self.height(width)

    def render(self) -> Content:
        return Content("\n").join(
            [Content.assemble(*(text for _, text in line)) for line in self._lines(self.size.width)]
        )

    def _lines(self, width: int) -> list[list[tuple[int, Content]]]:
        """The lines, each with the answers whose rows are in it; in two columns where that takes fewer."""
        width = max(1, width)
        one = [[(index, row)] for index in range(len(self.rows)) for row in self._cell(index, width)]
        if not self._is_low:
            return one
        half = (len(self.rows) + 1) // 2
        firsts = sorted(range(1, len(self.rows)), key=lambda first: abs(first - half))
        pairs = [
            self._lines_of_pairs(first, width, column) for first in firsts for column in self._seconds(first, width)
        ]
        return min([one, *pairs], key=len)

    def _seconds(self, first: int, width: int) -> list[int]:
        """Possible widths of a second column that begins with this answer: half, or as wide as its words."""
        words = (cell_len(row.words) + len(ESC_AGAIN) * (row.key == NO) for row in self.rows[first:])
        return [column for column in (width // 2, INDENT + max(words)) if column <= width - LEAST_COLUMN]

    def _lines_of_pairs(self, first: int, width: int, column: int) -> list[list[tuple[int, Content]]]:
        """Two columns, each from the top; the second begins with this answer and is as wide as ``column``."""
        above = [(index, row) for index in range(first) for row in self._cell(index, width - column)]
        beside = [(index, row) for index in range(first, len(self.rows)) for row in self._cell(index, column)]
        above += [(NO_ANSWER, Content(" " * (width - column)))] * (len(beside) - len(above))
        return [[pair for pair in line if pair is not None] for line in zip_longest(above, beside)]

    def _cell(self, index: int, column: int) -> list[Content]:
        """The rows of one answer, as wide as its column."""
        is_chosen = index == self.index
        words = self.rows[index].words
        if is_chosen and self.is_armed and self.rows[index].key == NO:
            words += ESC_AGAIN
        room = max(1, column - INDENT)
        rows = Content(words).wrap(room)
        bar = "bold reverse" if has_reverse_bars(self.app) else self.get_visual_style("answers--chosen")
        style = bar if is_chosen else ""
        return [
            Content(f" {index + 1}  " if not at else " " * INDENT)
            .append(row)
            .pad_right(room - row.cell_length)
            .stylize(style)
            for at, row in enumerate(rows)
        ]

    def answer_at(self, x: int, y: int) -> int | None:
        """The answer that is drawn in this cell."""
        lines = self._lines(self.size.width)
        if not 0 <= y < len(lines):
            return None
        at = 0
        for index, text in lines[y]:
            at += text.cell_length
            if x < at:
                return None if index == NO_ANSWER else index
        return None

    def on_click(self, event: events.Click) -> None:
        """Give the answer under the mouse."""
        event.stop()
        offset = event.get_content_offset(self)
        if offset is not None and (index := self.answer_at(*offset)) is not None:
            self.post_message(self.Picked(index))

    def action_step(self, by: int) -> None:
        """Move the bar; from none to the first or the last."""
        count = len(self.rows)
        self.index = (self.index + by) % count if self.index is not None else (0 if by > 0 else count - 1)

    def action_choose(self, index: int) -> None:
        """Move the bar to an answer."""
        self.index = index % len(self.rows)

    def action_pick(self) -> None:
        """Give the chosen answer."""
        if self.index is not None:
            self.post_message(self.Picked(self.index))
