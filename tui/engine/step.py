"""One step of a turn: sends requests until one gets an answer, within one budget of requests, attempts and waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from tui.context.prompt_cache import record_request
from tui.domain.blocks import Block, TextBlock, ThinkingBlock
from tui.domain.errors import ErrorKind, ProviderError, UsageError
from tui.domain.events import (
    AttemptReset,
    Notice,
    RequestStarted,
    RetryScheduled,
    Severity,
)
from tui.domain.fast_dataclass import dataclass
from tui.domain.format_numbers import count
from tui.domain.messages import CRASHED, Message
from tui.domain.request import ChatRequest
from tui.domain.usage import Usage
from tui.engine.attempt import ENDED, Attempt, AttemptId, AttemptOutput
from tui.engine.compression import HistoryCompression
from tui.engine.open_turn import OpenTurn
from tui.engine.refused_parameters import ANSWERS_WITHOUT_THINKING, THINKING, field_of, is_ours, is_thinking_sent_back
from tui.engine.request_inputs import Repairs, RequestInputs
from tui.engine.retry import NOT_TAKEN, GiveUp, Repair, RetriesUsed, SendRepaired, Wait, attempts_left, decide

CHECKPOINT_EVERY_S = 1.0
"""The most of a running stream that a crash can lose; the meter is updated at the same interval."""
AGREED_WITHIN_S, AGREED_WITHIN_TOKENS = 2.0, 50
"""A server that agreed to end the thinking does so within one of these."""
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


@dataclass(frozen=True, slots=True)
class AnswerNow:
    """The user's request to end the thinking and answer."""

    note: tuple[Block, ...]
    """What the user adds; () for nothing."""
    lower: RequestInputs | None
    """The request with the least thinking; None if it already has that."""


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
        self._spent = RetriesUsed()
        self._attempt: Attempt | None = None
        self._broken: Message | None = None
        """The interrupted answer that got furthest: kept if no other attempt brings anything."""
        self._checkpointed = self._clock.monotonic()
        self._checkpoint: asyncio.Event | None = None
        """Set once the last checkpoint was written."""
        self._answer_now: AnswerNow | None = None
        """Requested, and not yet done."""
        self._answered_early = False
        self._agreed: tuple[float, int] | None = None
        """When the server agreed to end the thinking, and the tokens that had arrived by then."""

    async def answer(self) -> Message:
        """The finished message, not stored yet; raises ProviderError if there is none."""
        while True:
            if self._answer_now is not None:
                await self._lower_level(self._answer_now)
            inputs = self._turn.inputs(self._repairs)
            request = self._turn.ports.planner.request(inputs)
            attempt = await self._begin(inputs, request)
            failure = await self._run(attempt, inputs, request)
            if failure is None:
                return self._accept(attempt, inputs)
            if failure.kind is ErrorKind.EMPTY and self._agreed is not None:
                self._lower_after_all(attempt)
            if self._answer_now is not None:
                await self._supersede(attempt, failure)
                continue
            decision = decide(
                failure,
                self._spent,
                partial=attempt.shown,
                draw=self._turn.ports.draw(),
                now=self._clock.now(),
            )
            if isinstance(decision, GiveUp) and attempt.stop is not None:
                self._turn.publish(Notice(Severity.WARNING, failure.message, "Ask again, or try another level."))
                return self._accept(attempt, inputs)
            if isinstance(decision, GiveUp):
                await self._prefer_longer(attempt, failure)
                raise self._explained(failure, decision.advice, inputs)
            await self._prepare_retry(attempt, failure, decision, request)

    async def answer_now(self, note: tuple[Block, ...]) -> None:
        """End the thinking: in place if the server can, otherwise by a request at the lowest level.

        While a retry waits, it is sent now. Raises UsageError if there is no thinking to end.
        """
        attempt, waiting = self._attempt, self._turn.retry_wait.is_waiting
        if waiting and not note:
            self._turn.retry_wait.skip()
            return
        if self._answer_now is not None or self._answered_early:
            raise UsageError("The model was already asked to answer now.", advice="Esc stops it.")
        if not waiting and (attempt is None or not attempt.is_running):
            raise UsageError("The model is not thinking: no request is running.")
        if attempt is not None and attempt.is_answering:
            raise UsageError("The answer has already begun.", advice="Esc stops it.")
        if attempt is not None and not note and await self._end_in_place(attempt):
            return
        lower = self._turn.ports.planner.with_least_thinking(self._turn.inputs(self._repairs))
        if lower is None and not note:
            raise UsageError(
                f"`{self._turn.spec.model}` cannot think less than it does now.",
                advice="`/now NOTE` asks again with a note. Esc stops it.",
            )
        self._answer_now = AnswerNow(note, lower)
        if attempt is not None:
            attempt.end_early()
        else:
            self._turn.retry_wait.skip()

    async def _end_in_place(self, attempt: Attempt) -> bool:
        """Whether nothing is left to do: the server ends the thinking, or it ended by itself meanwhile."""
        if attempt.response_id is None or attempt.answered_early:
            return False
        attempt.answered_early = True  # a second request meanwhile, or one after it had no effect, ends the attempt
        end_thinking = self._turn.ports.end_thinking
        attempt.answered_early = await end_thinking(attempt.target, attempt.request, attempt.response_id)
        self._agreed = (self._clock.monotonic(), attempt.received_tokens) if attempt.answered_early else None
        return attempt.answered_early or attempt.is_answering or not attempt.is_running

    def _ask_again_if_it_thinks_on(self, attempt: Attempt) -> None:
        """Some models think on although the server agreed: their tags are not the ones that it looks for."""
        if self._agreed is None or attempt.is_answering or not attempt.is_running:
            return
        since, tokens = self._agreed
        late = self._clock.monotonic() - since > AGREED_WITHIN_S
        if late and attempt.received_tokens - tokens > AGREED_WITHIN_TOKENS:
            self._lower_after_all(attempt)
            if self._answer_now is not None:
                attempt.end_early()

    def _lower_after_all(self, attempt: Attempt) -> None:
        """Ask for the lowest level next: the server agreed to end the thinking, and no answer followed."""
        self._agreed, attempt.answered_early = None, False
        lower = self._turn.ports.planner.with_least_thinking(self._turn.inputs(self._repairs))
        self._answer_now = AnswerNow((), lower) if lower is not None else None

    async def _lower_level(self, wanted: AnswerNow) -> None:
        """Let the rest of the turn think least. A provider may not accept a change back within a tool loop."""
        turn = self._turn
        self._answer_now, self._answered_early, self._spent = None, True, RetriesUsed()
        if wanted.lower is not None:
            turn.spec, turn.settings = wanted.lower.spec, wanted.lower.settings
            known = turn.repairs().without
            self._repairs = replace(self._repairs, without=tuple(dict.fromkeys((*self._repairs.without, *known))))
        if wanted.note:
            await turn.add_user_message(wanted.note)

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
            await self._supersede(attempt, failure)

    async def _run(self, attempt: Attempt, inputs: RequestInputs, request: ChatRequest) -> ProviderError | None:
        failure: ProviderError | None = None
        try:
            failure = await attempt.run(self._turn.ports.backend, self._on_event)
        finally:
            cost = partial(self._turn.ports.planner.worst_cost, inputs, request)
            self._turn.budget.settle(attempt.id.message_id, partial(attempt.spent, failure, cost))
        return failure

    async def _begin(self, inputs: RequestInputs, request: ChatRequest) -> Attempt:
        turn, planner = self._turn, self._turn.ports.planner
        message_id = turn.ports.new_id()
        worst_cost = partial(planner.worst_cost, inputs, request)
        await turn.permit(message_id, worst_cost)

        async def permit_continuation(worst_if_continued: Callable[..., float | None]) -> None:
            await turn.permit(message_id, partial(worst_if_continued, worst_cost))

        turn.attempts += 1
        self._spent = replace(self._spent, requests=self._spent.requests + 1)
        turn.publish(RequestStarted(turn.id, turn.round, turn.attempts, turn.spec, request.plan))
        for remark in (*request.plan.warnings, *request.outgoing.warnings):
            turn.remark(remark)
        cache = record_request(request, turn.conversation.compression, turn.settings.rules, at=self._clock.now())
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
        attempt.answered_early, self._agreed = self._answered_early, None
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

    def _accept(self, attempt: Attempt, inputs: RequestInputs) -> Message:
        self._remember()
        planner = self._turn.ports.planner
        self._turn.answer = None
        message = attempt.message()
        attempt.cache_counts(message)
        if message.usage is None:
            return message
        self._compare_input(inputs, message.usage)
        planner.learn(inputs, message.usage)
        return message

    def _compare_input(self, inputs: RequestInputs, usage: Usage) -> None:
        """Detect a server that silently truncates long input: the input tokens it reports are too few."""
        if usage.input is None:
            return
        expected = self._turn.ports.planner.meter(inputs).effective
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
        if attempt is not None:
            self._ask_again_if_it_thinks_on(attempt)
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
        await self._supersede(attempt, failure)
        if isinstance(decision, SendRepaired):
            refused = self._spent.refused | ({failure.param} if failure.param else set())
            self._spent = replace(self._spent, repairs=self._spent.repairs | {decision.repair}, refused=refused)
            if not await self._repair_request(decision.repair, failure, failed):
                raise self._explained(failure, "", self._turn.inputs(self._repairs))
            return
        self._spent = self._spent.failed(partial=attempt.shown)
        turn = self._turn
        most = turn.attempts + attempts_left(self._spent)
        turn.publish(
            RetryScheduled(
                turn.id,
                decision.seconds,
                turn.attempts + 1,
                failure,
                decision.needs_consent,
                most,
                turn.target.provider.title,
            )
        )
        if decision.needs_consent and not turn.ports.interactive:
            raise failure
        began = self._clock.monotonic()
        if not await turn.retry_wait.wait(decision.seconds, needs_consent=decision.needs_consent):
            raise failure
        if not decision.needs_consent:
            slept = self._clock.monotonic() - began
            self._spent = replace(self._spent, slept_s=self._spent.slept_s + slept)

    async def _supersede(self, attempt: Attempt, failure: ProviderError) -> None:
        """Mark what this attempt showed as superseded; it stays stored for inspection."""
        self._attempt = None
        turn = self._turn
        turn.answer = None
        if attempt.shown:
            turn.publish(AttemptReset(turn.id, turn.round, attempt.id.attempt, failure))
        message = attempt.message(interrupted=failure.message, superseded=True)
        if message.blocks or message.usage is not None or failure.code == ENDED:  # it has text, or was paid for
            await turn.complete(message)
            further = self._broken is None or _length(message) >= _length(self._broken)
            if message.blocks and failure.retryable and further:
                self._broken = message

    async def _repair_request(self, repair: Repair, failure: ProviderError, failed: ChatRequest) -> bool:
        """Change the next request; False if that is not possible."""
        match repair:
            case Repair.COMPRESS:
                return await self._compression.handle_overflow(self._turn.inputs(self._repairs), self._turn.publish)
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
        if self._turn.ports.planner.request(self._turn.inputs(repairs)) == failed:
            return False
        self._repairs = repairs
        if sentence not in self._turn.conversation.remarks:
            self._turn.conversation.remarks.add(sentence)
            self._turn.publish(Notice(Severity.WARNING, sentence))
        return True

    def _explained(self, failure: ProviderError, advice: str, inputs: RequestInputs) -> ProviderError:
        if failure.kind is ErrorKind.CONTEXT_OVERFLOW:
            reading = self._turn.ports.planner.meter(inputs)
            parts = ", ".join(f"{reading.label_of(part)} {count:,}" for part, count in reading.parts.items() if count)
            limit = "an unknown number" if reading.limit is None else f"{reading.limit:,}"
            advice = f"{count(reading.effective, 'token')} of {limit}: {parts}"
        if failure.kind is ErrorKind.THINKING_MISSING and not inputs.settings.rules.leave_thinking_out:
            failure.advice = _NOTHING_LEFT_OUT
        if failure.kind is ErrorKind.RATE_LIMIT and advice:
            failure.advice = ""  # it tells to wait a little, and the limit holds for long
            advice = f"{advice} Until then, choose another model."
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
