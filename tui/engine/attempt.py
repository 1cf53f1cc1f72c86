"""One request: publishes its events, assembles its blocks, checks how it ended.

A response that must be continued with a token is continued here: all its requests are one attempt.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from dataclasses import field, replace

from tui.bus import DELTAS, merge_stream
from tui.catalog.facts import Target
from tui.catalog.name_matching import is_same_model
from tui.context.estimate import TextCounter, cache_text_tokens, uncached_text_tokens
from tui.context.meter import ArrivingAnswer
from tui.domain.assemble import Assembler
from tui.domain.blocks import Block, TextBlock, ThinkingBlock, ToolCallBlock
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.events import AppEvent, Notice, Severity, Stalled, Streamed
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import ENDED_EARLY, BlockGrowth, CacheRecord, Message, Origin, Role
from tui.domain.printable import one_line
from tui.domain.request import ChatRequest
from tui.domain.stream import (
    BlockStarted,
    Finish,
    ModelLoading,
    PromptRead,
    ProviderRemark,
    ResponseFinished,
    ResponseStarted,
    Stop,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolArgsDelta,
    UsageReported,
    begins_answer,
)
from tui.domain.usage import Usage
from tui.engine.continuation import Continuation
from tui.engine.ports import Backend, Clock, Journal
from tui.engine.retry import MALFORMED_CALL
from tui.engine.timers import RequestTimer, ThinkingTimer

CHUNK = 50
"""Length of the text that must repeat."""
TIMES = 10
WINDOW = CHUNK * 5 * TIMES
"""How far back to search: repeated text longer than five chunks is not detected."""


class RepetitionDetector:
    """Detects an answer that repeats itself; reports it once."""

    def __init__(self) -> None:
        self._tail = ""
        self._unseen = 0
        self._reported = False

    def repeats(self, text: str) -> bool:
        """True the first time the last 50 characters have occurred ten times."""
        if self._reported:
            return False
        self._tail = (self._tail + text)[-WINDOW:]
        self._unseen += len(text)
        if self._unseen < CHUNK or len(self._tail) < CHUNK * TIMES:
            return False
        self._unseen = 0
        self._reported = self._tail.count(self._tail[-CHUNK:]) >= TIMES
        return self._reported


PORTION = 16 * 1024
"""Characters processed at once; a server may send megabytes in one chunk."""
LONG_TEXT = 100_000
"""Characters of a text whose count while it arrived is kept; shorter ones are counted again in no time."""
EXCERPT = 200
"""Characters of a block that are counted in its place."""
LONGEST_CHAIN = 20
"""Most continuations of one response; a server that needs more never ends."""

_NOT_SHOWN = (ResponseStarted, UsageReported, ProviderRemark, ModelLoading, PromptRead, ResponseFinished)

ENDED = "ended_early"
"""Error code of an attempt that the user ended while the model was thinking."""

_NOT_SENT = (ErrorKind.NO_KEY, ErrorKind.CONNECT, ErrorKind.TLS, ErrorKind.REDIRECT)
"""Failures of requests that no model has read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptId:
    """Identifies an attempt."""

    turn_id: str
    round: int
    attempt: int
    message_id: str


def _as_known(target: Target) -> Origin:
    return target.origin


async def _at_once(*_: object) -> None:
    pass


def _unpriced(target: Target, usage: Usage) -> float | None:
    return None


@dataclass(frozen=True, slots=True)
class AttemptOutput:
    """Publishes for an attempt, and remembers which provider remarks were published already."""

    publish: Callable[..., None]
    """Takes any number of events."""
    remarks: set[str] = field(default_factory=set)
    stamp: Callable[[Target], Origin] = _as_known
    """Called when an answer is assembled, not before: the key that was used is only known then."""
    pace: Callable[[], Awaitable[None]] = _at_once
    """Waits until the followers have taken most of what was published."""
    price: Callable[[Target, Usage], float | None] = _unpriced
    """The cost of the reported tokens."""
    permit: Callable[[Callable[..., float | None]], Awaitable[None]] = _at_once
    """Called with ``worst_if_continued`` before each continuation; raises BudgetReached if it may not be sent."""
    cache: CacheRecord | None = None
    """Stored with an answer that used the prompt cache."""


class Attempt:
    """Runs one request and holds its result. Nothing in it refers back to it, so the request is freed at once."""

    def __init__(
        self,
        attempt_id: AttemptId,
        target: Target,
        request: ChatRequest,
        *,
        clock: Clock,
        output: AttemptOutput,
        limit_s: float,
    ) -> None:
        self.id = attempt_id
        self.shown = False
        """Part of the answer was published."""
        self.unsaved = False
        """Something arrived that is not in a checkpoint yet."""
        self.stop: Stop | None = None
        self.is_running = False
        self.is_answering = False
        """Text or a tool call has begun, so the thinking is over."""
        self.answered_early = False
        """The user asked for this answer while the model was thinking."""
        self.response_id: str | None = None
        self.target = target
        self.request = request
        self._ended_early = asyncio.Event()
        self._clock = clock
        self._publish = output.publish
        self._pace = output.pace
        self._unpublished: list[AppEvent] = []
        self._remarks = output.remarks
        self._stamp = output.stamp
        self._price = output.price
        self._cache = output.cache
        self._assembler = Assembler()
        self._family = target.facts.tokenizer
        self._counters: dict[int, TextCounter] = {}
        self._written: dict[int, tuple[int, Block]] = {}
        """By position: the number of stored characters of a block, and its other fields as stored."""
        self._started = clock.monotonic()
        self._thought = ThinkingTimer(self._started)
        self._detector = RepetitionDetector()
        self._permit = output.permit
        self._limit_s = limit_s
        self._timer = RequestTimer(clock, limit_s)
        self._continuation = Continuation()

    async def run(self, backend: Backend, on_event: Callable[[], None]) -> ProviderError | None:
        """Send the request and read to the end; returns the error, also for an answer that is unusable.

        ``on_event`` is also called while nothing arrives, so that the end of a burst is saved.
        """
        request = self.request
        self.is_running = True
        try:
            return await self._run(backend, request, on_event)
        finally:
            self.is_running = False

    def end_early(self) -> None:
        """End the running request; ``run`` returns an error with the code ``ENDED``."""
        self._ended_early.set()

    async def _run(self, backend: Backend, request: ChatRequest, on_event: Callable[[], None]) -> ProviderError | None:
        for number in range(LONGEST_CHAIN):
            if number:
                await self._permit(self.worst_if_continued)
            failure = await self._send(backend, request, on_event)
            if failure is not None or self.stop is None or self.stop.finish is not Finish.CONTINUATION:
                return failure or self._flaw()
            self._continuation.next(self._assembler)
            request = replace(request, continuation=self.stop.detail)
        return ProviderError(
            ErrorKind.OTHER, f"The answer was continued {LONGEST_CHAIN} times without an end.", retryable=False
        )

    @property
    def received_tokens(self) -> int:
        """An estimate of the tokens that arrived so far."""
        return sum(counter.tokens() for counter in self._counters.values())

    def spent(self, failure: ProviderError | None, cost_with: Callable[[int], float | None]) -> float | None:
        """What the ended attempt cost in dollars: as reported, otherwise an estimate; None if unknown.

        ``cost_with`` returns the most the request may cost with so many output tokens.
        """
        message = self.message()
        if message.cost is not None and self.stop is not None:
            return message.cost
        refused = failure is not None and (failure.status is not None or failure.kind in _NOT_SENT)
        if refused and not self.shown and message.usage is None:
            return 0.0
        estimate = cost_with(self.received_tokens)
        return message.cost if estimate is None else max(estimate, message.cost or 0.0)

    def worst_if_continued(self, worst_cost: Callable[..., float | None]) -> float | None:
        """The most the answer may cost with one more request, which also contains what has arrived."""
        received = self.received_tokens
        last, whole, empty = worst_cost(), worst_cost(received), worst_cost(0)
        if last is None or whole is None or empty is None:
            return None
        return max(whole, self.message().cost or 0.0) + last + (whole - empty)

    def arriving(self, interrupted: str) -> tuple[Message, ArrivingAnswer]:
        """An excerpt of the answer so far, and the tokens of the whole. Counts only new text."""
        blocks: list[Block] = []
        text, calls = 0, {}
        for index, block in self._assembler.excerpts(EXCERPT).items():
            counter = self._counters.get(index)
            tokens = counter.tokens() if counter is not None else 0
            match block:
                case ThinkingBlock():
                    blocks.append(replace(block, tokens=tokens))
                    continue
                case TextBlock():
                    text += max(0, tokens - uncached_text_tokens(block.text, self._family))
                case ToolCallBlock():
                    calls[block.call_id] = max(0, tokens - uncached_text_tokens(block.arguments, self._family))
                case _:
                    pass
            blocks.append(block)
        message = self._message(tuple(blocks), interrupted=interrupted)
        return message, ArrivingAnswer(message_id=message.id, text=text, calls=calls)

    def _stalled(self, seconds: float) -> None:
        self._publish(Stalled(self.id.turn_id, seconds))

    async def store(self, journal: Journal, interrupted: str, session: str) -> None:
        """Store what the journal does not have yet. The cost does not grow with the answer."""
        known = self._written
        heads = self._assembler.excerpts(1)
        timed = self._timed(tuple(heads.values()))
        written: dict[int, tuple[int, Block]] = {}
        grown: list[BlockGrowth] = []
        for position, (index, block) in enumerate(zip(heads, timed, strict=True)):
            at, before = known.get(position, (0, None))
            text, end = self._assembler.text_after(index, at)
            bare = _with_text(block, "")
            written[position] = end, bare
            if text or bare != before:
                grown.append(BlockGrowth(position, at, _with_text(block, text)))
        message = replace(self._message(timed, interrupted=interrupted), blocks=())
        stored = await journal.grown(session, self.id.turn_id, message, grown, whole=not known)
        if not stored:
            self._written, self.unsaved = {}, True
        elif self._written is known:  # unless the server started the answer again meanwhile
            self._written = written

    def message(self, *, interrupted: str | None = None, superseded: bool = False) -> Message:
        """The answer so far, as it will be stored."""
        return self._message(self._blocks(), interrupted=interrupted, superseded=superseded)

    def cache_counts(self, message: Message) -> None:
        """Cache the tokens of the long texts of the finished message, which were counted while they arrived."""
        counters = {counter.size: counter for counter in self._counters.values() if counter.size >= LONG_TEXT}
        for block in message.blocks if counters else ():
            if isinstance(block, TextBlock | ThinkingBlock) and (counter := counters.get(len(block.text))) is not None:
                cache_text_tokens(block.text, self._family, counter.tokens())

    def _message(
        self, blocks: tuple[Block, ...], *, interrupted: str | None = None, superseded: bool = False
    ) -> Message:
        asked = self.request.model
        answered = self._assembler.model
        usage = self._continuation.usage(self._assembler.usage)
        if usage is not None and usage.thinking == 0 and any(isinstance(b, ThinkingBlock) and b.text for b in blocks):
            usage = replace(usage, thinking=None)  # the server does not count thinking; zero would be wrong
        return Message(
            id=self.id.message_id,
            role=Role.ASSISTANT,
            blocks=blocks,
            origin=replace(self._stamp(self.target), level=self.request.plan.level),
            usage=usage,
            stop=self.stop,
            answered_by=answered if answered and answered != asked else None,
            interrupted=interrupted,
            superseded=superseded,
            seconds=self._clock.monotonic() - self._started,
            first_token_s=self._thought.first_token_s,
            cost=self._price(self.target, usage) if usage is not None else None,
            cache=self._cache if usage is not None and (usage.cache_read or usage.cache_write) else None,
            answered_early=self.answered_early,
        )

    async def _send(self, backend: Backend, request: ChatRequest, on_event: Callable[[], None]) -> ProviderError | None:
        failure: ProviderError | None = None
        try:
            async with asyncio.TaskGroup() as tasks:
                self._timer = RequestTimer(self._clock, self._limit_s)
                beside = (
                    tasks.create_task(self._timer.run(on_event, self._stalled)),
                    tasks.create_task(self._raise_when_ended()),
                )
                await self._read(backend, request, on_event)
                for task in beside:
                    task.cancel()
        except* ProviderError as failures:
            failure = _first(failures)
        running = asyncio.current_task()
        if failure is not None and running is not None and running.cancelling():
            # A task group of Python 3.11 and 3.12 forgets that it was cancelled if one of its tasks failed meanwhile.
            raise asyncio.CancelledError
        return failure

    async def _raise_when_ended(self) -> None:
        await self._ended_early.wait()
        raise ProviderError(ErrorKind.OTHER, ENDED_EARLY, code=ENDED, retryable=False)

    async def _read(self, backend: Backend, request: ChatRequest, on_event: Callable[[], None]) -> None:
        self.stop = None
        events = backend.stream(self.target, request)
        try:
            async for batch in events:
                for portion in _portions(batch):
                    self._timer.received()
                    self._take_all(portion)
                    on_event()
                    await self._pace()
        finally:
            if isinstance(events, AsyncGenerator):
                await events.aclose()
        if self.stop is None:
            raise ProviderError(ErrorKind.TRUNCATED, "The stream ended before the answer did.")

    def _take_all(self, events: Sequence[StreamEvent]) -> None:
        for event in events:
            placed = self._continuation.placed(event)
            if placed is not None:
                self._take(placed)
                self.unsaved = self.unsaved or not isinstance(placed, ModelLoading | PromptRead)
        unpublished, self._unpublished = self._unpublished, []
        if unpublished:
            self._publish(*unpublished)

    def _take(self, event: StreamEvent) -> None:
        if isinstance(event, UsageReported):
            event = UsageReported(event.usage.without_false_zeros())
        if isinstance(event, BlockStarted) and event.kind == "thinking" and event.form is None:
            # Only some wires say whether thinking is a summary or the full text; otherwise the model's facts do.
            event = replace(event, form=self.target.facts.form)
        self.is_answering = self.is_answering or begins_answer(event)
        self._assembler.feed(event)
        self._thought.take(event, self._clock.monotonic())
        match event:
            case ResponseFinished(stop):
                self.stop = stop
                if stop.finish is Finish.CONTINUATION:
                    return
            case TextDelta(index, text) | ThinkingDelta(index, text):
                self._count(index, text)
                self._check_repetition(text)
            case ToolArgsDelta(index, text):
                self._count(index, text)
            case ProviderRemark(_, text) if text not in self._remarks:
                self._remarks.add(text)
                self._unpublished.append(Notice(Severity.WARNING, text))
            case ResponseStarted(model, response_id, restarted=restarted):
                self.response_id = response_id or self.response_id
                if restarted:
                    self.is_answering = False
                    self._counters.clear()
                    self._written = {}
                self._check_model(model)
            case _:
                pass
        self.shown = self.shown or not isinstance(event, _NOT_SHOWN)
        self._unpublished.append(Streamed(self.id.turn_id, self.id.round, self.id.attempt, event))

    def _count(self, index: int, text: str) -> None:
        counter = self._counters.get(index)
        if counter is None:
            counter = self._counters[index] = TextCounter(self._family)
        counter.add(text)

    def _blocks(self) -> tuple[Block, ...]:
        return self._timed(self._assembler.blocks())

    def _timed(self, blocks: tuple[Block, ...]) -> tuple[Block, ...]:
        thinking = [position for position, block in enumerate(blocks) if isinstance(block, ThinkingBlock)]
        usage = self._assembler.usage
        seconds = self._thought.all(self._clock.monotonic())
        timed = list(blocks)
        for position, took in zip(thinking, seconds, strict=False):
            block = blocks[position]
            if isinstance(block, ThinkingBlock):
                tokens = usage.thinking if usage is not None and len(thinking) == 1 else None
                timed[position] = replace(block, seconds=took, tokens=tokens or (None if block.text else tokens))
        return tuple(timed)

    def _check_repetition(self, text: str) -> None:
        if self._detector.repeats(text):
            advice = "Stop it to keep the answer so far."
            notice = Notice(Severity.WARNING, "The model repeats itself.", advice, until_turn_ends=True)
            self._unpublished.append(notice)

    def _check_model(self, answering: str | None) -> None:
        facts = self.target.facts
        if not answering or is_same_model(self.request.model, answering, facts.aliases):
            return
        warning = f"Asked `{self.request.model}`, but `{one_line(answering, 100)}` answers."
        if warning not in self._remarks:
            self._remarks.add(warning)
            self._unpublished.append(Notice(Severity.WARNING, warning))

    def _flaw(self) -> ProviderError | None:
        """Detects an answer that ended normally but is unusable."""
        if self.stop is None:
            return None
        if self.stop.finish is Finish.MALFORMED_CALL:
            return ProviderError(ErrorKind.OTHER, "The model sent an invalid tool call.", code=MALFORMED_CALL)
        if self.stop.finish is not Finish.STOP:
            return None
        blocks = self._assembler.blocks()
        if any(isinstance(block, ToolCallBlock) for block in blocks):
            return None
        if all(
            isinstance(block, ThinkingBlock)
            or (isinstance(block, TextBlock) and (not block.text or block.text.isspace()))
            for block in blocks
        ):
            thought = any(isinstance(block, ThinkingBlock) for block in blocks)
            said = "The model thought but gave no answer." if thought else "The model gave an empty answer."
            return ProviderError(ErrorKind.EMPTY, said)
        return None


def _with_text(block: Block, text: str) -> Block:
    """The block with this text; a block without text is returned as it is."""
    match block:
        case TextBlock() | ThinkingBlock():
            return replace(block, text=text)
        case ToolCallBlock():
            return replace(block, arguments=text)
        case _:
            return block


def _portions(batch: Sequence[StreamEvent]) -> Iterator[list[StreamEvent]]:
    """Yields a batch with neighbouring deltas merged, in portions that one frame of the screen can draw."""
    portion: list[StreamEvent] = []
    size = 0
    for merged in merge_stream(batch):
        for event in _cut(merged):
            portion.append(event)
            size += len(event.text) if isinstance(event, DELTAS) else 0
            if size >= PORTION:
                yield portion
                portion, size = [], 0
    if portion:
        yield portion


def _cut(event: StreamEvent) -> Iterator[StreamEvent]:
    if not isinstance(event, DELTAS) or len(event.text) <= PORTION:
        yield event
        return
    for start in range(0, len(event.text), PORTION):
        yield type(event)(event.index, event.text[start : start + PORTION])


def _first(failures: BaseExceptionGroup[ProviderError]) -> ProviderError:
    for failure in failures.exceptions:
        return _first(failure) if isinstance(failure, BaseExceptionGroup) else failure
    raise AssertionError("an exception group is never empty")
