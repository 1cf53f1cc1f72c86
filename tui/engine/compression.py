"""Decides when finished turns are compressed and asks the model for the summary. The compressor decides how."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from tui.catalog.facts import Target
from tui.context.compress import REAL_GAIN, CompressionLog, is_due, undo
from tui.domain.compression import CompressionPreview, CompressionView, SummaryRun
from tui.domain.errors import CompressionError, ErrorKind, PonderError, ProviderError
from tui.domain.events import (
    AppEvent,
    CompressionChanged,
    CompressionFinished,
    CompressionStarted,
    MeterChanged,
    Notice,
    Severity,
)
from tui.domain.format_numbers import count
from tui.domain.messages import Message
from tui.domain.usage import MeterReading
from tui.engine.attempt import Attempt, AttemptId, AttemptOutput
from tui.engine.budget import Budget
from tui.engine.compressor import PendingCompression
from tui.engine.open_turn import ConversationState
from tui.engine.ports import Journal, Ports
from tui.engine.request_inputs import RequestInputs
from tui.engine.retry import RetriesUsed, Wait, decide
from tui.engine.saving import Saver

SUMMARY_ATTEMPTS = 6
SUMMARY_LIMIT_S = 600.0
ENOUGH_GAIN = 0.2
"""Share of the effective tokens. If cutting tool results saves this much, no summary is requested."""

Publish = Callable[[AppEvent], None]


class _SummaryRequests:
    """The requests for one summary and their cost."""

    def __init__(self, turn: str) -> None:
        self.turn = turn
        """The last request, or None."""
        self.runs: list[SummaryRun] = []
        self.now: Callable[[], SummaryRun | None] = _unpaid
        """The cost of the current request so far."""

    def ended(self, failure: ProviderError | None) -> None:
        """Record the end of the current request."""
        run, self.now = self.now(), _unpaid
        if run is not None:
            self.runs.append(run if failure is None else replace(run, failure=failure.message))

    def all(self) -> list[SummaryRun]:
        """All runs, including one that was interrupted."""
        self.ended(None)
        return self.runs


class HistoryCompression:
    """The compressions of one conversation."""

    def __init__(
        self, ports: Ports, saver: Saver, conversation: ConversationState, publish: Publish, budget: Budget
    ) -> None:
        self._ports = ports
        self._budget = budget
        self._publish = publish
        self._saver = saver
        self._conversation = conversation
        self._log = CompressionLog()
        self._reported = False

    async def compress_if_needed(self, inputs: RequestInputs, publish: Publish) -> bool:
        """Compress if the next request is too large; True if something changed."""
        reading = self._ports.planner.meter(inputs)
        if not inputs.settings.compress or not is_due(reading):
            return False
        refusal = self._log.refusal(self._ports.clock.monotonic()) or self._too_little(inputs, reading)
        if refusal is None:
            return await self.compress_now(inputs, "", publish)
        self._report_once(refusal, reading, publish)
        return await self._shorten(inputs, publish, newest_first=False)

    def _too_little(self, inputs: RequestInputs, reading: MeterReading) -> str | None:
        """Return why a summary would not help: what can be compressed is not what fills the window."""
        preview = self.preview(inputs)
        if preview is None or reading.trigger is None or preview.compressed_tokens >= reading.trigger * REAL_GAIN:
            return None
        return f"Only {count(preview.compressed_tokens, 'token')} can be compressed: that would save too little."

    async def handle_overflow(self, inputs: RequestInputs, publish: Publish) -> bool:
        """Handle a context overflow: cut large results, then compress. True if something changed."""
        before = self._ports.planner.meter(inputs).effective
        shortened = await self._shorten(inputs, publish, newest_first=True)
        inputs = replace(inputs, compression=self._conversation.compression)
        after = self._ports.planner.meter(inputs)
        if shortened and before - after.effective >= before * ENOUGH_GAIN and not is_due(after):
            return True
        if await self.compress_now(inputs, "", publish, fits=False):
            return True
        bare = replace(inputs, settings=replace(inputs.settings, keep_turns=0))
        return (inputs.settings.keep_turns > 0 and await self.compress_now(bare, "", publish, fits=False)) or shortened

    async def compress_now(
        self, inputs: RequestInputs, instruction: str, publish: Publish, *, fits: bool = True
    ) -> bool:
        """Compress; True if something changed. A failure changes nothing and is published.

        ``fits`` is False if the provider refused the conversation as too long.
        """
        before = self._ports.planner.meter(inputs).effective
        requests = _SummaryRequests(inputs.turns[-1].id if inputs.turns else "")
        try:
            writer = self._writer(inputs)
            pending = self._ports.compressor.prepare(inputs, writer, instruction, fits=fits)
            if pending is None:
                publish(CompressionFinished(before, before, error=_nothing_to_compress(inputs.settings.keep_turns)))
                return False
            publish(CompressionStarted(pending.turns, pending.before))
            view = await self._summarized(inputs, writer, pending, requests)
        except asyncio.CancelledError:
            self._failed(before, "Cancelled.", requests, publish)
            raise
        except PonderError as error:
            self._log = self._log.failed(self._ports.clock.monotonic())
            self._failed(before, error.message, requests, publish)
            return False
        after = self._ports.planner.meter(replace(inputs, compression=view)).effective
        self._pay(requests.runs)
        try:
            reading = await self._set_compression(inputs, replace(view, before=before, after=after))
        finally:
            publish(CompressionFinished(before, after, summary=view.summary, runs=tuple(requests.runs)))
        self._log = self._log.finished(before, after, reading.trigger)
        publish(MeterChanged(reading))
        return True

    def _failed(self, before: int, why: str, requests: _SummaryRequests, publish: Publish) -> None:
        """Publish a failed compression: nothing changes, but the requests are paid for."""
        runs = [replace(run, failure=run.failure or why) for run in requests.all()]
        self._pay(runs)
        publish(CompressionFinished(before, before, error=why, runs=tuple(runs)))

    def _pay(self, runs: Sequence[SummaryRun]) -> None:
        session = self._conversation.session
        for run in runs:
            self._saver.save_soon(partial(_keep_run, session=session, run=run), replaces=f"summary {run.id}")

    def preview(self, inputs: RequestInputs) -> CompressionPreview | None:
        """What compressing now would save; None if nothing can be compressed."""
        return self._ports.compressor.preview(inputs, self._writer(inputs))

    def _writer(self, inputs: RequestInputs) -> Target:
        spec = inputs.settings.compression_model
        return self._ports.planner.target(spec) if spec else inputs.target

    async def undo(self, publish: Publish) -> bool:
        """Undo the last compression; False if the history was not compressed."""
        view = self._conversation.compression
        if view is None:
            return False
        self._log = CompressionLog()
        self._reported = False
        publish(MeterChanged(await self._set_compression(self._conversation.inputs(), undo(view))))
        return True

    async def _set_compression(self, inputs: RequestInputs, view: CompressionView | None) -> MeterReading:
        self._conversation.compression = view
        session = self._conversation.session
        try:
            await self._saver.save(lambda journal: journal.compressed(session, view))
        finally:
            # The write was already queued; the turn that requested it may have ended.
            self._publish(CompressionChanged(view))
        return self._ports.planner.meter(replace(inputs, compression=view))

    async def _summarized(
        self, inputs: RequestInputs, writer: Target, pending: PendingCompression, requests: _SummaryRequests
    ) -> CompressionView:
        """The view with a summary. If the one asked for in the conversation cannot be used, one is asked for apart."""
        pending, answer = await self._summary(inputs, writer, pending, requests)
        try:
            return self._ports.compressor.apply(inputs, pending, answer)
        except CompressionError:
            if not pending.in_place:
                raise
        pending, answer = await self._summary(inputs, writer, self._ports.compressor.apart(pending), requests)
        return self._ports.compressor.apply(inputs, pending, answer)

    async def _summary(
        self, inputs: RequestInputs, writer: Target, pending: PendingCompression, requests: _SummaryRequests
    ) -> tuple[PendingCompression, Message]:
        spent = RetriesUsed()
        while True:
            attempt_id = AttemptId(turn_id="", round=0, attempt=spent.requests, message_id=self._ports.new_id())
            cost = partial(self._ports.planner.worst_cost, replace(inputs, target=writer), pending.request)
            await self._budget.permit(attempt_id.message_id, requests.turn, writer, inputs.settings, cost)
            attempt = Attempt(
                attempt_id,
                writer,
                pending.request,
                clock=self._ports.clock,
                output=AttemptOutput(_discard, stamp=self._ports.planner.stamp, price=self._ports.planner.cost),
                limit_s=SUMMARY_LIMIT_S,
            )
            requests.now = partial(self._run_of, attempt, writer, requests.turn)
            failure = None
            try:
                failure = await attempt.run(self._ports.backend, _nothing)
            finally:
                self._budget.settle(attempt_id.message_id, partial(attempt.spent, failure, cost))
            requests.ended(failure)
            if failure is None:
                return pending, attempt.message()
            spent = replace(spent, requests=spent.requests + 1)
            if failure.kind is ErrorKind.CONTEXT_OVERFLOW:
                pending = self._smaller_request(pending, failure, spent)
                continue
            now = self._ports.clock.now()
            decision = decide(failure, spent, partial=attempt.shown, draw=self._ports.draw(), now=now)
            if pending.in_place and not isinstance(decision, Wait):
                pending = self._ports.compressor.apart(pending)
                continue
            if not isinstance(decision, Wait) or decision.needs_consent:
                raise failure
            spent = replace(spent.failed(partial=attempt.shown), slept_s=spent.slept_s + decision.seconds)
            await self._ports.clock.sleep(decision.seconds)

    def _run_of(self, attempt: Attempt, writer: Target, turn: str) -> SummaryRun | None:
        """The cost of a request as far as it is known; None if no usage was reported."""
        message = attempt.message()
        return None if message.usage is None else SummaryRun.of(message, turn)

    def _smaller_request(
        self, pending: PendingCompression, failure: ProviderError, spent: RetriesUsed
    ) -> PendingCompression:
        smaller = self._ports.compressor.smaller(pending)
        if smaller is None or spent.requests >= SUMMARY_ATTEMPTS:
            raise failure
        return smaller

    async def _shorten(self, inputs: RequestInputs, publish: Publish, *, newest_first: bool) -> bool:
        view = self._ports.compressor.cut_results(inputs, newest_first=newest_first)
        if view is None:
            return False
        reading = await self._set_compression(inputs, view)
        publish(Notice(Severity.WARNING, "Large tool results were cut to fit the context; the originals are stored."))
        publish(MeterChanged(reading))
        return True

    def _report_once(self, refusal: str, reading: MeterReading, publish: Publish) -> None:
        if self._reported:
            return
        self._reported = True
        parts = ", ".join(f"{reading.label_of(part)} {count:,}" for part, count in reading.parts.items() if count)
        publish(
            Notice(
                Severity.WARNING,
                f"{refusal} The context contains: {parts}.",
                "Shorten the system prompt, disable tools, or start a new session.",
            )
        )


def _unpaid() -> None:
    """Does nothing: no request is running."""


async def _keep_run(journal: Journal, *, session: str, run: SummaryRun) -> None:
    await journal.summary_run(session, run)


def _discard(*events: AppEvent) -> None:
    """Discards events: the summary stream is not part of the conversation."""


def _nothing() -> None:
    """No checkpoints for summaries."""


def _nothing_to_compress(kept: int) -> str:
    if not kept:
        return "There is no finished turn to compress."
    last = "turn is" if kept == 1 else f"{count(kept, 'turn')} are"
    return f"The last {last} never compressed (`context.keepTurns`), and nothing before can be compressed."
