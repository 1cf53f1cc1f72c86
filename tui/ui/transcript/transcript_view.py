"""Applies session events to the transcript's sections; the only place that does."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence, Set

from tui.domain.blocks import Block, ToolResultBlock
from tui.domain.compression import CompressionView
from tui.domain.errors import PonderError
from tui.domain.events import (
    AppEvent,
    ApprovalAsked,
    ApprovalSettled,
    AttemptReset,
    CompressionChanged,
    CompressionFinished,
    HistoryChanged,
    MessageCompleted,
    Notice,
    RequestStarted,
    RetryScheduled,
    Stalled,
    Stamped,
    Streamed,
    ToolFinished,
    ToolProgressed,
    ToolStarted,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from tui.domain.messages import Message, Role, Turn
from tui.domain.printable import one_line
from tui.domain.stream import StreamEvent
from tui.domain.thinking import ModelSpec, ThinkingPlan
from tui.engine.state import SessionView
from tui.ui.transcript.blocks import Caption, with_names
from tui.ui.transcript.branch_mark import branch_mark
from tui.ui.transcript.build_sections import (
    DisplayOptions,
    fill_result,
    folded_into,
    is_unanswered,
    message_text,
    prompt_blocks,
    section_of,
    sections_of,
    stop_of,
)
from tui.ui.transcript.live_answer import Clock, LiveAnswer
from tui.ui.transcript.plain_fallback import PlainFallback, PlainText
from tui.ui.transcript.section import Section, Speaker, block_text
from tui.ui.transcript.thinking import live_rows
from tui.ui.transcript.tool_call import MOST_NOTE, ToolCall, ToolState
from tui.ui.transcript.transcript import Transcript
from tui.ui.transcript.turn_steps import AnswerStep, TurnSoFar, head_line, steps_of
from tui.ui.transcript.usage_line import usage_line
from tui.ui.transcript.waiting_lines import WaitingLines, remove_section, sentences_of


class ToolCalls:
    """Tool calls on the screen by id. Events of unknown calls are ignored."""

    def __init__(self, changed: Callable[[Section], None], options: DisplayOptions) -> None:
        self._changed = changed
        self._display_options = options
        self._known: dict[str, tuple[Section, ToolCall]] = {}

    def add(self, section: Section, calls: Mapping[str, ToolCall]) -> None:
        """Register the calls of a section."""
        self._known.update({call_id: (section, call) for call_id, call in calls.items()})

    def clear(self) -> None:
        """Forget all calls at the end of a turn."""
        self._known.clear()

    def state(self, call_id: str, state: ToolState) -> None:
        """Show that a call waits, runs or was denied."""
        if (found := self._known.get(call_id)) is not None:
            found[1].state = state
            self._changed(found[0])

    def show_progress(self, call_id: str, text: str) -> None:
        """Show output of a running call: its last line in the row, all of it below."""
        if (found := self._known.get(call_id)) is not None:
            found[1].detail = [*found[1].detail[:1], ("", text)]
            found[1].note = one_line(text.strip().rpartition("\n")[2], MOST_NOTE)
            self._changed(found[0])

    def finished(self, event: ToolFinished) -> None:
        """Show the result of a call."""
        if (found := self._known.get(event.call_id)) is not None:
            fill_result(found[1], event.result, self._display_options)
            found[1].seconds = event.seconds if event.result.seconds is None else event.result.seconds
            self._changed(found[0])

    def answered(self, message: Message) -> None:
        """Show the results of calls that never started."""
        for block in message.blocks:
            if isinstance(block, ToolResultBlock) and (found := self._known.get(block.call_id)) is not None:
                fill_result(found[1], block, self._display_options)
                self._changed(found[0])


LOG = logging.getLogger(__name__)
LIVE = "live:"
"""Key prefix of an arriving answer, which has no id yet."""


class TranscriptView:
    """Keeps the transcript in step with a session."""

    def __init__(self, transcript: Transcript, now: Clock, options: DisplayOptions) -> None:
        self._transcript = transcript
        self._now = now
        self._display_options = options
        self._turns: tuple[Turn, ...] = ()
        self._compression: CompressionView | None = None
        self._live: LiveAnswer | PlainFallback | None = None
        self.waiting_lines = WaitingLines(transcript, now)
        self._calls = ToolCalls(transcript.column.changed, options)
        self._count = 0
        self._until_turn_ends: list[Section] = []
        self._broken = False
        """An error in drawing this turn was already reported."""
        self._places: Mapping[str, tuple[int, int]] = {}
        self._so_far = TurnSoFar(bare=options.bare)
        self._of_turn: list[Section] = []
        """Sections of the answers of the running turn."""

    @property
    def is_live(self) -> bool:
        """Whether anything on the screen has a running clock."""
        return self._live is not None or self.waiting_lines.is_shown

    @property
    def arriving(self) -> Sequence[Block]:
        """The text and the thinking of the arriving answer."""
        return self._live.written() if isinstance(self._live, LiveAnswer) else ()

    def load(self, view: SessionView, options: DisplayOptions | None = None) -> None:
        """Show a session."""
        self._turns, self._compression = view.turns, view.compression
        self._display_options = options or self._display_options
        turns = [*view.turns, view.open_turn] if view.open_turn is not None else list(view.turns)
        self._live, self._broken = None, False
        self.waiting_lines.forget()
        self.waiting_lines.still = self._display_options.still
        self._calls.clear()
        self._transcript.replace_all(self._folded(sections_of(turns, self._display_options)))
        self._mark_prompts(self._places.keys())
        self._enter_turn(view.open_turn)
        if view.answer is not None:
            answer = view.answer
            self._begin(f"{answer.round}:{answer.attempt}", answer.spec, answer.plan)
            for event in view.answer.events:
                self.take(Stamped(view.session, view.seq, Streamed("", view.answer.round, view.answer.attempt, event)))
        elif view.retry is not None:
            self.waiting_lines.retry(view.retry, from_now=False)
        for notice in view.notices:
            self._notice(notice.severity.value, notice.text, notice.advice)
        self._transcript.settle()

    def show(self, options: DisplayOptions) -> None:
        """Change how thinking is shown; the arriving answer is left as it is."""
        self._display_options = options
        self.waiting_lines.still = options.still
        self._replace_same(sections_of(self._turns, options))

    def show_places(self, places: Mapping[str, tuple[int, int]]) -> None:
        """Show the places of turns among their siblings, counted from 1, and the numbers of these; by prompt."""
        before, self._places = self._places, places
        self._mark_prompts(before.keys() | places.keys())
        self._transcript.settle()

    def _mark_prompts(self, prompts: Set[str]) -> None:
        # Few prompts have siblings, and this runs at the end of every answer, of however long a conversation.
        for prompt in prompts:
            index = self._transcript.column.index_of(prompt)
            if index is None:
                continue
            section = self._transcript.column.sections[index]
            place = self._places.get(prompt)
            mark = branch_mark(*place) if place is not None else []
            if mark != section.mark:
                section.set_mark(mark)
                self._transcript.column.changed(section)

    def take(self, stamped: Stamped) -> None:
        """Apply an event; the transcript's ``settle`` draws the result.

        If an event cannot be applied, its answer is shown as plain text.
        """
        try:
            self._apply(stamped.event)
        except Exception as error:  # boundary of a message: an error in it must not end the program
            kind = type(stamped.event).__name__
            LOG.exception("event %d (%s) of %s could not be drawn", stamped.seq, kind, stamped.session)
            self._draw_plainly(stamped.event, error, f"The log has details of event {stamped.seq}.")

    def tick(self) -> None:
        """Advance running clocks; called a few times a second while something is live."""
        try:
            self.waiting_lines.tick()
            if self._live is not None and self._live.tick():
                self._transcript.column.changed(self._live.section)
        except Exception as error:  # boundary of a message, as above
            LOG.exception("the clock of an answer could not be drawn")
            self._draw_plainly(None, error, "The log has details.")

    def _apply(self, event: AppEvent) -> None:
        match event:
            case Streamed(event=inner):
                self._stream(inner)
            case TurnStarted(turn):
                self._turn_started(turn)
            case RequestStarted(turn_id, round_, attempt, spec, plan):
                self._begin(f"{turn_id}:{round_}:{attempt}", spec, plan)
            case AttemptReset():
                self._reset()
            case MessageCompleted(message=message):
                self._completed(message)
            case TurnFinished(turn) | TurnFailed(turn):
                self._turn_ended(turn, event.error if isinstance(event, TurnFailed) else None)
            case HistoryChanged(turns):
                self._turns, self._live = turns, None
                self.waiting_lines.forget()
                self._transcript.replace_all(self._folded(sections_of(turns, self._display_options)))
            case CompressionChanged(view):
                self._compression = view
                self._transcript.rearrange(self._folded(self._transcript.column.sections))
            case _:
                self._apply_rest(event)

    def _apply_rest(self, event: AppEvent) -> None:
        match event:
            case RetryScheduled() | Stalled():
                self._await(event)
            case ToolStarted(call_id=call_id):
                self._calls.state(call_id, ToolState.RUNNING)
            case ApprovalAsked(call_id=call_id):
                self._calls.state(call_id, ToolState.WAITING)
            case ApprovalSettled(call_id=call_id, allowed=allowed):
                self._calls.state(call_id, ToolState.RUNNING if allowed else ToolState.DENIED)
            case ToolProgressed(call_id=call_id, text=text):
                self._calls.show_progress(call_id, text)
            case ToolFinished():
                self._calls.finished(event)
            case Notice(severity, text, advice):
                section = self._notice(severity.value, text, advice)
                if event.until_turn_ends:
                    self._until_turn_ends.append(section)
            case CompressionFinished(error=error) if error:
                self._notice("warning", f"Not compressed: {error}", "")
            case _:
                pass

    # The arriving answer

    def _await(self, event: RetryScheduled | Stalled) -> None:
        if isinstance(event, RetryScheduled):
            self._drop_bare()
            self.waiting_lines.retry(event, from_now=True)
        elif self._live is not None:
            self.waiting_lines.stalled(self._live.section, event.seconds)

    def _begin(self, key: str, spec: ModelSpec, plan: ThinkingPlan) -> None:
        self._drop_bare()
        step = self._so_far.next(head_line(spec.provider, spec.model, plan.level))
        section, column = Section(f"{LIVE}{key}", Speaker.MODEL), self._transcript.column
        self._live = LiveAnswer(section, self._now, self._display_options, step, lambda: live_rows(column.height))
        self.waiting_lines.begin(self._live.section, on_rail=step.after_calls)
        self._append(self._live.section, step)

    def _reset(self) -> None:
        self.waiting_lines.end()
        live, self._live = self._live, None
        if live is not None:
            self._of_turn = [section for section in self._of_turn if section is not live.section]
            remove_section(self._transcript, live.section)

    def _drop_bare(self) -> None:
        """Remove the head of an attempt without content."""
        self.waiting_lines.end()
        if self._live is not None and len(self._live.section.blocks) == 1:
            self._reset()

    def _stream(self, event: StreamEvent) -> None:
        if self._live is not None:
            self.waiting_lines.take(event)
            self._live.feed(event)
            self._transcript.column.changed(self._live.section)

    def _completed(self, message: Message) -> None:
        if message.role is Role.TOOL:
            self._calls.answered(message)
            return
        if message.superseded or message.role is Role.USER:
            self._store(message)
            return
        if self._transcript.column.index_of(message.id) is not None:
            # No later attempt gave an answer, so the one that was cut off counts again.
            self._drop_bare()
            self._replace_same(
                filter(None, [section_of(message, {}, self._display_options, self._so_far.next_of(message))])
            )
            self._so_far.add(message)
            return
        self.waiting_lines.end()
        live, self._live = self._live, None
        if isinstance(live, LiveAnswer):
            step = self._so_far.next_of(message)
            live.finish(message, step)
            self._so_far.add(message)
            self._continue_above(live.section, step)
            self._transcript.column.rename(live.section, message.id)
            self._calls.add(live.section, live.calls)
            self._transcript.column.changed(live.section)
            return
        self._store(message, live.section if live is not None else None)

    def _store(self, message: Message, instead: Section | None = None) -> None:
        """Draw a complete message as it will look when the session is opened again."""
        step = self._so_far.next_of(message)
        section = section_of(message, {}, self._display_options, step)
        self._so_far.add(message)
        if section is not None and instead is None:
            self._append(section, step)
        elif section is not None:
            sections = self._transcript.column.sections
            self._transcript.rearrange([section if other is instead else other for other in sections])

    # What could not be drawn

    def _draw_plainly(self, event: AppEvent | None, error: Exception, where: str) -> None:
        """Show the text plainly, report the error, and continue."""
        try:
            match event:
                case MessageCompleted(message=message) if message.role is not Role.TOOL:
                    unnamed = [other for other in self._transcript.column.sections if other.key.startswith(LIVE)]
                    self._store(message, unnamed[-1] if unnamed else None)
                case TurnStarted(turn):
                    section = Section(f"plain:{turn.id}", Speaker.USER)
                    section.add(PlainText("\n\n".join(map(message_text, turn.messages))))
                    self._transcript.column.append(section)
                case _ if isinstance(self._live, LiveAnswer):
                    text = "\n\n".join(block_text(block) for block in self._live.section.blocks[1:])
                    self._live = PlainFallback(self._live.section, text)
                    if isinstance(event, Streamed):
                        self._live.feed(event.event)
                    self._transcript.column.changed(self._live.section)
                case _:
                    pass
            if not self._broken:
                self._broken = True
                report = f"This could not be drawn ({type(error).__name__}). Its text is shown as received."
                self._notice("warning", report, f"Nothing is lost. Reopen the session to draw it again. {where}")
        except Exception:  # nothing is left to try; the program must continue
            LOG.exception("nor could its words be shown")

    def _folded(self, sections: Iterable[Section]) -> list[Section]:
        """Hide finished turns that a summary replaces."""
        return folded_into(self._compression, self._turns, list(sections), self._transcript.column.changed)

    def _replace_same(self, fresh: Iterable[Section]) -> None:
        """Replace the sections of the same messages."""
        made = {section.key: section for section in fresh}
        sections = [made.get(section.key, section) for section in self._transcript.column.sections]
        self._transcript.rearrange(self._folded(sections))
        self._mark_prompts(self._places.keys())

    # The surrounding turn

    def _enter_turn(self, turn: Turn | None) -> None:
        messages = turn.messages if turn is not None else ()
        keys = {message.id for message in messages}
        self._so_far = TurnSoFar(messages, bare=self._display_options.bare)
        self._of_turn = [section for section in self._transcript.column.sections if section.key in keys]

    def _append(self, section: Section, step: AnswerStep) -> None:
        """Append a message of the turn."""
        self._transcript.column.append(section)
        self._of_turn.append(section)
        self._continue_above(section, step)

    def _continue_above(self, section: Section, step: AnswerStep) -> None:
        """Join an answer without a head to the one above it in the turn."""
        index = self._of_turn.index(section)
        above = self._of_turn[index - 1] if index else None
        if above is not None and above.speaker is section.speaker is Speaker.MODEL:
            self._continue(above, now=not step.head)

    def _continue(self, section: Section, *, now: bool) -> None:
        if section.set_continued(now=now):
            self._transcript.column.changed(section)

    def _show_bill(self, turn: Turn) -> None:
        """Draw a finished turn as it will look when the session is opened again: the bill is below its last answer."""
        for message, step in steps_of(turn, bare=self._display_options.bare):
            index = self._transcript.column.index_of(message.id)
            if index is None:
                continue
            section = self._transcript.column.sections[index]
            self._continue(section, now=step.is_continued)
            foot = usage_line(message, step.bill) if step.bill else None
            if foot is not None:
                if usage_line(message, ()) is not None:
                    section.blocks.pop()  # the line that says only why the answer ended
                section.add(foot)
                self._transcript.column.changed(section)

    def _turn_started(self, turn: Turn) -> None:
        self._enter_turn(turn)
        for message in turn.messages:
            if message.role is Role.USER:
                section = Section(message.id, Speaker.USER)
                for block in prompt_blocks(message, self._display_options):
                    section.add(block)
                self._append(section, AnswerStep())
        self._transcript.follow()

    def _turn_ended(self, turn: Turn, error: PonderError | None) -> None:
        self._turns = (*self._turns, turn)
        self._drop_bare()
        live, self._live = self._live, None
        if live is not None:
            live.abandon()
            self._transcript.column.changed(live.section)
        self._calls.clear()
        self._drop_notices()
        if self._broken:
            self._broken = False
            self._replace_same(sections_of((turn,), self._display_options))
        else:
            self._show_bill(turn)
            if is_unanswered(turn):
                self._transcript.column.append(stop_of(turn))
        if error is not None:
            self._notice("error", *sentences_of(error))

    def _drop_notices(self) -> None:
        """Remove notices that concern only the running turn."""
        if self._until_turn_ends:
            gone, self._until_turn_ends = self._until_turn_ends, []
            self._transcript.rearrange([one for one in self._transcript.column.sections if one not in gone])

    # Other events

    def _notice(self, severity: str, text: str, advice: str) -> Section:
        role = {"error": "error", "warning": "warning"}.get(severity, "muted")
        mark = {"error": "✗ ", "warning": "⚠ "}.get(severity, "· ")
        self._count += 1
        section = Section(f"notice:{self._count}", Speaker.NOTICE)
        section.add(Caption(*with_names(mark + text, role), hang=len(mark)))
        if advice:
            section.add(Caption(*with_names("↳ " + advice, "muted"), hang=len(mark)))
        self._transcript.column.append(section)
        return section
