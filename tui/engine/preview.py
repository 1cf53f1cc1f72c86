"""What would happen next in a conversation: the next request, its weight, what would be folded. Changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tui.domain.blocks import TextBlock
from tui.domain.compression import CompressionPreview
from tui.domain.events import AppEvent, MeterChanged
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import Message, Role, Turn
from tui.domain.request import ChatRequest
from tui.domain.usage import MeterReading, Usage
from tui.engine.ports import Ask, Planner, Target
from tui.engine.runner import Runner

DRAFT_ID = "draft"
"""Names the turn and message of words that were not sent yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPreview:
    """The next request as it would go out now."""

    target: Target
    request: ChatRequest
    meter: MeterReading
    compression: CompressionPreview | None = None
    """What ``/compress`` would fold and about how much would be left; None when there is nothing to fold."""


class Previewer:
    """Looks ahead for one session; coroutines of the engine's loop, as the session's own."""

    def __init__(self, planner: Planner, runner: Runner, publish: Callable[[AppEvent], None]) -> None:
        self._planner = planner
        self._runner = runner
        self._publish = publish

    def tell(self) -> None:
        """Something changed what the next request weighs: model, settings, history, tools."""
        self._publish(MeterChanged(self._planner.meter(self._runner.ask(""))))

    async def tell_again(self) -> None:
        """The same, called from outside the engine's loop."""
        self.tell()

    async def preview(self, draft: str) -> RequestPreview:
        """What the next request would be, and what it would weigh with the draft in it."""
        return self._seen(self._runner.ask(draft, whole=True))

    async def weigh(self, draft: str) -> MeterReading:
        """The meter with these words in it; cheap enough for every keystroke."""
        return self._planner.meter(self._runner.ask(draft))

    async def counted(self, request: ChatRequest, tokens: int) -> None:
        """The provider counted a request that was previewed: the meter goes by it while that is still the next one."""
        ask = self._runner.ask("", whole=True)
        if self._planner.request(ask) is request:
            self._planner.learn(ask, Usage(input=tokens))
            self.tell()

    async def spoken(self, draft: str) -> RequestPreview:
        """The same as ``preview``, but with the draft as the prompt it would be, unless a turn runs before it."""
        ask = self._runner.ask("", whole=True)
        if draft.strip() and not self._runner.busy:
            said = Message(id=DRAFT_ID, role=Role.USER, blocks=(TextBlock(text=draft),))
            ask = replace(ask, turns=(*ask.turns, Turn(id=DRAFT_ID, messages=(said,), open=True)))
        return self._seen(ask)

    def _seen(self, ask: Ask) -> RequestPreview:
        return RequestPreview(
            target=ask.target,
            request=self._planner.request(ask),
            meter=self._planner.meter(ask),
            compression=self._runner.compaction.preview(ask),
        )
