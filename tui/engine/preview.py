"""Previews of the next request, its size, and what compression would do. Changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tui.catalog.facts import Target
from tui.domain.blocks import TextBlock
from tui.domain.compression import CompressionPreview
from tui.domain.events import AppEvent, MeterChanged
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import Message, Role, Turn
from tui.domain.request import ChatRequest
from tui.domain.usage import MeterReading, Usage
from tui.engine.ports import Ask, Planner
from tui.engine.runner import Runner

DRAFT_ID = "draft"
"""Id of the turn and message for an unsent draft."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPreview:
    """The next request as it would be sent now."""

    target: Target
    request: ChatRequest
    meter: MeterReading
    compression: CompressionPreview | None = None
    """What ``/compress`` would compress and about how much would be left; None if nothing can be compressed."""


class Previewer:
    """Previews for one session. Its coroutines run in the engine's loop."""

    def __init__(self, planner: Planner, runner: Runner, publish: Callable[[AppEvent], None]) -> None:
        self._planner = planner
        self._runner = runner
        self._publish = publish

    def publish_meter(self) -> None:
        """Publish the meter after a change of model, settings, history or tools."""
        self._publish(MeterChanged(self._planner.meter(self._runner.ask(""))))

    async def refresh_meter(self) -> None:
        """The same, for callers outside the engine's loop."""
        self.publish_meter()

    async def preview(self, draft: str) -> RequestPreview:
        """The next request and its size, with the draft counted by the meter only."""
        return self._preview_of(self._runner.ask(draft, whole=True))

    async def meter(self, draft: str) -> MeterReading:
        """The meter reading with this draft; cheap enough for every keystroke."""
        return self._planner.meter(self._runner.ask(draft))

    async def use_count(self, request: ChatRequest, tokens: int) -> None:
        """Use the provider's count of a previewed request, if that is still the next one."""
        ask = self._runner.ask("", whole=True)
        if self._planner.request(ask) is request:
            self._planner.learn(ask, Usage(input=tokens))
            self.publish_meter()

    async def preview_as_prompt(self, draft: str) -> RequestPreview:
        """Like ``preview``, but with the draft as the prompt, unless a turn runs before it."""
        ask = self._runner.ask("", whole=True)
        if draft.strip() and not self._runner.busy:
            prompt = Message(id=DRAFT_ID, role=Role.USER, blocks=(TextBlock(text=draft),))
            ask = replace(ask, turns=(*ask.turns, Turn(id=DRAFT_ID, messages=(prompt,), open=True)))
        return self._preview_of(ask)

    def _preview_of(self, ask: Ask) -> RequestPreview:
        return RequestPreview(
            target=ask.target,
            request=self._planner.request(ask),
            meter=self._planner.meter(ask),
            compression=self._runner.compaction.preview(ask),
        )
