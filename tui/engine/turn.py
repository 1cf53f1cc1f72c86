"""The turn loop: ask, store the answer, run its tools, ask again, until there is nothing left to do.

``Step`` gets one answer: it sends requests until one succeeds, within one budget of requests, attempts and waiting.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from tui.context.prompt_cache import record_request
from tui.domain.blocks import TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock
from tui.domain.counting import count
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.events import (
    AttemptReset,
    MessageCompleted,
    Notice,
    RequestStarted,
    RetryScheduled,
    Severity,
    ToolFinished,
    TurnStarted,
)
from tui.domain.messages import CRASHED, Message, Role, Turn
from tui.domain.request import ChatRequest
from tui.domain.stream import Finish, Stop
from tui.domain.usage import Usage
from tui.engine.attempt import Attempt, AttemptId, AttemptOutput
from tui.engine.compression import HistoryCompression
from tui.engine.open_turn import OpenTurn
from tui.engine.planner import Ask, Repairs
from tui.engine.ports import Journal
from tui.engine.refused_parameters import ANSWERS_WITHOUT_THINKING, THINKING, field_of, is_ours, is_thinking_sent_back
from tui.engine.retry import NOT_TAKEN, GiveUp, Repair, SendRepaired, Spent, Wait, decide
from tui.engine.tool_round import NOT_STARTED, CallHistory, ToolRound, failed

CHECKPOINT_EVERY_S = 1.0
"""The most of a running stream that a crash can lose; the meter is updated at the same interval."""
DOUBTED_FROM = 4_000
"""Below this many estimated tokens, a difference to the reported input means nothing."""
DOUBTED_BELOW = 0.7
_BLANK_SENT = "This server requires thinking with every answer: ponder sent blank thinking for answers that have none."
_SENT_WITHOUT = "`{name}` is not supported here: sent without it."
_NOTHING_LEFT_OUT = (
    "This provider requires thinking with every answer, and one answer here has none: `/fork` before it, "
    "or switch thinking off with `/thinking none`."
)
NUDGE = "Your last reply held no answer. Answer now, in plain text or with a tool call."


class Step:
    """Sends requests until there is an answer or retrying makes no sense."""

    def __init__(self, turn: OpenTurn, compression: HistoryCompression) -> None:
        self._turn = turn
        self._compression = compression
        self._clock = turn.ports.clock
        self._repairs = turn.repairs()
        for name in self._repairs.without:
            if not is_ours(name):
                turn.remark(_SENT_WITHOUT.format(name=name))
        self._thinking_not_taken = self._repairs.without_thinking
        self._models_output: int | None = None
        self._spent = Spent()
        self._attempt: Attempt | None = None
        self._broken: Message | None = None
        """The interrupted answer that got furthest: kept if no other attempt brings anything."""
        self._checkpointed = self._clock.monotonic()
        self._checkpoint: asyncio.Event | None = None
        """Set once the last checkpoint was written."""

    async def answer(self) -> Message:
        """The finished message, not stored yet; raises ProviderError if there is none."""
        while True:
            ask = self._turn.ask(self._repairs)
            request = self._turn.ports.planner.request(ask)
            attempt = await self._begin(ask, request)
            failure = await self._run(attempt, ask, request)
            if failure is None:
                return self._accept(attempt, ask)
            decision = decide(
                failure,
                self._spent,
                partial=attempt.shown,
                draw=self._turn.ports.draw(),
                now=self._clock.now(),
            )
            if isinstance(decision, GiveUp) and attempt.stop is not None:
                self._turn.publish(Notice(Severity.WARNING, failure.message, "Ask again, or try another level."))
                return self._accept(attempt, ask)
            if isinstance(decision, GiveUp):
                await self._prefer_longer(attempt, failure)
                raise self._explained(failure, decision.advice, ask)
            await self._prepare_retry(attempt, failure, decision, request)

    def partial(self, reason: str) -> Message | None:
        """The answer so far for a step that ends early: of the last attempt, otherwise the best interrupted one."""
        if self._attempt is not None:
            message = self._attempt.message(interrupted=reason)
            if message.blocks or (self._broken is None and message.usage is not None):
                return message
        return None if self._broken is None else replace(self._broken, superseded=False)

    async def _prefer_longer(self, attempt: Attempt, failure: ProviderError) -> None:
        """Use an earlier attempt if it got further; name both failures if the last one brought nothing."""
        if self._broken is None:
            return
        last = attempt.message()
        if not last.blocks:
            failure.message = f"{self._broken.interrupted} Asking again failed: {failure.message}"
        elif _length(last) < _length(self._broken):
            await self._void(attempt, failure)

    async def _run(self, attempt: Attempt, ask: Ask, request: ChatRequest) -> ProviderError | None:
        failure: ProviderError | None = None
        try:
            failure = await attempt.run(self._turn.ports.backend, self._on_event)
        finally:
            cost = partial(self._turn.ports.planner.worst_cost, ask, request)
            self._turn.budget.settle(attempt.id.message_id, partial(attempt.spent, failure, cost))
        return failure

    async def _begin(self, ask: Ask, request: ChatRequest) -> Attempt:
        turn, planner = self._turn, self._turn.ports.planner
        message_id = turn.ports.new_id()
        worst_cost = partial(planner.worst_cost, ask, request)
        await turn.permit(message_id, worst_cost)

        async def permit_continuation() -> None:
            await turn.permit(message_id, partial(attempt.worst_if_continued, worst_cost))

        turn.attempts += 1
        self._spent = replace(self._spent, requests=self._spent.requests + 1)
        turn.publish(RequestStarted(turn.id, turn.round, turn.attempts, turn.spec, request.plan))
        for remark in (*request.plan.warnings, *request.outgoing.warnings):
            turn.remark(remark)
        cache = record_request(request, turn.conversation.view, turn.settings.rules, at=self._clock.now())
        attempt = self._attempt = Attempt(
            AttemptId(turn_id=turn.id, round=turn.round, attempt=turn.attempts, message_id=message_id),
            turn.target,
            request,
            clock=self._clock,
            output=AttemptOutput(
                turn.publish,
                turn.conversation.remarks,
                planner.stamp,
                turn.pace,
                planner.cost,
                permit_continuation,
                cache,
            ),
            limit_s=turn.settings.attempt_limit_s,
        )
        self._turn.answer = partial(attempt.message, interrupted=CRASHED)
        return attempt

    def _remember(self) -> None:
        """Record the parameters that the server only accepted without."""
        never = (THINKING,) if self._repairs.without_thinking and self._thinking_not_taken else ()
        if self._repairs.blank_thinking:
            never = (*never, ANSWERS_WITHOUT_THINKING)
        turn = self._turn
        turn.conversation.learn(turn.target, turn.spec, turn.settings, (*self._repairs.without, *never))
        if self._models_output is not None:
            turn.conversation.learn_output_limit(turn.target, self._models_output)

    def _accept(self, attempt: Attempt, ask: Ask) -> Message:
        self._remember()
        planner = self._turn.ports.planner
        self._turn.answer = None
        message = attempt.message()
        attempt.cache_counts(message)
        if message.usage is None:
            return message
        self._compare_input(ask, message.usage)
        planner.learn(ask, message.usage)
        return message

    def _compare_input(self, ask: Ask, usage: Usage) -> None:
        """Detect a server that silently truncates long input: the input tokens it reports are too few."""
        if usage.input is None:
            return
        expected = self._turn.ports.planner.meter(ask).effective
        warning = f"{self._turn.spec.provider}/{self._turn.spec.model} reads less"
        if warning in self._turn.conversation.remarks:
            return
        if expected >= DOUBTED_FROM and usage.input < expected * DOUBTED_BELOW:
            self._turn.conversation.remarks.add(warning)
            self._turn.publish(
                Notice(
                    Severity.WARNING,
                    f"The server read {usage.input:,} of about {count(expected, 'token')}: "
                    "it may have dropped context.",
                    "Set `context.limit` to what the server was started with.",
                )
            )

    def _on_event(self) -> None:
        now, attempt = self._clock.monotonic(), self._attempt
        if now - self._checkpointed < CHECKPOINT_EVERY_S or attempt is None or not self._turn.live:
            return
        if not attempt.unsaved:
            return
        self._checkpointed = now
        self._turn.measure(*attempt.arriving(CRASHED))
        if self._checkpoint is not None and not self._checkpoint.is_set():
            return  # The last write is still running; the new text is written with the next one.
        attempt.unsaved = False
        session = self._turn.conversation.session
        self._checkpoint = self._turn.saver.save_soon(
            lambda journal: attempt.store(journal, CRASHED, session), replaces=f"checkpoint {attempt.id.message_id}"
        )

    async def _prepare_retry(
        self, attempt: Attempt, failure: ProviderError, decision: Wait | SendRepaired, failed: ChatRequest
    ) -> None:
        await self._void(attempt, failure)
        if isinstance(decision, SendRepaired):
            refused = self._spent.refused | ({failure.param} if failure.param else set())
            self._spent = replace(self._spent, repairs=self._spent.repairs | {decision.repair}, refused=refused)
            if not await self._repair_request(decision.repair, failure, failed):
                raise self._explained(failure, "", self._turn.ask(self._repairs))
            return
        self._spent = self._spent.failed(partial=attempt.shown)
        turn = self._turn
        turn.publish(RetryScheduled(turn.id, decision.seconds, turn.attempts + 1, failure, decision.needs_consent))
        if decision.needs_consent and not turn.ports.interactive:
            raise failure
        began = self._clock.monotonic()
        if not await turn.retry_wait.wait(decision.seconds, needs_consent=decision.needs_consent):
            raise failure
        if not decision.needs_consent:
            slept = self._clock.monotonic() - began
            self._spent = replace(self._spent, slept_s=self._spent.slept_s + slept)

    async def _void(self, attempt: Attempt, failure: ProviderError) -> None:
        """Mark what this attempt showed as superseded; it stays stored for inspection."""
        self._attempt = None
        turn = self._turn
        turn.answer = None
        if attempt.shown:
            turn.publish(AttemptReset(turn.id, turn.round, attempt.id.attempt, failure))
        message = attempt.message(interrupted=failure.message, superseded=True)
        if message.blocks or message.usage is not None:  # text arrived, or tokens were paid for
            await turn.complete(message)
            further = self._broken is None or _length(message) >= _length(self._broken)
            if message.blocks and failure.retryable and further:
                self._broken = message

    async def _repair_request(self, repair: Repair, failure: ProviderError, failed: ChatRequest) -> bool:
        """Change the next request; False if that is not possible."""
        match repair:
            case Repair.COMPRESS:
                return await self._compression.handle_overflow(self._turn.ask(self._repairs), self._turn.publish)
            case Repair.WITHOUT_PARAMETER if not is_thinking_sent_back(name := failure.param or ""):
                name = field_of(name) if is_ours(name) else name
                repairs = replace(self._repairs, without=(*self._repairs.without, name))
                return self._send_differently(repairs, failed, _SENT_WITHOUT.format(name=name))
            case Repair.WITHOUT_PARAMETER | Repair.WITHOUT_THINKING:
                self._thinking_not_taken = failure.code == NOT_TAKEN or is_thinking_sent_back(failure.param or "")
                repairs = replace(self._repairs, without_thinking=True)
                return self._send_differently(repairs, failed, "Sent again without the thinking of earlier turns.")
            case Repair.BLANK_THINKING:
                return self._send_differently(replace(self._repairs, blank_thinking=True), failed, _BLANK_SENT)
            case Repair.SHORTER_OUTPUT:
                return self._shorten_output(failure, failed)
            case Repair.NUDGE if not self._turn.target.facts.bound:
                # Thinking that is signed together with all that came before would be invalid in the next request.
                self._repairs = replace(self._repairs, nudge=NUDGE)
            case Repair.NUDGE | Repair.ASK_AGAIN:
                pass
        self._turn.publish(Notice(Severity.WARNING, failure.message, "Asking once more."))
        return True

    def _shorten_output(self, failure: ProviderError, failed: ChatRequest) -> bool:
        room, refused = failure.output_room or 0, failed.plan.max_output or failed.max_output
        if failure.kind is not ErrorKind.CONTEXT_OVERFLOW:
            self._models_output = room  # the model's own limit, independent of the prompt
        was = "output limit" if refused is None else f"output limit of {count(refused, 'token')}"
        sentence = f"The {was} does not fit here: asked again with {count(room, 'token')}."
        return self._send_differently(replace(self._repairs, max_output=room), failed, sentence)

    def _send_differently(self, repairs: Repairs, failed: ChatRequest, sentence: str) -> bool:
        if self._turn.ports.planner.request(self._turn.ask(repairs)) == failed:
            return False
        self._repairs = repairs
        if sentence not in self._turn.conversation.remarks:
            self._turn.conversation.remarks.add(sentence)
            self._turn.publish(Notice(Severity.WARNING, sentence))
        return True

    def _explained(self, failure: ProviderError, advice: str, ask: Ask) -> ProviderError:
        if failure.kind is ErrorKind.CONTEXT_OVERFLOW:
            reading = self._turn.ports.planner.meter(ask)
            parts = ", ".join(f"{part.label} {count:,}" for part, count in reading.parts.items() if count)
            limit = "an unknown number" if reading.limit is None else f"{reading.limit:,}"
            advice = f"{count(reading.effective, 'token')} of {limit}: {parts}"
        if failure.kind is ErrorKind.THINKING_MISSING and not ask.settings.rules.leave_thinking_out:
            failure.advice = _NOTHING_LEFT_OUT
        if failure.kind is ErrorKind.NOT_FOUND:
            names = self._turn.ports.planner.nearest(self._turn.spec)
            advice = f"Models with such names: {', '.join(names)}." if names else advice
        if advice:
            failure.advice = f"{failure.advice} {advice}".strip()
        return failure


def _length(message: Message) -> tuple[int, int]:
    """Characters of the answer and of its thinking, for comparison."""
    answered = sum(len(block.text) for block in message.blocks if isinstance(block, TextBlock))
    return answered, sum(len(block.text) for block in message.blocks if isinstance(block, ThinkingBlock))


PAUSES_PER_TURN = 10
CUT_ROUNDS_IN_A_ROW = 2
"""A model whose calls are cut every time does not stop by itself."""

_UNTRUSTED_TOOLS = ("fetch_url", "mcp")
"""Tools whose results may be written by anybody."""

_CUT = (Finish.LENGTH, Finish.CONTEXT_FULL)
_REFUSED = (Finish.FILTER, Finish.REFUSAL)

_SENTENCES = {
    Finish.LENGTH: ("The answer was cut by the output limit.", "Raise `generation.maxOutput`, or ask to continue."),
    Finish.CONTEXT_FULL: ("The answer was cut: the context window is full.", "/compress"),
    Finish.FILTER: ("The provider's filter stopped the answer.", ""),
    Finish.REFUSAL: ("The model refused to answer.", ""),
}


class TurnLoop:
    """One turn, from its prompt to its end."""

    def __init__(self, turn: OpenTurn, compression: HistoryCompression) -> None:
        self.turn = turn
        self._compression = compression
        self._step: Step | None = None
        self._tools: ToolRound | None = None
        self._calls = CallHistory()
        self._pauses = 0
        self._cut_rounds = 0
        self._announced = False

    async def run(self) -> None:
        """Run the turn to its end; raises PonderError if it cannot continue."""
        turn = self.turn
        session, started = turn.conversation.session, turn.turn(open_=True)
        await turn.saver.save(lambda journal: journal.turn_started(session, started))
        turn.stored()
        self._announce()
        while True:
            await self._compression.compress_if_needed(turn.ask(), turn.publish)
            self._step = Step(turn, self._compression)
            message = await self._step.answer()
            self._step, self._tools = None, self._tool_round(message)
            await turn.complete(message)
            turn.measure()
            if not await self._continues(message):
                return
            turn.round += 1
            turn.attempts = 0

    async def settle(self, reason: str, *, is_failure: bool = False) -> Turn:
        """End the turn in its current state: keep the partial answer and make the history valid.

        The prompt of a turn that failed without an answer is marked, so that later requests do not contain it.
        """
        turn = self.turn
        turn.live = False
        partial = self._step.partial(reason) if self._step is not None else None
        results: tuple[ToolResultBlock, ...] = ()
        ends: tuple[ToolFinished, ...] = ()
        restored = partial is not None and turn.replace(partial)
        if partial is not None:
            if not restored:
                turn.messages.append(partial)
            results = tuple(failed(call, NOT_STARTED) for call in _whole_calls(partial))
        elif self._tools is not None:
            results = self._tools.results()
            ends = self._tools.interrupted(results)
        if results:
            message_id = self._tools.message_id if self._tools is not None else turn.ports.new_id()
            turn.messages.append(Message(id=message_id, role=Role.TOOL, blocks=results))
        if is_failure and not any(
            message.role is Role.ASSISTANT and not message.superseded for message in turn.messages
        ):
            turn.messages[0] = replace(turn.messages[0], interrupted=reason)
        unpublished = turn.messages[turn.published_count :] if self._announced else turn.messages[1:]
        if restored and partial is not None and partial not in unpublished:
            unpublished = [partial, *unpublished]
        finished = turn.turn(open_=False)
        await self._close(finished, unpublished, ends)
        return finished

    async def _close(self, finished: Turn, unpublished: Sequence[Message], ends: Sequence[ToolFinished]) -> None:
        """Store and publish what the end of the turn adds, then store the turn."""
        turn, session = self.turn, self.turn.conversation.session

        async def keep(journal: Journal) -> None:
            for message in unpublished:
                await journal.message_added(session, turn.id, message)

        if unpublished:
            await turn.saver.save(keep)
        turn.live = True
        self._announce()
        for end in ends:
            turn.publish(end)
        for message in unpublished:
            turn.publish(MessageCompleted(turn.id, turn.round, message))
        turn.live = False
        # After the messages were published: followers then drop the pieces of a long answer before it is indexed.
        await turn.saver.save(lambda journal: journal.turn_finished(session, finished))

    def _announce(self) -> None:
        if self._announced or not self.turn.live:
            return
        self._announced = True
        self.turn.published_count = 1
        self.turn.publish(TurnStarted(Turn(id=self.turn.id, messages=(self.turn.messages[0],), open=True)))

    def _tool_round(self, message: Message) -> ToolRound | None:
        calls = _whole_calls(message)
        if not calls:
            return None
        return ToolRound(self.turn, calls, self._calls, self.turn.ports.new_id(), tainted=self._tainted())

    async def _continues(self, message: Message) -> bool:
        stop = message.stop or Stop(Finish.OTHER)
        if stop.finish is Finish.PAUSE:
            self._pauses += 1
            return self._pauses <= PAUSES_PER_TURN
        if self._tools is None or stop.finish in _REFUSED:
            self._report(stop)
            return False
        over_limit = self._calls.made >= self.turn.settings.calls_per_turn
        tools = self._tools
        results = await tools.run(cut=stop.finish in _CUT)
        self._tools = None
        await self.turn.add_results(tools.message_id, results)
        return self._may_continue(stop, over_limit=over_limit)

    def _may_continue(self, stop: Stop, *, over_limit: bool) -> bool:
        self._cut_rounds = self._cut_rounds + 1 if stop.finish in _CUT else 0
        if self._cut_rounds >= CUT_ROUNDS_IN_A_ROW:
            self._report(stop)
            return False
        if self._calls.stuck:
            self._notice("The model makes the same call again and again: the turn was ended.")
            return False
        if over_limit:
            self._notice(f"{count(self.turn.settings.calls_per_turn, 'tool call')} in one turn: the turn was ended.")
            return False
        return True

    def _report(self, stop: Stop) -> None:
        if stop.finish not in _SENTENCES:
            return
        sentence, advice = _SENTENCES[stop.finish]
        reason = stop.detail or (stop.raw if stop.finish in _REFUSED else None)
        self.turn.publish(Notice(Severity.WARNING, f"{sentence} Reason: {reason}" if reason else sentence, advice))

    def _notice(self, sentence: str) -> None:
        self.turn.publish(Notice(Severity.WARNING, sentence))

    def _tainted(self) -> bool:
        turns = (*self.turn.conversation.turns, self.turn.turn(open_=True))
        return any(
            isinstance(block, ToolResultBlock) and block.name.startswith(_UNTRUSTED_TOOLS)
            for turn in turns
            for message in turn.messages
            if message.role is Role.TOOL
            for block in message.blocks
        )


def _whole_calls(message: Message) -> tuple[ToolCallBlock, ...]:
    return tuple(block for block in message.blocks if isinstance(block, ToolCallBlock) and not block.partial)
