"""Counts the tokens of requests, and learns from what providers report."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace

from tui.catalog.facts import ModelFacts
from tui.context.calibration import Anchor, Calibration, calibration_key, can_be_right
from tui.context.meter import (
    Tally,
    WindowLimits,
    reading_of,
    tally,
    updated_calibration,
    with_arriving,
    with_project_apart,
)
from tui.domain.request import ChatRequest
from tui.domain.usage import MeterReading, Part, Usage
from tui.engine.request_inputs import RequestInputs, opened_window

KEPT_TALLIES = 3
"""Number of requests of a session whose count is cached; equal to the planner's cache."""
BELIEVED = (0.5, 2.0)
"""A stored count that differs this much from the estimate was made with other settings."""
BELIEVED_KNOWN = (0.75, 1.33)
"""The same for a model whose token counting was calibrated."""


MARGIN = 1.1
"""The largest error of estimates for a model whose reported counts are known, as a factor."""
MARGIN_UNKNOWN = 1.3
"""The same for a model that has not reported a count yet."""


class TokenMeter:
    """Counts a request once, however often the draft beside it changes."""

    def __init__(
        self, calibration: Calibration | None = None, keep: Callable[[Calibration], None] | None = None
    ) -> None:
        """``keep`` receives everything that was learned, to store it."""
        self.calibration = calibration or Calibration()
        self._keep = keep
        self._anchors: dict[tuple[str, str], Anchor] = {}
        self._counted: dict[str, deque[tuple[ChatRequest, ModelFacts, bool, Tally]]] = {}
        """By session, so that sessions that run side by side do not push out each other's counts."""

    def reading(self, inputs: RequestInputs, request: ChatRequest) -> MeterReading:
        """The size of the request, including the draft."""
        counted, settings = self._tally(inputs, request), inputs.settings
        if inputs.arriving is not None:
            counted = with_arriving(counted, request.outgoing, inputs.arriving)
        return reading_of(
            counted,
            inputs.target.facts,
            draft=inputs.draft,
            room=WindowLimits(limit=opened_window(inputs), reserved=settings.reserve, compress_at=settings.compress_at),
            calibration=self.calibration,
            anchor=self._anchors.get((inputs.session, counted.key)),
        )

    def margin(self, inputs: RequestInputs) -> float:
        """The factor by which a request may be larger than its estimate."""
        facts = inputs.target.facts
        known = self.calibration.of(calibration_key(facts.provider, facts.id))
        return MARGIN if known.openings or known.openings_with_tools or known.steps else MARGIN_UNKNOWN

    def learn(self, inputs: RequestInputs, request: ChatRequest, usage: Usage) -> None:
        """Record the reported usage of a request; implausible values are ignored."""
        counted = self._tally(inputs, request)
        guessed = counted.pictures + counted.parts[Part.THINKING_SENT] + counted.parts[Part.TOOLS]
        if usage.input is None or not can_be_right(counted.estimate, usage.input, guessed=guessed):
            return
        before = self._anchors.get((inputs.session, counted.key))
        self.calibration = updated_calibration(
            self.calibration, counted, usage.input, before, inputs.target.facts.counted
        )
        self._anchors[inputs.session, counted.key] = self._tally(inputs, request).anchor(usage.input)
        if self._keep is not None:
            self._keep(self.calibration)

    def resume(self, inputs: RequestInputs, request: ChatRequest, usage: Usage) -> None:
        """Anchor a stored conversation at its last reported usage, unless that was made with other settings."""
        counted = self._tally(inputs, request)
        if usage.input is None or counted.estimate <= 0:
            return
        known = self.calibration.of(counted.key)
        learned = known.openings_with_tools if counted.tools else known.openings
        expected = self.calibration.predict(counted.key, counted.estimate, tools=counted.tools)
        lowest, highest = BELIEVED_KNOWN if learned else BELIEVED
        if (counted.estimate, usage.input) in learned or lowest <= usage.input / expected <= highest:
            self._anchors[inputs.session, counted.key] = counted.anchor(usage.input)

    def _tally(self, inputs: RequestInputs, request: ChatRequest) -> Tally:
        facts = inputs.target.facts
        key = calibration_key(facts.provider, facts.id)
        counts = self.calibration.counted_thinking(key, facts.counted)
        if counts is not facts.counted:
            facts = replace(facts, counted=counts)
        with_tools = self.calibration.of(key).counts_tools
        kept = self._counted.setdefault(inputs.session, deque(maxlen=KEPT_TALLIES))
        for known, under, tools_counted, counted in tuple(kept):
            if known is request and under.counted is counts and tools_counted is with_tools:
                return counted
        made = tally(
            request.outgoing,
            inputs.turns,
            facts,
            system=request.system,
            tools=request.tools if with_tools else (),
            server_tools=request.server_tools,
            thinks=request.plan.thinks,
        )
        if request.project:
            made = with_project_apart(made, request.project)
        kept.append((request, facts, with_tools, made))
        return made

    def forget(self, session: str) -> None:
        """Drop what is cached for a session that was closed."""
        self._counted.pop(session, None)
