"""What the engine needs from outside, as Protocols: wiring hands in the real ones, tests hand in fakes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tui.catalog.facts import ModelFacts, ProviderFacts
from tui.domain.blocks import ToolCallBlock, ToolResultBlock
from tui.domain.messages import Message, Origin, Turn
from tui.domain.request import ChatRequest, ToolSchema
from tui.domain.stream import StreamEvent


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
    """The stamp answers from here will carry (level filled in by the engine)."""


class Backend(Protocol):
    """A way to models. Everything raised is a ProviderError (or CancelledError)."""

    def stream(self, target: Target, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        """Send one request, once; no retries in here."""
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
        """The open message as far as it has come (at most once a second)."""
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


class Approver(Protocol):
    """Asks the user; the engine does not know how."""

    async def ask(self, call: ToolCallBlock, summary: str, detail: str, patterns: tuple[str, ...]) -> str:
        """``once``, ``session``, one of ``patterns``, or ``no`` (optionally ``no: reason``)."""
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


Settings = Mapping[str, object]
