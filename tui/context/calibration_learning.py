"""Updates the calibration from a reported input count."""

from __future__ import annotations

from dataclasses import replace

from tui.catalog.facts import ThinkingCounted
from tui.context.calibration import SHORT_OPENING, Anchor, Calibration, thinking_verdict, tools_verdict
from tui.context.meter import Tally
from tui.domain.usage import Part


def learn(
    calibration: Calibration, counted: Tally, reported: int, before: Anchor | None, declared: ThinkingCounted
) -> Calibration:
    """Return the calibration updated with the reported count of a request.

    ``before`` is the anchor of the previous request, ``declared`` the catalogue's rule for counted thinking.
    """
    if before is None:
        verdict_on_tools = tools_verdict(counted.estimate, counted.parts.get(Part.TOOLS, 0), reported)
        if verdict_on_tools is not None:
            calibration = calibration.judged_tools(counted.key, counted=verdict_on_tools)
            if not calibration.of(counted.key).counts_tools:
                return calibration
        if counted.pictures or counted.conversation > SHORT_OPENING:
            return calibration
        return calibration.opened(counted.key, counted.estimate, reported, tools=counted.tools)
    now = counted.anchor(reported)
    verdict = thinking_verdict(before, now)
    if verdict is not None:
        calibration = calibration.judged(counted.key, verdict)
    if counted.pictures:
        return calibration
    since = counted.with_answer(before, followed=True)
    if since is before:
        rule = calibration.counted(counted.key, declared)
        since = replace(before, estimate=before.others + before.thinking.get(rule, 0))
        now = replace(now, estimate=now.others + now.thinking.get(rule, 0))
    return calibration.stepped(counted.key, now.estimate - since.estimate, reported - since.reported)
