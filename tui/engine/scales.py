"""Weighs requests with the context room's meter, and remembers what providers reported."""

from __future__ import annotations

from collections.abc import Callable

from tui.context.calibration import Anchor, Calibration
from tui.context.meter import Room, Tally, reading, tally
from tui.domain.request import ChatRequest
from tui.domain.usage import MeterReading, Usage
from tui.engine.ports import Ask


class CalibratedScales:
    """Counts a request once, however often the draft beside it changes."""

    def __init__(
        self, calibration: Calibration | None = None, keep: Callable[[Calibration], None] | None = None
    ) -> None:
        """``keep`` is told of everything learned, so that it survives the program."""
        self.calibration = calibration or Calibration()
        self._keep = keep
        self._anchors: dict[tuple[str, str], Anchor] = {}
        self._counted: tuple[ChatRequest, Tally] | None = None

    def reading(self, ask: Ask, request: ChatRequest) -> MeterReading:
        """What a request, and the draft in the ask, would weigh."""
        counted, settings = self._tally(ask, request), ask.settings
        return reading(
            counted,
            ask.target.facts,
            draft=ask.draft,
            room=Room(limit=settings.context_limit, reserved=settings.reserve, compress_at=settings.compress_at),
            calibration=self.calibration,
            anchor=self._anchors.get((ask.session, counted.key)),
        )

    def learn(self, ask: Ask, request: ChatRequest, usage: Usage) -> None:
        """What it really weighed."""
        if usage.input is None:
            return
        counted = self._tally(ask, request)
        self._anchors[ask.session, counted.key] = Anchor(estimate=counted.estimate, reported=usage.input)
        self.calibration = self.calibration.learned(counted.key, counted.estimate, usage.input)
        if self._keep is not None:
            self._keep(self.calibration)

    def _tally(self, ask: Ask, request: ChatRequest) -> Tally:
        counted = self._counted
        if counted is None or counted[0] is not request:
            made = tally(request.outgoing, ask.turns, ask.target.facts, system=request.system, tools=request.tools)
            counted = self._counted = (request, made)
        return counted[1]
