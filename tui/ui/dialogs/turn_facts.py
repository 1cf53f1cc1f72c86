"""What a turn took, and who answered it."""

from __future__ import annotations

from tui.domain.cost import cost_of, paid_in
from tui.domain.format_numbers import duration, tokens
from tui.domain.messages import Role, Turn


def turn_facts(turn: Turn | None) -> dict[str, str]:
    """Statistics of one turn, all rounds together; a dash means unknown."""
    answers = [message for message in turn.messages if message.role is Role.ASSISTANT] if turn is not None else []
    usages = [message.usage for message in answers if message.usage is not None]
    seconds = [message.seconds for message in answers if message.seconds is not None]
    inputs = [usage.input for usage in usages if usage.input is not None]
    outputs = [max(0, usage.output - (usage.thinking or 0)) for usage in usages if usage.output is not None]
    thought = [usage.thinking for usage in usages if usage.thinking is not None]
    least = "≥ " if len(thought) < len(usages) else ""
    cost = cost_of(paid_in((turn,))).amount if turn is not None else ""
    return {
        "time": duration(sum(seconds)) if seconds else "–",
        "in": tokens(sum(inputs)) if inputs else "–",
        "out": tokens(sum(outputs)) if outputs else "–",
        "thinking": f"{least}{tokens(sum(thought))}" if thought else "–",
        "cost": cost.replace("at least", "≥") if cost else "–",
    }


def answerer_of(turn: Turn | None) -> str:
    """The model and level of a turn."""
    origins = [message.origin for message in turn.messages if message.origin is not None] if turn is not None else []
    if not origins:
        return "not answered yet" if turn is None or turn.open else "no answer"
    last = origins[-1]
    return f"{last.model} · {last.level}" if last.level else last.model
