"""A backend that plays scripts, and short ways to write them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from tui.catalog.facts import Target
from tui.domain.blocks import ProviderState
from tui.domain.errors import ProviderError
from tui.domain.request import ChatRequest
from tui.domain.stream import (
    BlockFinished,
    BlockStarted,
    Finish,
    ProviderStateReceived,
    ResponseFinished,
    ResponseStarted,
    Stop,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolArgsDelta,
    UsageReported,
)
from tui.domain.usage import Usage


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing comes for this long."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Batch:
    """Events that arrive together."""

    events: tuple[StreamEvent, ...]


Script = Sequence[StreamEvent | ProviderError | Pause | Batch]

HANG = Pause(1e9)
USAGE = Usage(input=10, output=5, thinking=2, total=15)


@dataclass
class FakeBackend:
    """Plays one script per request; the last one again and again when ``forever``."""

    scripts: list[Script]
    forever: bool = False
    requests: list[ChatRequest] = field(default_factory=list)
    asked_at: list[float] = field(default_factory=list)

    async def stream(self, target: Target, request: ChatRequest) -> AsyncIterator[Sequence[StreamEvent]]:
        self.requests.append(request)
        self.asked_at.append(asyncio.get_running_loop().time())
        script = self.scripts[0] if self.forever and len(self.scripts) == 1 else self.scripts.pop(0)
        for step in script:
            await asyncio.sleep(0)
            if isinstance(step, ProviderError):
                raise step
            if isinstance(step, Pause):
                await asyncio.sleep(step.seconds)
            else:
                yield step.events if isinstance(step, Batch) else (step,)

    async def count(self, target: Target, request: ChatRequest) -> int | None:
        return None


def finish(why: Finish = Finish.STOP, *, detail: str | None = None, usage: Usage | None = USAGE) -> list[StreamEvent]:
    reported: list[StreamEvent] = [UsageReported(usage)] if usage else []
    return [*reported, ResponseFinished(Stop(why, why.value, detail))]


def words(text: str, index: int = 0, *, provider_state: ProviderState | None = None) -> list[StreamEvent]:
    half = len(text) // 2
    signed: list[StreamEvent] = [ProviderStateReceived(index, provider_state)] if provider_state else []
    return [
        BlockStarted(index, "text"),
        TextDelta(index, text[:half]),
        TextDelta(index, text[half:]),
        *signed,
        BlockFinished(index),
    ]


def thought(text: str, index: int = 0, *, signature: str | None = "sig") -> list[StreamEvent]:
    signed: list[StreamEvent] = [ProviderStateReceived(index, ProviderState(signature=signature))] if signature else []
    return [BlockStarted(index, "thinking"), ThinkingDelta(index, text), *signed, BlockFinished(index)]


def call(call_id: str, name: str, arguments: str, index: int = 0) -> list[StreamEvent]:
    return [BlockStarted(index, "tool_call", name, call_id), ToolArgsDelta(index, arguments), BlockFinished(index)]


def answer(text: str) -> list[StreamEvent]:
    """A whole response: one block of words."""
    return [ResponseStarted("m", "r1"), *words(text), *finish()]


def calls(*wanted: tuple[str, str, str], why: Finish = Finish.TOOL_USE) -> list[StreamEvent]:
    """A whole response: tool calls as (id, name, arguments)."""
    made: list[StreamEvent] = [ResponseStarted("m", "r1")]
    for index, (call_id, name, arguments) in enumerate(wanted):
        made += call(call_id, name, arguments, index)
    return [*made, *finish(why)]
