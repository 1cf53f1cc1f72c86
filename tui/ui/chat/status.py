"""What the status line says after each event; a pure step from status to status."""

from __future__ import annotations

from dataclasses import replace

from tui.domain.blocks import TextBlock
from tui.domain.cost import cost_of
from tui.domain.events import (
    AppEvent,
    MeterChanged,
    ModelChanged,
    RetryScheduled,
    SaveFailed,
    SaveRecovered,
    ToolStarted,
)
from tui.domain.thinking import ModelSpec, ThinkingPlan
from tui.engine.state import Phase, SessionView
from tui.ui.chat.status_line import Status


def title_of(view: SessionView) -> str:
    """The session's title: its own, or the first words that were said in it."""
    if view.title:
        return view.title
    first = view.turns[0] if view.turns else view.open_turn
    for message in first.messages if first is not None else ():
        for block in message.blocks:
            if isinstance(block, TextBlock) and block.text.strip():
                return block.text.strip()
    return "new chat"


def status_of(view: SessionView, now: float, *, full: bool) -> Status:
    """The status of a session as it stands."""
    return Status(
        name=_named(view.spec, view.plan),
        meter=view.meter,
        cost=cost_of(view.paid).words,
        phase=view.phase,
        since=now if view.phase is not Phase.IDLE else None,
        not_saved=view.not_saved or "",
        full=full,
    )


def _named(spec: ModelSpec, plan: ThinkingPlan) -> str:
    """The model, and the level in force if the model has levels."""
    return f"{spec.model}/{plan.level}" if plan.level else spec.model


def status_after(status: Status, event: AppEvent, phase: Phase, stalled_s: float | None, now: float) -> Status:
    """The status after an event; ``phase`` and ``stalled_s`` are the session's after it. The cost is not in events."""
    if phase is not status.phase:
        running = phase is not Phase.IDLE
        keeps_clock = status.since is not None and phase in (Phase.WAITING, Phase.THINKING, Phase.ANSWERING)
        since = (status.since if keeps_clock else now) if running else None
        status = replace(status, phase=phase, since=since, retry_at=None, tool="")
    status = replace(status, stalled_s=stalled_s)
    return replace(status, **_changes(status, event, now))  # type: ignore[arg-type]  # fields of Status by name


def _changes(status: Status, event: AppEvent, now: float) -> dict[str, object]:
    changes: dict[str, object] = {}
    match event:
        case MeterChanged(reading):
            changes["meter"] = reading
        case ModelChanged(spec, plan):
            changes["name"] = _named(spec, plan)
        case RetryScheduled(wait_s=wait):
            changes["retry_at"] = now + wait
        case ToolStarted(name=name):
            changes["tool"] = name
        case SaveFailed(message):
            changes["not_saved"] = message
        case SaveRecovered():
            changes["not_saved"] = ""
        case _:
            pass
    return changes
