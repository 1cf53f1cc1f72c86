"""What the engine needs from outside, as Protocols: wiring hands in the real ones, tests hand in fakes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import field
from typing import Protocol

from tui.catalog.facts import ModelFacts, ProviderFacts
from tui.context.meter import Arriving
from tui.domain.blocks import Block, ToolCallBlock, ToolResultBlock
from tui.domain.compression import CompressionPreview, CompressionView, SummaryRun
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import Growth, Message, Origin, Turn
from tui.domain.request import ChatRequest, ToolSchema
from tui.domain.stream import StreamEvent
from tui.domain.thinking import ModelSpec, ThinkingPlan
from tui.domain.usage import MeterReading, Usage
from tui.engine.refused_parameters import RefusedParameters
from tui.engine.settings import EngineSettings


class Clock(Protocol):
    """Time as an argument."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Seconds that only go forward."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A model at a provider, ready to be asked."""

    provider: ProviderFacts
    facts: ModelFacts
    origin: Origin
    """The stamp of answers from here, as far as it is known beforehand."""


class Backend(Protocol):
    """A way to models. Everything raised is a ProviderError (or CancelledError)."""

    def stream(self, target: Target, request: ChatRequest) -> AsyncIterator[Sequence[StreamEvent]]:
        """Send one request, once; no retries in here. Events that arrived together are yielded together."""
        ...

    async def count(self, target: Target, request: ChatRequest) -> int | None:
        """Exact input tokens by the provider's own count; None where it has none."""
        ...


class Journal(Protocol):
    """Where a conversation is kept. A call that returns has been written; a StoreError means it was not."""

    async def turn_started(self, session: str, turn: Turn) -> None:
        """A prompt was accepted."""
        ...

    async def checkpoint(self, session: str, turn_id: str, message: Message) -> None:
        """The open message as far as it has come."""
        ...

    async def grown(
        self, session: str, turn_id: str, message: Message, grown: Sequence[Growth], *, whole: bool
    ) -> bool:
        """What an open message (given without blocks) has gained, at most once a second; ``whole`` is all there is.

        False when what was there before is not stored, so that all of it must be written.
        """
        ...

    async def message_added(self, session: str, turn_id: str, message: Message) -> None:
        """A message is complete; the checkpoint of the same id is replaced."""
        ...

    async def turn_finished(self, session: str, turn: Turn) -> None:
        """The turn is over."""
        ...

    async def history_replaced(self, session: str, turns: Sequence[Turn]) -> None:
        """The active path changed (edit, fork, retry): these turns are it now; others stay as siblings."""
        ...

    async def compressed(self, session: str, view: CompressionView | None) -> None:
        """Finished turns are looked at through this view from now on; None lifts it."""
        ...

    async def summary_run(self, session: str, run: SummaryRun) -> None:
        """A summary was asked for: what that cost."""
        ...

    async def queued(self, session: str, prompts: Sequence[Sequence[Block]]) -> None:
        """These prompts wait behind the running turn now."""
        ...

    async def still_open(self, session: str) -> None:
        """The session is still open here: nobody else may take it."""
        ...


class Approver(Protocol):
    """Asks the user; the engine does not know how."""

    async def ask(
        self, call: ToolCallBlock, summary: str, detail: str, patterns: tuple[str, ...], note: str = ""
    ) -> str:
        """``once``, ``session``, one of ``patterns``, or ``no`` (optionally ``no: reason``).

        ``detail`` holds the model's words, ``note`` what ponder says about them.
        """
        ...

    def settle(self, call: ToolCallBlock) -> None:
        """A call that waits for an answer needs none any more: it is allowed now."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRun:
    """What a toolbox needs to run one call."""

    turn_id: str
    approver: Approver
    progress: Callable[[str], None]
    tainted: bool
    """Untrusted content entered this conversation: network and writes always ask."""


class Toolbox(Protocol):
    """The tools at hand."""

    def schemas(self) -> tuple[ToolSchema, ...]:
        """Definitions to offer."""
        ...

    def run(self, call: ToolCallBlock, run: ToolRun) -> Awaitable[ToolResultBlock]:
        """Run one call to its end; failures are results marked failed, only cancellation raises."""
        ...


class NoTools:
    """An empty toolbox."""

    def schemas(self) -> tuple[ToolSchema, ...]:
        """None."""
        return ()

    async def run(self, call: ToolCallBlock, run: ToolRun) -> ToolResultBlock:
        """Never reached by an honest model."""
        raise AssertionError(f"no tool {call.name}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """How a request differs from the one a provider refused."""

    without: tuple[str, ...] = ()
    """Parameters the provider named as unsupported."""
    without_thinking: bool = False
    """Send no thinking of earlier turns: its seals were refused."""
    blank_thinking: bool = False
    """Send a blank as the thinking of answers that have none: the server refuses answers without."""
    max_output: int | None = None
    """The largest output limit that the server accepts for this request."""
    nudge: str = ""
    """A sentence added to the system prompt, after an answer without an answer in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Everything the next request is made from."""

    session: str
    turns: tuple[Turn, ...]
    target: Target
    spec: ModelSpec
    settings: EngineSettings
    tools: tuple[ToolSchema, ...] = ()
    view: CompressionView | None = None
    draft: str = ""
    """Words being typed; counted by the meter only."""
    repairs: Repairs = Repairs()
    continuation: str | None = None
    arriving: Arriving | None = None
    """What the last message stands for, if it is an excerpt of an answer that is still arriving; for the meter only."""


class Planner(Protocol):
    """What will be asked, and what it will cost: the catalogue and the context room behind one door. Pure."""

    def target(self, spec: ModelSpec) -> Target:
        """Where a name leads; raises UnknownModel."""
        ...

    def stamp(self, target: Target) -> Origin:
        """The origin of an answer that comes from there now (level filled in by the engine)."""
        ...

    def plan(self, ask: Ask) -> ThinkingPlan:
        """How the thinking will be controlled."""
        ...

    def request(self, ask: Ask) -> ChatRequest:
        """The request itself."""
        ...

    def meter(self, ask: Ask) -> MeterReading:
        """What that request would weigh."""
        ...

    def learn(self, ask: Ask, usage: Usage) -> None:
        """The provider reported what this request really weighed."""
        ...

    def resume(self, ask: Ask) -> None:
        """A stored conversation goes on: what its last answer reported is known again."""
        ...

    def nearest(self, spec: ModelSpec) -> tuple[str, ...]:
        """Names of models the user may have meant."""
        ...

    def cost(self, target: Target, usage: Usage) -> float | None:
        """Dollars; None where the price or the counts are unknown."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCompression:
    """A compression about to happen: what to ask the summariser, and how many turns it replaces."""

    request: ChatRequest
    turns: int
    before: int
    """Effective tokens now."""
    plan: object
    """The compressor's own notes, handed back to it with the summary."""


class Compressor(Protocol):
    """Folds finished turns into summaries. Pure: the engine does the asking."""

    def preview(self, ask: Ask, writer: Target) -> CompressionPreview | None:
        """What folding now would come to; None when there is nothing that could be folded."""
        ...

    def fold(self, ask: Ask, writer: Target, instruction: str) -> PendingCompression | None:
        """What to ask ``writer`` for a summary; None when there is nothing that could be folded."""
        ...

    def smaller(self, folding: PendingCompression) -> PendingCompression | None:
        """The same with less to read, after the summariser overflowed; None when it cannot get smaller."""
        ...

    def apply(self, ask: Ask, folding: PendingCompression, answer: Message) -> CompressionView:
        """The view with the summary in it; raises PonderError when the summary is useless (empty, cut, not smaller)."""
        ...

    def shorten(self, ask: Ask, *, newest_first: bool) -> CompressionView | None:
        """The view with large tool results cut, as many as needed; None when none is large."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Everything a session reaches the outside through."""

    backend: Backend
    journal: Journal
    planner: Planner
    compressor: Compressor
    clock: Clock
    toolbox: Toolbox
    new_id: Callable[[], str]
    draw: Callable[[], float]
    """A random number from 0 to 1."""
    interactive: bool = True
    """Somebody can be asked."""
    conceal: Callable[[str], str] = str
    """Takes keys out of text that a tool brings in, before the model, the screen or the store sees it."""
    habits: RefusedParameters = field(default_factory=RefusedParameters)
    """What servers showed not to take."""
