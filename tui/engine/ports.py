"""What the engine needs from outside. Bootstrap passes the real implementations, tests pass fakes.

Clock, Backend, Journal and Toolbox are Protocols because the engine may not import the rooms that implement them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import field
from typing import Protocol

from tui.catalog.facts import Target
from tui.domain.blocks import Block, ToolCallBlock, ToolResultBlock
from tui.domain.compression import CompressionView, SummaryRun
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import BlockGrowth, Message, Turn
from tui.domain.request import ChatRequest, ToolSchema
from tui.domain.stream import StreamEvent
from tui.domain.tool_run import ToolRun
from tui.engine.budget import InMemoryLedger, Ledger
from tui.engine.compressor import Compressor
from tui.engine.planner import Planner
from tui.engine.refused_parameters import RefusedParameters


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
        self, session: str, turn_id: str, message: Message, grown: Sequence[BlockGrowth], *, whole: bool
    ) -> bool:
        """Store what an open message (given without blocks) has gained; ``whole`` if that is its entire content.

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

    async def turn_kept(self, session: str, turn: Turn, after: str | None) -> None:
        """Store a finished turn as a branch after the turn ``after``; None is the beginning.

        The active path does not change. Costs recorded for its answers as runs are replaced.
        """
        ...

    async def queued(self, session: str, prompts: Sequence[Sequence[Block]]) -> None:
        """Store the prompts that wait behind the running turn."""
        ...

    async def still_open(self, session: str) -> None:
        """Heartbeat: the session is still open here, so no other window may take it."""
        ...


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


async def _cannot_end_thinking(target: Target, request: ChatRequest, response_id: str) -> bool:
    return False


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
    private: bool = False
    """Nothing of the conversation may reach the disk; the journal is in memory."""
    conceal: Callable[[str], str] = str
    """Removes keys from tool output before the model, the screen or the store sees it."""
    refused_parameters: RefusedParameters = field(default_factory=RefusedParameters)
    """Parameters that servers refused."""
    open_ledger: Callable[[], Ledger] = InMemoryLedger
    """Returns the record of what requests cost, for spending limits."""
    max_cost: float | None = None
    """Dollars that this start of the program may spend."""
    end_thinking: Callable[[Target, ChatRequest, str], Awaitable[bool]] = _cannot_end_thinking
    """Asks the server to end the thinking of a running response (named by its id) and to answer; False if it cannot."""
