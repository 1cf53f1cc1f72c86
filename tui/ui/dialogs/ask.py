"""Answers side by side: of several models asked at once, or of the branches that follow one turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from textual import events, on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from tui.domain.blocks import TextBlock
from tui.domain.errors import PonderError
from tui.domain.format_numbers import count
from tui.domain.messages import Role, Turn
from tui.domain.printable import one_line
from tui.ui.dialogs.answer_column import AnswerColumn, Column, LiveColumn, TurnColumn
from tui.ui.dialogs.aside import CLOCKS_S
from tui.ui.dialogs.sheet import Keys, Sheet
from tui.ui.dialogs.turn_facts import differing, fact_widths
from tui.ui.transcript.blocks import Fold
from tui.ui.transcript.transcript import Transcript
from tui.ui.workers import start_work

if TYPE_CHECKING:
    from tui.app.side_questions import SharedQuestion, SideQuestions

ONE_BELOW, COLUMN = 100, 38
"""Columns of the screen below which answers are not beside each other, and columns of an answer beside others."""
STACKED_ROWS = 20
"""Rows of the screen from which two answers are one above the other, where they cannot be beside each other."""
LETTERS = "ABCDEF"


def visible(columns: int, focused: int, width: int, first: int) -> range:
    """Which columns are shown: as many as fit, among them the focused one; ``first`` is the first one so far."""
    fitting = 1 if width < ONE_BELOW else min(columns, width // COLUMN)
    first = min(first, focused, columns - fitting)
    return range(max(first, focused - fitting + 1), max(first, focused - fitting + 1) + fitting)


SCROLLS = {
    "up": "scroll_up",
    "down": "scroll_down",
    "pageup": "page_up",
    "pagedown": "page_down",
    "home": "scroll_home",
    "end": "scroll_end",
}
"""Keys that scroll, and the action of a transcript."""
APART, TOGETHER = "apart", "together"
"""What the key does: scroll one answer, or all that are shown."""
READING: Keys = (("left right", "answer"), ("up down", "scroll"), ("s", APART), ("ctrl+o", "thinking"))
"""The keys of all sheets with answers side by side."""
C = TypeVar("C", bound=Column)


class Columns(Sheet[str], Generic[C]):
    """Shows as many answers beside each other as fit; the keys are for the focused one."""

    SHAPE: ClassVar[str] = "-full"
    AUTO_FOCUS: ClassVar[str] = ""
    """No answer: the cursor of one would be the only one."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,shift+tab", "step(-1)", show=False, priority=True),
        Binding("right,tab", "step(1)", show=False, priority=True),
        Binding("enter", "choose", show=False, priority=True),
        *(Binding(key, f"scroll_answers('{way}')", show=False, priority=True) for key, way in SCROLLS.items()),
        *(Binding(str(number), f"focus_answer({number - 1})", show=False) for number in range(1, 10)),
    ]

    def __init__(self, question: str) -> None:
        super().__init__()
        self.columns: tuple[C, ...] = ()
        self.focused_column = 0
        self._question = question
        self._first = 0
        self._fold: Fold | None = None
        self._is_together = True
        """Keys scroll all answers that are shown, not only the focused one."""
        self._marks: list[str] = []
        """The names and states that were drawn."""

    def inside(self) -> Sequence[Widget]:
        """The question, the names of all answers, and the answers."""
        asked = Content.styled("▌ ", "$user-bar") + Content(one_line(self._question, 400))
        question = Static(asked, markup=False, classes="asked")
        self._tabs = Static("", markup=False, classes="tabs")
        self._row = Horizontal(classes="answers")
        return (question, self._tabs, self._row)

    def on_mount(self) -> None:
        """Start the clocks."""
        self.set_interval(CLOCKS_S, self._tick)

    async def put_columns(self, columns: Sequence[C]) -> None:
        """Show these answers."""
        self.columns = tuple(columns)
        for number, column in enumerate(self.columns, 1):
            column.number = number
        await self._row.mount(*self.columns)
        self.place()

    def on_resize(self, event: events.Resize) -> None:
        """Show as many answers as fit."""
        super().on_resize(event)
        self.place()

    def place(self) -> None:
        """Show the columns that fit, and their names."""
        if not self.columns:
            return
        shown = self._visible()
        self._first = shown.start
        stacked = self._is_stacked()
        self._row.set_class(stacked, "-stacked")
        for number, column in enumerate(self.columns):
            column.display = number in shown
            column.set_class(number > shown.start and not stacked, "-beside")
            column.set_class(number > shown.start and stacked, "-below")
            column.put_focus(focused=number == self.focused_column, still=self.ponder.chat.status.still)
        self._show_tabs(shown)

    def _visible(self) -> range:
        if self._is_stacked():
            return range(len(self.columns))
        return visible(len(self.columns), self.focused_column, self.app.size.width, self._first)

    def _is_stacked(self) -> bool:
        """Whether two answers are one above the other."""
        size = self.app.size
        return len(self.columns) == 2 and size.width < ONE_BELOW and size.height >= STACKED_ROWS

    def _show_tabs(self, shown: range) -> None:
        """Show the names of all answers, if not all answers are shown, and what differs between those that ended."""
        self._tabs.display = len(shown) < len(self.columns)
        ended = [facts for column in self.columns if (facts := column.facts())]
        for column in self.columns:
            column.emphasise(differing(ended), fact_widths(ended))
        parts, room = [], max(6, min(24, self.app.size.width // len(self.columns) - 8))
        for number, column in enumerate(self.columns):
            here = number == self.focused_column
            style = "bold $primary" if here else "$foreground" if number in shown else "$quiet"
            parts.append(Content.styled(f"{number + 1} {one_line(column.title, room)} {column.mark}", style))
        self._tabs.update(Content("   ").join(parts), layout=False)
        self.note(self.summary())

    def summary(self) -> str:
        """What the head of the sheet says."""
        return count(len(self.columns), "answer")

    def _tick(self) -> None:
        for column in self.columns:
            column.tick()
        marks = [f"{column.title} {column.mark}" for column in self.columns]
        if marks != self._marks:
            self._marks = marks
            self._show_tabs(self._visible())

    @on(LiveColumn.Ended)
    def _ended(self) -> None:
        """Compare with what the answer took. Once all have ended, those that are still followed begin at the top."""
        self._show_tabs(self._visible())
        if all(column.turn is not None for column in self.columns):
            for column in self.columns:
                if column.transcript.column.following:
                    column.show_beginning()

    def action_step(self, by: int) -> None:
        """Focus the next or previous answer."""
        if self.columns:
            self.action_focus_answer((self.focused_column + by) % len(self.columns))

    def action_focus_answer(self, number: int) -> None:
        """Focus an answer."""
        if number < len(self.columns):
            self.focused_column = number
            self.place()

    def action_choose(self) -> None:
        """Take the focused answer."""

    def action_scroll_answers(self, way: str) -> None:
        """Scroll the answers that are shown, or the focused one."""
        for column in self.columns:
            wanted = column.display and (self._is_together or column is self.columns[self.focused_column])
            # One that is shown whole would refuse the key for all.
            if wanted and column.transcript.allow_vertical_scroll:
                getattr(column.transcript, f"action_{way}")()

    def key_s(self) -> None:
        """Scroll together or apart."""
        self._is_together = not self._is_together
        word = APART if self._is_together else TOGETHER
        self.show_keys([(key, word if key == "s" else label) for key, label in self.shown_keys])

    def key_j(self) -> None:
        """Move to the next block of the focused answer."""
        self._move(1)

    def key_k(self) -> None:
        """Move to the block above."""
        self._move(-1)

    def _move(self, step: int) -> None:
        if self.columns:
            self._with_cursor().move_cursor(step)

    def _with_cursor(self) -> Transcript:
        """The focused answer, with its cursor shown."""
        transcript = self.columns[self.focused_column].transcript
        transcript.focus()
        transcript.place_cursor()
        return transcript

    def key_space(self) -> None:
        """Fold or unfold the block at the cursor of the focused answer."""
        if self.columns:
            self._with_cursor().action_fold_at_cursor()

    def key_ctrl_o(self) -> None:
        """Switch the thinking of all answers between folded, peek and full."""
        self._fold = (self._fold or self.ponder.ui_services.display_options().fold).next
        for column in self.columns:
            column.show_thinking(self._fold)


class CompareBranches(Columns[TurnColumn]):
    """The answers that follow one turn; enter returns the id of the focused turn."""

    TITLE_WORDS = "Compare"
    KEYS: ClassVar[Keys] = (("enter", "open"), *READING)

    def __init__(self, turns: Sequence[Turn], at: str) -> None:
        prompts = {prompt_text(turn) for turn in turns}
        super().__init__(prompt_text(turns[0]) if len(prompts) == 1 else "The prompts differ.")
        self._turns = turns
        self._at = at

    def on_mount(self) -> None:
        """Show the stored answers."""
        start_work(self, self._fill)

    async def _fill(self) -> None:
        places = [place for place, turn in enumerate(self._turns) if turn.id == self._at]
        self.focused_column = places[0] if places else 0
        await self.put_columns([TurnColumn(turn, self.ponder.ui_services) for turn in self._turns])

    def action_choose(self) -> None:
        """Open the branch of the focused answer."""
        if self.columns:
            self.dismiss(self._turns[self.focused_column].id)


def prompt_text(turn: Turn) -> str:
    """The words of the prompt."""
    prompts = [message for message in turn.messages if message.role is Role.USER][:1]
    return " ".join(block.text for prompt in prompts for block in prompt.blocks if isinstance(block, TextBlock))


class Ask(Columns[AnswerColumn]):
    """Asks several models. Enter continues with the focused answer; escape keeps those that arrived as branches."""

    TITLE_WORDS = "Ask"
    KEYS: ClassVar[Keys] = (("enter", "continue"), ("x", "stop it"), *READING)

    def __init__(self, questions: SideQuestions, several: SharedQuestion) -> None:
        super().__init__(several.question)
        self._questions = questions
        self._several = several
        self._is_chosen = False

    def on_mount(self) -> None:
        """Ask. The sheet is open before that, so that a question about the cost opens above it."""
        if self._several.is_blind:
            self.show_keys((*self.KEYS[:2], ("v", "reveal"), *self.KEYS[2:]))
        start_work(self, self._ask)

    async def _ask(self) -> None:
        try:
            sides = await self._questions.ask_several(self._several)
        except PonderError as error:
            self.show_error(error)
            self.dismiss(None)
            return
        services, is_blind = self.ponder.ui_services, self._several.is_blind
        pairs = zip(sides, LETTERS, strict=False)
        await self.put_columns([AnswerColumn(side, letter, services, is_blind=is_blind) for side, letter in pairs])
        for column in self.columns:
            start_work(column, column.follow)

    def summary(self) -> str:
        """How many answers have ended."""
        done = sum(column.turn is not None for column in self.columns)
        return f"{done} of {count(len(self.columns), 'answer')} ended"

    def action_choose(self) -> None:
        """Continue the conversation with the focused answer."""
        if self.columns and not self._is_chosen:
            start_work(self, lambda: self.ponder.ui_services.run_showing_errors(self._choose), group="choose")

    async def _choose(self) -> None:
        chosen = self.columns[self.focused_column].side
        said = await self._questions.choose(chosen, [column.side.id for column in self.columns])
        self._is_chosen = True
        self.dismiss(None)
        self.say(said)

    def key_x(self) -> None:
        """Stop the focused answer; the others go on."""
        if self.columns:
            name = self.columns[self.focused_column].side.id
            work = self.ponder.ui_services.run_showing_errors
            start_work(self, lambda: work(lambda: self._questions.stop(name)), group="stop")

    def key_v(self) -> None:
        """Show the names."""
        if any(column.is_blind for column in self.columns):
            for column in self.columns:
                column.reveal()
            self.show_keys(self.KEYS)
            self.place()

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
