"""The current state of a session, built only from its events, and snapshots of it.

A follower that starts from a ``SessionView`` and applies all later events gets the same state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from enum import StrEnum

from tui.bus import merge_stream
from tui.domain.assemble import Assembler
from tui.domain.blocks import Block, TextBlock
from tui.domain.compression import CompressionView, SummaryRun
from tui.domain.cost import Paid, left_behind, paid_in
from tui.domain.events import (
    AppEvent,
    ApprovalAsked,
    ApprovalSettled,
    AttemptReset,
    CompressionChanged,
    CompressionFinished,
    CompressionStarted,
    HistoryChanged,
    MessageCompleted,
    MeterChanged,
    ModelChanged,
    Notice,
    QueueChanged,
    RequestStarted,
    RetryScheduled,
    SaveFailed,
    SaveRecovered,
    SettingsChanged,
    SideAnswersPaid,
    Stalled,
    Streamed,
    TitleChanged,
    ToolFinished,
    ToolStarted,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import Message, Turn
from tui.domain.stream import (
    BlockStarted,
    ModelLoading,
    PromptRead,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolArgsDelta,
)
from tui.domain.thinking import ModelSpec, ThinkingPlan
from tui.domain.usage import MeterReading

MERGE_FROM = 2_000
"""Events of a running answer that are kept before they are merged for the first time."""


class Phase(StrEnum):
    """What the session is doing."""

    IDLE = "idle"
    SENDING = "sending"
    LOADING = "loading the model"
    READING = "reading the prompt"
    WAITING = "waiting for the first token"
    THINKING = "thinking"
    ANSWERING = "answering"
    CALLING = "writing a tool call"
    TOOLS = "running tools"
    ASKING = "waiting for your answer"
    RETRYING = "waiting to try again"
    COMPRESSING = "compressing"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAnswer:
    """The attempt that is streaming."""

    round: int
    attempt: int
    spec: ModelSpec
    plan: ThinkingPlan
    events: tuple[StreamEvent, ...] = ()
    """Its events so far, merged. A new follower processes them like live events."""
    blocks: tuple[Block, ...] = ()
    """The same content as blocks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    """An immutable snapshot that contains every event up to ``seq``."""

    session: str
    seq: int
    spec: ModelSpec
    plan: ThinkingPlan
    turns: tuple[Turn, ...] = ()
    open_turn: Turn | None = None
    answer: OpenAnswer | None = None
    phase: Phase = Phase.IDLE
    queue: tuple[str, ...] = ()
    queue_held: bool = False
    """The queue waits for the user: the turn before it was stopped or failed."""
    queue_after_step: tuple[bool, ...] = ()
    """For each queued prompt, whether it is sent with the next tool results; () if none is."""
    meter: MeterReading | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    title: str = ""
    stalled_s: float | None = None
    retry: RetryScheduled | None = None
    approvals: tuple[ApprovalAsked, ...] = ()
    tools_running: tuple[ToolStarted, ...] = ()
    not_saved: str | None = None
    compression: CompressionView | None = None
    """The compression applied to finished turns; None is the whole history."""
    summaries: tuple[SummaryRun, ...] = ()
    """Costs of summaries on this path."""
    elsewhere: tuple[Paid, ...] = ()
    """Costs of other branches: retried and edited turns."""
    notices: tuple[Notice, ...] = ()
    """Notices about opening the session."""

    @property
    def paid(self) -> tuple[Paid, ...]:
        """Every paid request of the session, including those of the open turn."""
        turns = self.turns if self.open_turn is None else (*self.turns, self.open_turn)
        return (*self.elsewhere, *paid_in(turns), *self.summaries)


def same_paid(view: SessionView, other: SessionView | None) -> bool:
    """Whether nothing was paid between two views of a session; cheap enough for every frame."""
    return (
        other is not None
        and view.turns is other.turns
        and view.open_turn is other.open_turn
        and view.summaries is other.summaries
        and view.elsewhere is other.elsewhere
    )


def title_of(view: SessionView) -> str:
    """The session's title, or the first words of its first prompt."""
    if view.title:
        return view.title
    first = view.turns[0] if view.turns else view.open_turn
    for message in first.messages if first is not None else ():
        for block in message.blocks:
            if isinstance(block, TextBlock) and block.text.strip():
                return block.text.strip()
    return "new chat"


class SessionState:
    """Applies events and provides views."""

    def __init__(self, start: SessionView, *, keep_text: bool = True) -> None:
        """Without ``keep_text`` the text of the open answer is not stored: for followers that store it elsewhere."""
        self._keep_text = keep_text
        self._events: list[StreamEvent] = []
        self._merge_at = MERGE_FROM
        self._view = start
        if start.answer is not None:
            self._view = replace(start, answer=replace(start.answer, events=(), blocks=()))
            if keep_text:
                self._events.extend(start.answer.events)

    @property
    def now(self) -> SessionView:
        """The view without the text of the open answer, in constant time."""
        return self._view

    def view(self, seq: int) -> SessionView:
        """A snapshot as of event ``seq``. Takes time in proportion to the open answer."""
        answer = self._view.answer
        if answer is not None:
            self._events = merge_stream(self._events)
            assembler = Assembler()
            for event in self._events:
                assembler.feed(event)
            answer = replace(answer, events=tuple(self._events), blocks=assembler.blocks())
        return replace(self._view, seq=seq, answer=answer)

    def apply(self, event: AppEvent) -> None:
        """Update the state from one event."""
        match event:
            case Streamed():
                self._stream(event)
            case TurnStarted() | TurnFinished() | TurnFailed() | HistoryChanged():
                self._turn(event)
            case RequestStarted() | AttemptReset() | MessageCompleted() | RetryScheduled() | Stalled():
                self._answer(event)
            case ToolStarted() | ToolFinished() | ApprovalAsked() | ApprovalSettled():
                self._tool(event)
            case _:
                self._rest(event)

    def keep_notice(self, notice: Notice) -> None:
        """Keep a notice for the first follower."""
        self._view = replace(self._view, notices=(*self._view.notices, notice))

    def _stream(self, event: Streamed) -> None:
        if self._keep_text:
            self._events.append(event.event)
            if len(self._events) >= self._merge_at:
                self._events = merge_stream(self._events)
                self._merge_at = 2 * len(self._events) + MERGE_FROM
        phase = _phase_of(event.event)
        view = self._view
        if view.stalled_s is not None or (phase is not None and phase is not view.phase):
            self._view = replace(view, stalled_s=None, phase=phase or view.phase)

    def _clear_answer(self) -> None:
        self._events = []
        self._merge_at = MERGE_FROM

    def _turn(self, event: TurnStarted | TurnFinished | TurnFailed | HistoryChanged) -> None:
        self._clear_answer()
        ended = self._view.open_turn
        beside = tuple(asked for asked in self._view.approvals if ended is None or asked.turn_id != ended.id)
        quiet = replace(
            self._view, answer=None, phase=Phase.IDLE, stalled_s=None, retry=None, approvals=beside, tools_running=()
        )
        match event:
            case TurnStarted(turn):
                self._view = replace(quiet, open_turn=turn, phase=Phase.SENDING)
            case HistoryChanged(turns):
                kept = {turn.id for turn in turns}
                runs = tuple(run for run in quiet.summaries if run.turn in kept)
                left = tuple(left_behind(quiet.turns, quiet.summaries, kept))
                elsewhere = (*quiet.elsewhere, *left)
                self._view = replace(quiet, turns=turns, open_turn=None, summaries=runs, elsewhere=elsewhere)
            case TurnFinished(turn) | TurnFailed(turn):
                self._view = replace(quiet, turns=(*self._view.turns, turn), open_turn=None)

    def _answer(self, event: RequestStarted | AttemptReset | MessageCompleted | RetryScheduled | Stalled) -> None:
        view = self._view
        match event:
            case RequestStarted(_, round_, attempt, spec, plan):
                self._clear_answer()
                answer = OpenAnswer(round=round_, attempt=attempt, spec=spec, plan=plan)
                selected = plan if spec == view.spec else view.plan
                self._view = replace(
                    view, answer=answer, plan=selected, phase=Phase.WAITING, retry=None, stalled_s=None
                )
            case AttemptReset():
                self._clear_answer()
                self._view = replace(view, answer=None, stalled_s=None)
            case MessageCompleted(_, _, message):
                self._clear_answer()
                turn = view.open_turn
                grown = None if turn is None else replace(turn, messages=_with_message(turn.messages, message))
                self._view = replace(view, answer=None, open_turn=grown, stalled_s=None)
            case RetryScheduled():
                self._view = replace(view, phase=Phase.RETRYING, retry=event, stalled_s=None)
            case Stalled(_, seconds):
                self._view = replace(view, stalled_s=seconds)

    def _tool(self, event: ToolStarted | ToolFinished | ApprovalAsked | ApprovalSettled) -> None:
        view = self._view
        match event:
            case ToolStarted():
                view = replace(view, tools_running=(*view.tools_running, event))
            case ToolFinished(_, call_id):
                view = replace(view, tools_running=tuple(t for t in view.tools_running if t.call_id != call_id))
            case ApprovalAsked():
                view = replace(view, approvals=_as_called((*view.approvals, event), view.tools_running))
            case ApprovalSettled(_, call_id):
                view = replace(view, approvals=tuple(a for a in view.approvals if a.call_id != call_id))
        self._view = replace(view, phase=_phase_with(view))

    def _rest(self, event: AppEvent) -> None:
        view = self._view
        match event:
            case QueueChanged(prompts, held, after_step):
                self._view = replace(view, queue=prompts, queue_held=held, queue_after_step=after_step)
            case MeterChanged(reading):
                self._view = replace(view, meter=reading)
            case ModelChanged(spec, plan):
                self._view = replace(view, spec=spec, plan=plan)
            case SettingsChanged(values):
                self._view = replace(view, settings={**view.settings, **values})
            case CompressionStarted() | CompressionFinished() | CompressionChanged():
                self._compression(event)
            case SideAnswersPaid(paid, replaced):
                others = tuple(other for other in view.elsewhere if other.id not in replaced)
                self._view = replace(view, elsewhere=(*others, *paid))
            case TitleChanged(title):
                self._view = replace(view, title=title)
            case SaveFailed(message):
                self._view = replace(view, not_saved=message)
            case SaveRecovered():
                self._view = replace(view, not_saved=None)
            case _:
                pass

    def _compression(self, event: CompressionStarted | CompressionFinished | CompressionChanged) -> None:
        view = self._view
        match event:
            case CompressionStarted():
                self._view = replace(view, phase=Phase.COMPRESSING)
            case CompressionFinished(runs=runs):
                phase = Phase.IDLE if view.open_turn is None else Phase.SENDING
                self._view = replace(view, phase=phase, summaries=(*view.summaries, *runs))
            case CompressionChanged(compression):
                self._view = replace(view, compression=compression)


def _with_message(messages: tuple[Message, ...], message: Message) -> tuple[Message, ...]:
    """Append it, or replace the message with its id: an interrupted answer may be used after all."""
    if any(other.id == message.id for other in messages):
        return tuple(message if other.id == message.id else other for other in messages)
    return (*messages, message)


def _phase_with(view: SessionView) -> Phase:
    """The phase after an event about tool calls and questions."""
    if view.approvals and view.phase is Phase.IDLE:
        return Phase.IDLE  # A side question asks, which is not part of what the session does.
    if view.approvals:
        return Phase.ASKING
    if view.open_turn is None:
        # Only a compression asks without a turn. A question that is withdrawn late changes nothing.
        return Phase.COMPRESSING if view.phase is Phase.ASKING else view.phase
    return Phase.SENDING if view.phase is Phase.ASKING and not view.tools_running else Phase.TOOLS


def _phase_of(event: StreamEvent) -> Phase | None:
    match event:
        case ModelLoading(done=done):
            return Phase.WAITING if done else Phase.LOADING
        case PromptRead(share):
            return Phase.WAITING if share >= 1 else Phase.READING
        case BlockStarted(_, "thinking") | ThinkingDelta():
            return Phase.THINKING
        case BlockStarted(_, "tool_call") | ToolArgsDelta():
            return Phase.CALLING
        case BlockStarted() | TextDelta():
            return Phase.ANSWERING
        case _:
            return None


def _as_called(asked: tuple[ApprovalAsked, ...], running: tuple[ToolStarted, ...]) -> tuple[ApprovalAsked, ...]:
    """Approvals in the order of the calls; several of one call in the order they were asked."""
    positions = {started.call_id: position for position, started in enumerate(running)}
    return tuple(sorted(asked, key=lambda question: positions.get(question.call_id, len(positions))))
