"""A selection counted and its meter read in one step, as the planner does over several requests."""

from __future__ import annotations

from collections.abc import Sequence

from tui.catalog.facts import ModelFacts
from tui.context.calibration import Anchor, Calibration
from tui.context.meter import WindowLimits, reading_of, tally
from tui.domain.messages import Turn
from tui.domain.request import Outgoing, ToolSchema
from tui.domain.usage import MeterReading


def measure(
    outgoing: Outgoing,
    turns: Sequence[Turn],
    facts: ModelFacts,
    *,
    system: str = "",
    tools: Sequence[ToolSchema] = (),
    draft: str = "",
    room: WindowLimits | None = None,
    calibration: Calibration | None = None,
    anchor: Anchor | None = None,
) -> MeterReading:
    counted = tally(outgoing, turns, facts, system=system, tools=tools)
    return reading_of(counted, facts, draft=draft, room=room, calibration=calibration, anchor=anchor)
