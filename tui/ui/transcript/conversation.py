"""Events to sections: the one place where what happens becomes what is seen."""

from __future__ import annotations

from tui.domain.errors import PonderError
from tui.domain.events import (
    AppEvent,
    ApprovalAsked,
    ApprovalSettled,
    AttemptReset,
    CompressionFinished,
    HistoryChanged,
    MessageCompleted,
    Notice,
    RequestStarted,
    RetryScheduled,
    Streamed,
    ToolFinished,
    ToolProgressed,
    ToolStarted,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from tui.domain.messages import Message, Role, Turn
from tui.domain.printable import one_line, printable
from tui.domain.stream import StreamEvent
from tui.engine.state import SessionView
from tui.ui.markdown.runs import Look, Run
from tui.ui.transcript.blocks import Caption, Drawn, ToolCall, ToolState
from tui.ui.transcript.build import Showing, fill_result, sections_of, spoken
from tui.ui.transcript.figures import tokens
from tui.ui.transcript.live import Clock, Live
from tui.ui.transcript.section import Section, Voice
from tui.ui.transcript.summary import Summary
from tui.ui.transcript.transcript import Transcript


class Conversation:
    """Keeps the transcript in step with a session."""

    def __init__(self, transcript: Transcript, now: Clock, showing: Showing) -> None:
        self._transcript = transcript
        self._now = now
        self._showing = showing
        self._turns: tuple[Turn, ...] = ()
        self._live: Live | None = None
        self._calls: dict[str, tuple[Section, ToolCall]] = {}
        self._count = 0

    @property
    def is_live(self) -> bool:
        """Whether something on the screen has a running clock."""
        return self._live is not None

    def load(self, view: SessionView) -> None:
        """Show a session as it stands."""
        self._turns = view.turns
        turns = [*view.turns, view.open_turn] if view.open_turn is not None else list(view.turns)
        self._live = None
        self._calls.clear()
        self._transcript.replace_all(sections_of(turns, self._showing))
        if view.answer is not None:
            self._begin(f"{view.answer.round}:{view.answer.attempt}", str(view.spec.model), str(view.plan.asked))
            for event in view.answer.events:
                self._stream(event)
        for notice in view.notices:
            self._notice(notice.severity.value, notice.text, notice.advice)
        self._transcript.settle()

    def show(self, showing: Showing) -> None:
        """Thinking is shown otherwise from now on."""
        self._showing = showing
        self._transcript.replace_all(sections_of(self._turns, showing))

    def apply(self, event: AppEvent) -> None:
        """Take one event in; ``settle`` of the transcript draws what came of it."""
        match event:
            case Streamed(event=inner):
                self._stream(inner)
            case TurnStarted(turn):
                self._turn_started(turn)
            case RequestStarted(turn_id, round_, attempt, spec, plan):
                self._begin(f"{turn_id}:{round_}:{attempt}", spec.model, str(plan.asked))
            case AttemptReset():
                self._reset()
            case MessageCompleted(message=message):
                self._completed(message)
            case TurnFinished(turn) | TurnFailed(turn):
                self._over(turn, event.error if isinstance(event, TurnFailed) else None)
            case HistoryChanged(turns):
                self._turns, self._live = turns, None
                self._transcript.replace_all(sections_of(turns, self._showing))
            case _:
                self._apply_rest(event)

    def _apply_rest(self, event: AppEvent) -> None:
        match event:
            case RetryScheduled():
                self._drop_bare()
            case ToolStarted(call_id=call_id):
                self._tool_state(call_id, ToolState.RUNNING)
            case ApprovalAsked(call_id=call_id):
                self._tool_state(call_id, ToolState.WAITING)
            case ApprovalSettled(call_id=call_id, allowed=allowed):
                self._tool_state(call_id, ToolState.RUNNING if allowed else ToolState.FAILED)
            case ToolProgressed(call_id=call_id, text=text):
                self._tool_says(call_id, text)
            case ToolFinished():
                self._tool_finished(event)
            case Notice(severity, text, advice):
                self._notice(severity.value, text, advice)
            case CompressionFinished(error=error) if error:
                self._notice("warning", f"Compression changed nothing: {error}", "")
            case CompressionFinished(before, after, summary):
                said = f"Compressed {tokens(before)} → {tokens(after)} tokens"
                self._notice("info", said, "/uncompress takes it back", Summary(summary) if summary else None)
            case _:
                pass

    def tick(self) -> None:
        """Let running clocks run; called a few times a second while something is live."""
        if self._live is not None and self._live.tick():
            self._transcript.column.changed(self._live.section)

    # The answer that is arriving

    def _begin(self, key: str, model: str, level: str) -> None:
        self._drop_bare()
        self._live = Live(Section(f"live:{key}", Voice.MODEL), self._now, self._showing)
        self._live.section.add(Caption(Run(f"{one_line(model, 60)} · {level}", "muted", Look.BOLD)))
        self._transcript.column.append(self._live.section)

    def _reset(self) -> None:
        if self._live is not None:
            self._transcript.column.remove_last(self._live.section.key)
            self._live = None

    def _drop_bare(self) -> None:
        """An attempt that said nothing leaves no head behind."""
        if self._live is not None and len(self._live.section.blocks) == 1:
            self._reset()

    def _stream(self, event: StreamEvent) -> None:
        if self._live is not None:
            self._live.feed(event)
            self._transcript.column.changed(self._live.section)

    def _completed(self, message: Message) -> None:
        if message.role is Role.TOOL:
            return
        live, self._live = self._live, None
        if live is None:
            return
        live.finish(message)
        self._transcript.column.rename(live.section, message.id)
        for call_id, call in live.calls.items():
            self._calls[call_id] = (live.section, call)
        self._transcript.column.changed(live.section)

    # The turn around it

    def _turn_started(self, turn: Turn) -> None:
        for message in turn.messages:
            if message.role is Role.USER:
                section = Section(message.id, Voice.USER)
                section.add(spoken(message))
                self._transcript.column.append(section)
        self._transcript.follow()

    def _over(self, turn: Turn, error: PonderError | None) -> None:
        self._turns = (*self._turns, turn)
        self._drop_bare()
        live, self._live = self._live, None
        if live is not None:
            live.abandon()
            self._transcript.column.changed(live.section)
        self._calls.clear()
        if error is not None:
            self._notice("error", error.message, error.advice)

    # Tools

    def _tool_state(self, call_id: str, state: ToolState) -> None:
        found = self._calls.get(call_id)
        if found is not None:
            found[1].state = state
            self._transcript.column.changed(found[0])

    def _tool_says(self, call_id: str, text: str) -> None:
        found = self._calls.get(call_id)
        if found is not None:
            found[1].detail = [*found[1].detail[:1], ("", text)]
            self._transcript.column.changed(found[0])

    def _tool_finished(self, event: ToolFinished) -> None:
        found = self._calls.get(event.call_id)
        if found is not None:
            fill_result(found[1], event.result)
            found[1].seconds = event.seconds
            self._transcript.column.changed(found[0])

    # Everything else

    def _notice(self, severity: str, text: str, advice: str, below: Drawn | None = None) -> None:
        role = {"error": "error", "warning": "warning"}.get(severity, "muted")
        mark = {"error": "✗ ", "warning": "⚠ "}.get(severity, "· ")
        self._count += 1
        section = Section(f"notice:{self._count}", Voice.NOTICE)
        section.add(Caption(Run(mark + printable(text), role)))
        if advice:
            section.add(Caption(Run("↳ " + printable(advice), "muted")))
        if below is not None:
            section.add(below)
        self._transcript.column.append(section)
