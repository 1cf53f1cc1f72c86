"""Two answers to one prompt side by side: statistics above, thinking and text below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual import events, work
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from tui.domain.cost import cost_of, paid_in
from tui.domain.errors import PonderError
from tui.domain.format_numbers import duration, tokens
from tui.domain.messages import Message, Role, Turn
from tui.domain.printable import one_line
from tui.engine.state import SessionView
from tui.ui.dialogs.sheet import Keys, Sheet
from tui.ui.transcript.blocks import Fold
from tui.ui.transcript.build_sections import sections_of
from tui.ui.transcript.transcript import Transcript

if TYPE_CHECKING:
    from tui.app.session_storage import Storage

SIDE_BY_SIDE = 140
"""Columns from which two answers fit side by side."""
LOOK_S = 0.5


def turn_facts(turn: Turn | None) -> dict[str, str]:
    """Statistics of one turn, all rounds together; a dash means unknown."""
    answers = [message for message in turn.messages if message.role is Role.ASSISTANT] if turn is not None else []
    usages = [message.usage for message in answers if message.usage is not None]
    seconds = [message.seconds for message in answers if message.seconds is not None]
    inputs = [usage.input for usage in usages if usage.input is not None]
    outputs = [max(0, usage.output - (usage.thinking or 0)) for usage in usages if usage.output is not None]
    thought = [usage.thinking for usage in usages if usage.thinking is not None]
    least = "≥ " if len(thought) < len(usages) else ""
    cost = cost_of(paid_in((turn,))).amount if turn is not None else ""
    return {
        "time": duration(sum(seconds)) if seconds else "–",
        "in": tokens(sum(inputs)) if inputs else "–",
        "out": tokens(sum(outputs)) if outputs else "–",
        "thinking": f"{least}{tokens(sum(thought))}" if thought else "–",
        "cost": cost.replace("at least", "≥") if cost else "–",
    }


def answerer_of(turn: Turn | None) -> str:
    """The model and level of a turn."""
    origins = [message.origin for message in turn.messages if message.origin is not None] if turn is not None else []
    if not origins:
        return "not answered yet" if turn is None or turn.open else "no answer"
    last = origins[-1]
    return f"{last.model} · {last.level}" if last.level else last.model


def table(rows: Sequence[tuple[str, Turn | None]], width: int) -> Content:
    """One line per answer, one column per statistic."""
    names = list(turn_facts(None))
    column = 11 if width >= 100 else 9
    model = max(8, min(34, width - 7 - column * len(names)))
    head = Content.styled(" " * (7 + model) + "".join(name.rjust(column) for name in names), "$muted-text")
    lines = [head]
    for label, turn in rows:
        line = Content.styled(label.ljust(7), "$muted-text")
        line = line + Content.styled(one_line(answerer_of(turn), model - 2).ljust(model), "bold $foreground")
        lines.append(line + Content("".join(value.rjust(column) for value in turn_facts(turn).values())))
    return Content("\n").join(lines)


def compared_turns(turns: Sequence[Turn], other: Sequence[Turn]) -> tuple[Turn | None, Turn | None]:
    """The turns to compare: the last of the first session, and the one of the other that answers the same prompt."""
    last = turns[-1] if turns else None
    same = [turn for turn in other if last is not None and _prompt(turn) == _prompt(last)]
    return last, same[-1] if same else other[-1] if other else None


def turns_of(view: SessionView) -> list[Turn]:
    """Finished turns, and the running one with the answer so far."""
    if view.open_turn is None:
        return list(view.turns)
    coming = view.answer.blocks if view.answer is not None else ()
    live = (Message(id="coming", role=Role.ASSISTANT, blocks=coming),) if coming else ()
    open_turn = replace(view.open_turn, messages=(*view.open_turn.messages, *live), open=True)
    return [*view.turns, open_turn]


def _prompt(turn: Turn) -> object:
    return next((message.blocks for message in turn.messages if message.role is Role.USER), None)


class Compare(Sheet[None]):
    """Compares the open session's last turn with another session's."""

    TITLE_WORDS = "Compare"
    SHAPE: ClassVar[str] = "-full"
    KEYS: ClassVar[Keys] = (("tab", "other answer"), ("up down", "scroll"), ("ctrl+o", "thinking"))

    def __init__(self, library: Storage, session: str) -> None:
        super().__init__()
        self._library = library
        self._session = session
        self._other: Sequence[Turn] = ()
        self._shown: tuple[Turn | None, Turn | None] | None = None
        self._fold = Fold.PEEK
        self._places = ("left", "right")

    def inside(self) -> Sequence[Widget]:
        """Statistics above two transcripts."""
        theme_styles = self.ponder.ui_services.theme_styles()
        self._table = Static("", markup=False, classes="table")
        self._sides = (Transcript(theme_styles), Transcript(theme_styles))
        left = Vertical(self._sides[0], classes="column -left")
        right = Vertical(self._sides[1], classes="column")
        self._columns = Horizontal(left, right, classes="columns")
        return (self._table, self._columns)

    def on_mount(self) -> None:
        """Load the other session; the open one may still be running."""
        self._stack()
        self._load()
        self.set_interval(LOOK_S, self._look)

    def on_resize(self, event: events.Resize) -> None:
        """Show the answers side by side if they fit."""
        super().on_resize(event)
        self._stack()
        self._draw()

    def _stack(self) -> None:
        stacked = self.app.size.width < SIDE_BY_SIDE
        self._columns.set_class(stacked, "stacked")
        self._places = ("above", "below") if stacked else ("left", "right")
        self.note(f"{self._places[0]}: before · {self._places[1]}: this chat")

    @work(exclusive=True)
    async def _load(self) -> None:
        try:
            self._other = await self._library.turns(self._session)
        except PonderError as error:
            self.note(error.message, "$error")
        self._look()
        self._sides[0].focus()

    def _look(self) -> None:
        now = compared_turns(turns_of(self.ponder.services.chat.view()), self._other)
        if now != self._shown:
            before, self._shown = self._shown, now
            self._draw(before)

    def _draw(self, before: tuple[Turn | None, Turn | None] | None = None) -> None:
        if self._shown is None:
            return
        here, there = self._shown
        showing = replace(self.ponder.ui_services.showing(), thinking=True, fold=self._fold)
        rows = list(zip(self._places, (there, here), strict=True))
        self._table.update(table(rows, self.app.size.width - 4))
        for side, turn, drawn in zip(self._sides, (there, here), reversed(before or (None, None)), strict=True):
            if turn is None or turn == drawn:
                continue
            side.replace_all(sections_of([turn], showing))
            if not turn.open:
                side.scroll_home(animate=False)

    def key_ctrl_o(self) -> None:
        """Switch thinking between folded, peek and full."""
        self._fold = self._fold.next
        self._draw()
