"""Weighs requests with the context room's meter, and remembers what providers reported."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from tui.context.calibration import Anchor, Calibration, can_be_right
from tui.context.meter import Room, Tally, reading, tally
from tui.domain.request import ChatRequest
from tui.domain.usage import MeterReading, Usage
from tui.engine.ports import Ask
from tui.engine.window import opened_window

KEPT_TALLIES = 3
"""Requests whose count is remembered; as many as the planner remembers requests."""
BELIEVED = (0.5, 2.0)
"""A stored count this far from the estimate was made under other settings."""
BELIEVED_KNOWN = (0.75, 1.33)
"""The same for a model whose way of counting was learned."""


class CalibratedScales:
    """Counts a request once, however often the draft beside it changes."""

    def __init__(
        self, calibration: Calibration | None = None, keep: Callable[[Calibration], None] | None = None
    ) -> None:
        """``keep`` is told of everything learned, so that it survives the program."""
        self.calibration = calibration or Calibration()
        self._keep = keep
        self._anchors: dict[tuple[str, str], Anchor] = {}
        self._counted: deque[tuple[ChatRequest, Tally]] = deque(maxlen=KEPT_TALLIES)

    def reading(self, ask: Ask, request: ChatRequest) -> MeterReading:
        """What a request, and the draft in the ask, would weigh."""
        counted, settings = self._tally(ask, request), ask.settings
        return reading(
            counted,
            ask.target.facts,
            draft=ask.draft,
            room=Room(limit=opened_window(ask), reserved=settings.reserve, compress_at=settings.compress_at),
            calibration=self.calibration,
            anchor=self._anchors.get((ask.session, counted.key)),
        )

    def learn(self, ask: Ask, request: ChatRequest, usage: Usage) -> None:
        """What it really weighed; a count that cannot be right says nothing."""
        counted = self._tally(ask, request)
        if usage.input is None or not can_be_right(counted.estimate, usage.input, guessed=counted.pictures):
            return
        self._anchors[ask.session, counted.key] = Anchor(estimate=counted.estimate, reported=usage.input)
        self.calibration = self.calibration.learned(counted.key, counted.estimate, usage.input)
        if self._keep is not None:
            self._keep(self.calibration)

    def resume(self, ask: Ask, request: ChatRequest, usage: Usage) -> None:
        """What it really weighed then, unless settings must have been others: then it says nothing about now."""
        counted = self._tally(ask, request)
        if usage.input is None or counted.estimate <= 0:
            return
        known = self.calibration.pairs.get(counted.key, ())
        expected = self.calibration.predict(counted.key, counted.estimate)
        lowest, highest = BELIEVED_KNOWN if known else BELIEVED
        if (counted.estimate, usage.input) in known or lowest <= usage.input / expected <= highest:
            self._anchors[ask.session, counted.key] = Anchor(estimate=counted.estimate, reported=usage.input)

    def _tally(self, ask: Ask, request: ChatRequest) -> Tally:
        for known, counted in self._counted:
            if known is request:
                return counted
        made = tally(request.outgoing, ask.turns, ask.target.facts, system=request.system, tools=request.tools)
        self._counted.append((request, made))
        return made
