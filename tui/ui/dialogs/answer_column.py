"""One of several answers side by side: its state above, thinking and text below."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message as ColumnMessage
from textual.widgets import Static

from tui.domain.errors import PonderError
from tui.domain.events import (
    AppEvent,
    MessageCompleted,
    Notice,
    RequestStarted,
    Stamped,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from tui.domain.format_numbers import duration
from tui.domain.messages import CANCELLED, Message, Role, Turn
from tui.domain.printable import one_line
from tui.domain.thinking import labelled_name
from tui.engine.state import Phase, SessionState, SessionView
from tui.ui.chat.screen import follow
from tui.ui.chat.status_line import THROBBER
from tui.ui.dialogs.turn_facts import answerer_of, fact_widths, facts_table, turn_facts
from tui.ui.services import UiServices
from tui.ui.transcript.blocks import Fold
from tui.ui.transcript.build_sections import sections_of
from tui.ui.transcript.section import MARGIN
from tui.ui.transcript.transcript import Transcript
from tui.ui.transcript.transcript_view import TranscriptView

if TYPE_CHECKING:
    from tui.engine.side_turns import SideTurn
    from tui.ui.dialogs.compare import ReplayedTurn

MARK_COLOURS: Mapping[str, str] = {"✓": "$success", "…": "$quiet", "■": "$warning"}


class Column(Vertical):
    """One answer beside others."""

    failure = ""
    """Why there is no whole answer; "" while it arrives and if it is whole."""
    turn: Turn | None = None
    """The turn once it has ended."""

    def __init__(self, services: UiServices) -> None:
        super().__init__(classes="answer")
        self._head = Static("", markup=False, classes="answer-head")
        self.transcript = Transcript(services.theme_styles())
        self._display_options = replace(services.display_options(), bare=True)
        self.number = 0
        """Its place among the answers, from 1."""
        self._is_focused = False
        self._is_still = False
        self._emphasised: Set[str] = frozenset()
        self._widths: Mapping[str, int] = {}

    def compose(self) -> ComposeResult:
        yield self._head
        yield self.transcript

    @property
    def title(self) -> str:
        """The model and level."""
        return answerer_of(self.turn)

    @property
    def mark(self) -> str:
        """One character for the state."""
        if self.turn is None:
            return "…"
        if self.failure:
            return "■" if self.failure == CANCELLED else "✗"
        return "✓"

    def show_thinking(self, fold: Fold) -> None:
        """Show thinking folded, as a peek or in full."""
        self._display_options = replace(self._display_options, fold=fold)

    def tick(self) -> None:
        """Advance the clocks."""

    def put_focus(self, *, focused: bool, still: bool) -> None:
        """Mark the column that the keys are for."""
        self._is_focused, self._is_still = focused, still
        self.show_head()
        if focused and self.screen.focused is not None:
            self.transcript.focus()  # its cursor is shown from the first key that moves it

    def show_beginning(self) -> None:
        """Scroll to the first row, once the answer has a width."""
        self.call_after_refresh(self._scroll_to_beginning)

    def _scroll_to_beginning(self) -> None:
        self.transcript.column.scroll_to(0)
        self.transcript.settle()

    def show_head(self) -> None:
        """Name and state above, and what the answer took below, above its text."""
        mark = Content.styled(" ▎ " if self._is_focused else MARGIN * " ", "$primary")
        name = Content.styled(
            f"{self.number} {one_line(self.title, 60)} ", "bold $primary" if self._is_focused else "bold $foreground"
        )
        lines = [name + Content.styled(self.mark, MARK_COLOURS.get(self.mark, "$error"))]
        state, colour = self.state()
        if state:
            lines.append(Content.styled(one_line(state, 200), colour))
        if facts := self.facts():
            lines.extend(facts_table(facts, self._emphasised, self._widths or fact_widths([facts])))
        below = Content(MARGIN * " ")
        marked = (mark + lines[0], *(below + line for line in lines[1:]))
        self._head.update(Content("\n").join(marked), layout=False)

    def facts(self) -> Mapping[str, str]:
        """What the answer took; nothing while it arrives."""
        if self.turn is None or self.failure not in ("", CANCELLED):
            return {}
        return turn_facts(self.turn)

    def emphasise(self, names: Set[str], widths: Mapping[str, int]) -> None:
        """Emphasise these facts, which other answers have otherwise, and give each of them this many columns."""
        if (names, widths) != (self._emphasised, self._widths):
            self._emphasised, self._widths = names, widths
            self.show_head()

    def state(self) -> tuple[str, str]:
        """What happens, or why there is no answer, and its colour; "" once it is whole."""
        return (f"✗ {self.failure}", "$error") if self.failure not in ("", CANCELLED) else ("", "")


def failure_of(turn: Turn) -> str:
    """Why an ended turn has no whole answer; "" if it has one."""
    answers = [message for message in turn.messages if message.role is Role.ASSISTANT and not message.superseded]
    if answers:
        return answers[-1].interrupted or ""
    return next((message.interrupted for message in turn.messages if message.interrupted), CANCELLED)


class TurnColumn(Column):
    """A stored answer."""

    def __init__(self, turn: Turn, services: UiServices) -> None:
        super().__init__(services)
        self.turn = turn
        self.failure = failure_of(turn)

    def on_mount(self) -> None:
        """Show the answer from its beginning."""
        self.show_thinking(self._display_options.fold)
        self.show_beginning()

    def show_thinking(self, fold: Fold) -> None:
        """Show thinking folded, as a peek or in full."""
        super().show_thinking(fold)
        if self.turn is not None:
            answers = tuple(message for message in self.turn.messages if message.role is not Role.USER)
            self.transcript.replace_all(sections_of([replace(self.turn, messages=answers)], self._display_options))


class LiveColumn(Column):
    """Follows one turn. While it is blind, a letter stands for the model."""

    class Ended(ColumnMessage):
        """The turn has ended, so what it took can be compared."""

    def __init__(
        self, source: SideTurn | ReplayedTurn, services: UiServices, letter: str = "", *, is_blind: bool = False
    ) -> None:
        super().__init__(services)
        self._source = source
        self.letter = letter
        self.is_blind = is_blind
        self._conversation = TranscriptView(self.transcript, time.monotonic, self._display_options)
        self._state: SessionState | None = None
        self._since = time.monotonic()

    @property
    def title(self) -> str:
        """The model and level, or the letter while they are hidden."""
        if self.is_blind:
            return self.letter
        spec = self._source.spec
        level = self._state.now.plan.level if self._state is not None else ""
        name = labelled_name(spec.provider, spec.model)
        return f"{name} · {level}" if level else name

    async def follow(self) -> None:
        """Show the answer as it arrives; ends with the channel."""
        view, subscription = self._source.attach()
        self._state = SessionState(view, keep_text=False)
        try:
            self._load(view)
            await follow(subscription, view.seq, self._take, self._drawn)
        finally:
            subscription.close()

    def reveal(self) -> None:
        """Show the name, the cost and the notices of this answer."""
        self.is_blind = False
        view, subscription = self._source.attach()
        subscription.close()
        self._load(view)

    def show_thinking(self, fold: Fold) -> None:
        """Show thinking folded, as a peek or in full."""
        super().show_thinking(fold)
        self._conversation.show(self._display_options)

    def tick(self) -> None:
        """Advance the clocks."""
        if self._conversation.is_live:
            self._conversation.tick()
            self.transcript.settle()
        if self.turn is None:
            self.show_head()

    def state(self) -> tuple[str, str]:
        """What happens, or what the answer took, and its colour."""
        if self.turn is None or self._state is None:
            phase = self._state.now.phase if self._state is not None else Phase.WAITING
            seconds = time.monotonic() - self._since
            turning = "" if self._is_still else f"{THROBBER[int(seconds * 8) % len(THROBBER)]} "
            return f"{turning}{phase.value} {duration(seconds)}", "$quiet"
        if self.is_blind and self.failure not in ("", CANCELLED):
            return "✗ failed", "$error"
        return super().state()

    def facts(self) -> Mapping[str, str]:
        """What the answer took. The cost would tell the model."""
        facts = super().facts()
        return {name: value for name, value in facts.items() if name != "cost"} if self.is_blind else facts

    def _load(self, view: SessionView) -> None:
        """Draw what there is so far, without the question, which stands above all columns."""
        turns = tuple(self._masked_turn(turn) for turn in view.turns)
        bare = None if view.open_turn is None else self._masked_turn(view.open_turn)
        spec, plan = view.spec, view.plan
        if self.is_blind:
            spec, plan = replace(spec, model=self.letter), replace(plan, in_force="")
        notices = () if self.is_blind else view.notices
        self._conversation.load(replace(view, turns=turns, open_turn=bare, spec=spec, plan=plan, notices=notices))
        if view.turns:
            self.turn, self.failure = view.turns[-1], failure_of(view.turns[-1])
            self.post_message(self.Ended())
        self.show_head()

    def _take(self, stamped: Stamped) -> None:
        if self._state is None:
            return
        self._state.apply(stamped.event)
        shown = self._shown(stamped.event)
        if shown is not None:
            self._conversation.take(replace(stamped, event=shown))
        if isinstance(stamped.event, TurnFinished | TurnFailed):
            self.turn, self.failure = stamped.event.turn, failure_of(stamped.event.turn)
            self.post_message(self.Ended())

    def _drawn(self, batch: Sequence[AppEvent]) -> None:
        self.transcript.settle()
        self.show_head()

    def _shown(self, event: AppEvent) -> AppEvent | None:
        """The event as the column shows it; None for what it does not show."""
        match event:
            case TurnStarted():
                return None
            case TurnFinished(turn) | TurnFailed(turn):
                event = replace(event, turn=self._masked_turn(turn))
            case _:
                pass
        return self._masked_event(event) if self.is_blind else event

    def _masked_event(self, event: AppEvent) -> AppEvent | None:
        """The event without what tells the model."""
        match event:
            case TurnFailed(turn):
                return TurnFailed(turn, PonderError("There is no answer.", advice="v shows why."))
            case RequestStarted(spec=spec, plan=plan):
                return replace(event, spec=replace(spec, model=self.letter), plan=replace(plan, in_force=""))
            case MessageCompleted(message=message):
                return replace(event, message=self._masked(message))
            case Notice():
                return None
            case _:
                return event

    def _masked_turn(self, turn: Turn) -> Turn:
        answers = (message for message in turn.messages if message.role is not Role.USER)
        return replace(turn, messages=tuple(self._masked(message) for message in answers))

    def _masked(self, message: Message) -> Message:
        """The message without what tells the model."""
        if not self.is_blind or message.origin is None:
            return message
        origin = replace(message.origin, provider="", model=self.letter, level="")
        return replace(message, origin=origin, answered_by=None, usage=None, cost=None)


class AnswerColumn(LiveColumn):
    """Follows one side turn."""

    def __init__(self, side: SideTurn, letter: str, services: UiServices, *, is_blind: bool) -> None:
        super().__init__(side, services, letter, is_blind=is_blind)
        self.side = side
