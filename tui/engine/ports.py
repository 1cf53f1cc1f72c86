"""What the engine needs from outside, as Protocols. Bootstrap passes the real ones, tests pass fakes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import field
from typing import Protocol

from tui.catalog.facts import Target
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
    """The current time and sleeping, so that tests can use a virtual clock."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go backwards."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class Backend(Protocol):
    """Sends requests to models. Every exception is a ProviderError (or CancelledError)."""

    def stream(self, target: Target, request: ChatRequest) -> AsyncIterator[Sequence[StreamEvent]]:
        """Send one request once, without retries. Events that arrived together are yielded together."""
        ...

    async def count(self, target: Target, request: ChatRequest) -> int | None:
        """The provider's exact count of input tokens; None if it has no counting endpoint."""
        ...


class Journal(Protocol):
    """Stores conversations. A call that returns has been written; StoreError means it was not."""

    async def turn_started(self, session: str, turn: Turn) -> None:
        """Store a new turn with its prompt."""
        ...

    async def checkpoint(self, session: str, turn_id: str, message: Message) -> None:
        """Store the open message as far as it has arrived."""
        ...

    async def grown(
        self, session: str, turn_id: str, message: Message, grown: Sequence[Growth], *, whole: bool
    ) -> bool:
        """Store what an open message (given without blocks) has gained; ``whole`` if that is all of it.

        Called at most once a second. False if the earlier part is not stored, so that the caller must write all of it.
        """
        ...

    async def message_added(self, session: str, turn_id: str, message: Message) -> None:
        """Store a complete message; replaces the checkpoint with the same id."""
        ...

    async def turn_finished(self, session: str, turn: Turn) -> None:
        """Store the end of a turn."""
        ...

    async def history_replaced(self, session: str, turns: Sequence[Turn]) -> None:
        """Make these turns the active path (edit, fork, retry); the others stay stored as siblings."""
        ...

    async def compressed(self, session: str, view: CompressionView | None) -> None:
        """Apply this view to finished turns from now on; None removes it."""
        ...

    async def summary_run(self, session: str, run: SummaryRun) -> None:
        """Store a summary request and its cost."""
        ...

    async def queued(self, session: str, prompts: Sequence[Sequence[Block]]) -> None:
        """Store the prompts that wait behind the running turn."""
        ...

    async def still_open(self, session: str) -> None:
        """Heartbeat: the session is still open here, so no other window may take it."""
        ...


class Approver(Protocol):
    """Asks the user for approval."""

    async def ask(
        self, call: ToolCallBlock, summary: str, detail: str, patterns: tuple[str, ...], note: str = ""
    ) -> str:
        """``once``, ``session``, one of ``patterns``, or ``no`` (optionally ``no: reason``).

        ``detail`` is the model's text, ``note`` is ponder's comment on it.
        """
        ...

    def settle(self, call: ToolCallBlock) -> None:
        """Withdraw the question about a call that has become allowed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRun:
    """What a toolbox needs to run one call."""

    turn_id: str
    approver: Approver
    progress: Callable[[str], None]
    tainted: bool
    """Untrusted content entered this conversation: network access and writes always ask."""


class Toolbox(Protocol):
    """The available tools."""

    def schemas(self) -> tuple[ToolSchema, ...]:
        """Definitions to send to the model."""
        ...

    def run(self, call: ToolCallBlock, run: ToolRun) -> Awaitable[ToolResultBlock]:
        """Run one call to its end. Failures are results marked as failed; only cancellation raises."""
        ...


class NoTools:
    """An empty toolbox."""

    def schemas(self) -> tuple[ToolSchema, ...]:
        return ()

    async def run(self, call: ToolCallBlock, run: ToolRun) -> ToolResultBlock:
        """Never called: no tool was offered."""
        raise AssertionError(f"no tool {call.name}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """Changes to a request that a provider refused."""

    without: tuple[str, ...] = ()
    """Parameters the provider named as unsupported."""
    without_thinking: bool = False
    """Send no thinking of earlier turns: the provider refused its signatures."""
    blank_thinking: bool = False
    """Send a blank as the thinking of answers that have none: the server requires thinking."""
    max_output: int | None = None
    """The largest output limit that the server accepts for this request."""
    nudge: str = ""
    """A sentence added to the system prompt after an empty answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """The input of the next request."""

    session: str
    turns: tuple[Turn, ...]
    target: Target
    spec: ModelSpec
    settings: EngineSettings
    tools: tuple[ToolSchema, ...] = ()
    view: CompressionView | None = None
    draft: str = ""
    """The prompt being typed; only counted by the meter."""
    repairs: Repairs = Repairs()
    continuation: str | None = None
    arriving: Arriving | None = None
    """What the last message stands for if it is an excerpt of an arriving answer; only used by the meter."""


class Planner(Protocol):
    """Builds requests and calculates their size and cost from the catalogue and the context package."""

    def target(self, spec: ModelSpec) -> Target:
        """The target for a model name; raises UnknownModel."""
        ...

    def stamp(self, target: Target) -> Origin:
        """The origin of an answer from this target now (the engine fills in the level)."""
        ...

    def plan(self, ask: Ask) -> ThinkingPlan:
        """The thinking plan for the request."""
        ...

    def request(self, ask: Ask) -> ChatRequest:
        """The request to send."""
        ...

    def meter(self, ask: Ask) -> MeterReading:
        """The size of that request."""
        ...

    def learn(self, ask: Ask, usage: Usage) -> None:
        """Record the usage the provider reported for this request."""
        ...

    def resume(self, ask: Ask) -> None:
        """Anchor the meter of a stored conversation at its last reported usage."""
        ...

    def nearest(self, spec: ModelSpec) -> tuple[str, ...]:
        """Names of models the user may have meant."""
        ...

    def cost(self, target: Target, usage: Usage) -> float | None:
        """Dollars; None if the price or the counts are unknown."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCompression:
    """A compression before its summary is written: the request, and how many turns the summary replaces."""

    request: ChatRequest
    turns: int
    before: int
    """Effective tokens before the compression."""
    plan: object
    """Private data of the compressor, passed back to it with the summary."""


class Compressor(Protocol):
    """Prepares and applies compressions of finished turns; the engine sends the requests."""

    def preview(self, ask: Ask, writer: Target) -> CompressionPreview | None:
        """What compressing now would save; None if nothing can be compressed."""
        ...

    def prepare(self, ask: Ask, writer: Target, instruction: str) -> PendingCompression | None:
        """The summary request for ``writer``; None if nothing can be compressed."""
        ...

    def smaller(self, pending: PendingCompression) -> PendingCompression | None:
        """A smaller request after the summariser overflowed; None if it cannot be smaller."""
        ...

    def apply(self, ask: Ask, pending: PendingCompression, answer: Message) -> CompressionView:
        """The view with the summary; raises PonderError if the summary is unusable (empty, cut, not smaller)."""
        ...

    def cut_results(self, ask: Ask, *, newest_first: bool) -> CompressionView | None:
        """The view with as many large tool results cut as needed; None if no result is large."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """The session's dependencies."""

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
    """A user is present to answer questions."""
    conceal: Callable[[str], str] = str
    """Removes keys from tool output before the model, the screen or the store sees it."""
    refused_parameters: RefusedParameters = field(default_factory=RefusedParameters)
    """Parameters that servers refused."""
