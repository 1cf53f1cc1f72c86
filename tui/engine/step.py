"""Gets one answer: sends requests until one succeeds, within one budget of requests, attempts and waiting."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial

from tui.domain.blocks import TextBlock, ThinkingBlock
from tui.domain.counting import count
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.events import AttemptReset, Notice, RequestStarted, RetryScheduled, Severity
from tui.domain.messages import CRASHED, Message
from tui.domain.request import ChatRequest
from tui.domain.usage import Usage
from tui.engine.attempt import Attempt, AttemptId, AttemptOutput
from tui.engine.compaction import Compaction
from tui.engine.open_turn import OpenTurn
from tui.engine.ports import Ask, Repairs
from tui.engine.refused_parameters import ANSWERS_WITHOUT_THINKING, THINKING, is_ours, is_thinking_sent_back
from tui.engine.retry import NOT_TAKEN, GiveUp, Repair, SendRepaired, Spent, Wait, decide

CHECKPOINT_EVERY_S = 1.0
"""The most of a running stream that a crash can lose; the meter is updated at the same interval."""
DOUBTED_FROM = 4_000
"""Below this many estimated tokens, a difference to the reported input means nothing."""
DOUBTED_BELOW = 0.7
_BLANK_SENT = "This server requires thinking with every answer: sent a blank where there is none."
_SENT_WITHOUT = "`{name}` is not supported here: sent without it."
_NOTHING_LEFT_OUT = (
    "Your settings leave no thinking out, so an answer of this conversation has none: `/fork` before it, "
    "or switch thinking off with `/thinking none`."
)
NUDGE = "Your last reply held no answer. Answer now, in plain text or with a tool call."


class Step:
    """Sends requests until there is an answer or retrying makes no sense."""

    def __init__(self, turn: OpenTurn, compaction: Compaction) -> None:
        self._turn = turn
        self._compaction = compaction
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
            attempt = self._begin(request)
            failure = await attempt.run(self._turn.ports.backend, self._on_event)
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
            await self._go_on(attempt, failure, decision, request)

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

    def _begin(self, request: ChatRequest) -> Attempt:
        turn = self._turn
        turn.attempts += 1
        self._spent = replace(self._spent, requests=self._spent.requests + 1)
        turn.publish(RequestStarted(turn.id, turn.round, turn.attempts, turn.spec, request.plan))
        for remark in (*request.plan.warnings, *request.outgoing.warnings):
            turn.remark(remark)
        self._attempt = Attempt(
            AttemptId(turn_id=turn.id, round=turn.round, attempt=turn.attempts, message_id=turn.ports.new_id()),
            turn.target,
            request,
            clock=self._clock,
            output=AttemptOutput(
                turn.publish, turn.conversation.remarks, turn.ports.planner.stamp, turn.pace, turn.ports.planner.cost
            ),
            limit_s=turn.settings.attempt_limit_s,
        )
        self._turn.answer = partial(self._attempt.message, interrupted=CRASHED)
        return self._attempt

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

    async def _go_on(
        self, attempt: Attempt, failure: ProviderError, decision: Wait | SendRepaired, failed: ChatRequest
    ) -> None:
        await self._void(attempt, failure)
        if isinstance(decision, SendRepaired):
            refused = self._spent.refused | ({failure.param} if failure.param else set())
            self._spent = replace(self._spent, repairs=self._spent.repairs | {decision.repair}, refused=refused)
            if not await self._mend(decision.repair, failure, failed):
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

    async def _mend(self, repair: Repair, failure: ProviderError, failed: ChatRequest) -> bool:
        """Change the next request; False if that is not possible."""
        match repair:
            case Repair.COMPRESS:
                return await self._compaction.relieve(self._turn.ask(self._repairs), self._turn.publish)
            case Repair.WITHOUT_PARAMETER if not is_thinking_sent_back(name := failure.param or ""):
                repairs = replace(self._repairs, without=(*self._repairs.without, name))
                return self._send_differently(repairs, failed, _SENT_WITHOUT.format(name=name))
            case Repair.WITHOUT_PARAMETER | Repair.WITHOUT_THINKING:
                self._thinking_not_taken = failure.code == NOT_TAKEN or is_thinking_sent_back(failure.param or "")
                repairs = replace(self._repairs, without_thinking=True)
                return self._send_differently(repairs, failed, "Reasoning of earlier turns dropped.")
            case Repair.BLANK_THINKING:
                return self._send_differently(replace(self._repairs, blank_thinking=True), failed, _BLANK_SENT)
            case Repair.SHORTER_OUTPUT:
                return self._shorten_output(failure, failed)
            case Repair.NUDGE if not self._turn.target.facts.bound:
                # Thinking that is sealed with the system prompt would be invalid with a changed one.
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
            parts = ", ".join(f"{part.value} {count:,}" for part, count in reading.parts.items() if count)
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
    said = sum(len(block.text) for block in message.blocks if isinstance(block, TextBlock))
    return said, sum(len(block.text) for block in message.blocks if isinstance(block, ThinkingBlock))
