"""What a turn took, and who answered it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from textual.content import Content

from tui.domain.cost import cost_of, paid_in
from tui.domain.format_numbers import duration, tokens
from tui.domain.messages import Role, Turn
from tui.domain.thinking import labelled_name


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
        "thinking": f"{least}{tokens(sum(thought))}" if thought else "–",
        "out": tokens(sum(outputs)) if outputs else "–",
        "cost": cost.replace("at least", "≥") if cost else "–",
    }


GAP = "   "


def differing(answers: Sequence[Mapping[str, str]]) -> frozenset[str]:
    """The facts that are not the same in all answers."""
    names = answers[0] if answers else {}
    return frozenset(name for name in names if len({facts.get(name, "") for facts in answers}) > 1)


def facts_table(facts: Mapping[str, str], emphasised: Set[str], widths: Mapping[str, int]) -> tuple[Content, Content]:
    """Names above values; the emphasised ones are bright, the others muted. ``widths``: columns of each."""
    names, values = [], []
    for name, value in facts.items():
        room = widths.get(name, len(value))
        bright = name in emphasised
        names.append(Content.styled(name.ljust(room), "$quiet"))
        values.append(Content.styled(value.ljust(room), "bold $foreground" if bright else "$quiet"))
    return Content(GAP).join(names), Content(GAP).join(values)


def fact_widths(answers: Sequence[Mapping[str, str]]) -> dict[str, int]:
    """As many columns for each fact as its longest value needs."""
    names = answers[0] if answers else {}
    return {name: max(len(name), *(len(facts.get(name, "")) for facts in answers)) for name in names}


def answerer_of(turn: Turn | None) -> str:
    """The model and level of a turn."""
    origins = [message.origin for message in turn.messages if message.origin is not None] if turn is not None else []
    if not origins:
        return "not answered yet" if turn is None or turn.open else "no answer"
    last = origins[-1]
    name = labelled_name(last.provider, last.model)
    return f"{name} · {last.level}" if last.level else name
