"""One question to several models at once: their answers side by side, one of which continues the conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from tui.domain.errors import PonderError
from tui.domain.format_numbers import count
from tui.domain.printable import one_line
from tui.ui.dialogs.answer_column import AnswerColumn
from tui.ui.dialogs.aside import CLOCKS_S
from tui.ui.dialogs.sheet import Keys, Sheet
from tui.ui.workers import start_work

if TYPE_CHECKING:
    from tui.app.side_questions import Several, SideQuestions

ONE_BELOW, COLUMN = 100, 38
"""Columns of the screen below which one answer is shown at a time, and columns of an answer beside others."""
LETTERS = "ABCDEF"


def visible(columns: int, focused: int, width: int, first: int) -> range:
    """Which columns are shown: as many as fit, among them the focused one; ``first`` is the first one so far."""
    fitting = 1 if width < ONE_BELOW else min(columns, width // COLUMN)
    first = min(first, focused, columns - fitting)
    return range(max(first, focused - fitting + 1), max(first, focused - fitting + 1) + fitting)


class Ask(Sheet[None]):
    """Shows the answers. Enter continues with the focused one; escape keeps those that arrived as branches."""

    TITLE_WORDS = "Ask"
    SHAPE: ClassVar[str] = "-full"
    KEYS: ClassVar[Keys] = (
        ("enter", "continue with it"),
        ("left right", "answer"),
        ("x", "stop it"),
        ("ctrl+o", "thinking"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,shift+tab", "step(-1)", show=False, priority=True),
        Binding("right,tab", "step(1)", show=False, priority=True),
        Binding("enter", "choose", show=False, priority=True),
        *(Binding(str(number), f"focus_answer({number - 1})", show=False) for number in range(1, 7)),
    ]

    def __init__(self, questions: SideQuestions, several: Several) -> None:
        super().__init__()
        self._questions = questions
        self._several = several
        self.columns: tuple[AnswerColumn, ...] = ()
        self._focused = 0
        self._first = 0
        self._is_chosen = False

    def inside(self) -> Sequence[Widget]:
        """The question, the names of all answers, and the answers."""
        self._question = Static(one_line(self._several.question, 400), markup=False, classes="asked")
        self._tabs = Static("", markup=False, classes="tabs")
        self._row = Horizontal(classes="answers")
        return (self._question, self._tabs, self._row)

    def on_mount(self) -> None:
        """Ask. The sheet is open before that, so that a question about the cost opens above it."""
        if self._several.is_blind:
            self.show_keys((*self.KEYS[:2], ("v", "reveal"), *self.KEYS[2:]))
        self.set_interval(CLOCKS_S, self._tick)
        start_work(self, self._ask)

    async def _ask(self) -> None:
        try:
            sides = await self._questions.ask_several(self._several)
        except PonderError as error:
            self.show_error(error)
            self.dismiss(None)
            return
        self.columns = tuple(
            AnswerColumn(side, letter, self.ponder.ui_services, is_blind=self._several.is_blind)
            for side, letter in zip(sides, LETTERS, strict=False)
        )
        await self._row.mount(*self.columns)
        self._place()
        for column in self.columns:
            start_work(column, column.follow)

    def on_resize(self, event: events.Resize) -> None:
        """Show as many answers as fit."""
        super().on_resize(event)
        self._place()

    def _place(self) -> None:
        if not self.columns:
            return
        shown = visible(len(self.columns), self._focused, self.app.size.width, self._first)
        self._first = shown.start
        for number, column in enumerate(self.columns):
            column.display = number in shown
            column.set_class(number > shown.start, "-beside")
            column.put_focus(focused=number == self._focused, still=self.ponder.chat.status.still)
        self._show_tabs(shown)

    def _show_tabs(self, shown: range) -> None:
        parts, room = [], max(6, min(24, self.app.size.width // len(self.columns) - 8))
        for number, column in enumerate(self.columns):
            style = "bold $primary" if number == self._focused else "$foreground" if number in shown else "$muted-text"
            parts.append(Content.styled(f"{number + 1} {one_line(column.name, room)} {column.mark}", style))
        self._tabs.update(Content("   ").join(parts), layout=False)
        done = sum(column.turn is not None for column in self.columns)
        self.note(f"{done} of {count(len(self.columns), 'answer')} ended")

    def _tick(self) -> None:
        for column in self.columns:
            column.tick()
        if self.columns:
            shown = visible(len(self.columns), self._focused, self.app.size.width, self._first)
            self._show_tabs(shown)

    def action_step(self, by: int) -> None:
        """Focus the next or previous answer."""
        if self.columns:
            self.action_focus_answer((self._focused + by) % len(self.columns))

    def action_focus_answer(self, number: int) -> None:
        """Focus an answer."""
        if number < len(self.columns):
            self._focused = number
            self._place()

    def action_choose(self) -> None:
        """Continue the conversation with the focused answer."""
        if self.columns and not self._is_chosen:
            start_work(self, lambda: self.ponder.ui_services.run_showing_errors(self._choose), group="choose")

    async def _choose(self) -> None:
        chosen = self.columns[self._focused].side
        said = await self._questions.choose(chosen, [column.side.id for column in self.columns])
        self._is_chosen = True
        self.dismiss(None)
        self.say(said)

    def key_x(self) -> None:
        """Stop the focused answer; the others go on."""
        if self.columns:
            name = self.columns[self._focused].side.id
            work = self.ponder.ui_services.run_showing_errors
            start_work(self, lambda: work(lambda: self._questions.stop(name)), group="stop")

    def key_v(self) -> None:
        """Show the names."""
        if any(column.is_blind for column in self.columns):
            for column in self.columns:
                column.reveal()
            self.show_keys(self.KEYS)
            self._place()

    def key_ctrl_o(self) -> None:
        """Switch the thinking of all answers between folded, peek and full."""
        fold = self.ponder.ui_services.showing().fold
        self._fold = getattr(self, "_fold", fold).next
        for column in self.columns:
            column.show_thinking(self._fold)

    def action_leave(self) -> None:
        """Stop what arrives, keep the answers as branches, and close."""
        ids = [column.side.id for column in self.columns]
        if ids and not self._is_chosen:
            start_work(self.app, lambda: self.ponder.ui_services.run_showing_errors(lambda: self._leave(ids)))
        self.dismiss(None)

    async def _leave(self, ids: Sequence[str]) -> None:
        kept = await self._questions.leave(ids)
        if kept:
            self.ponder.say(f"Kept {count(kept, 'answer')} as branches: /tree shows them.")
