"""What asks for the least thinking, for every model: off, or the lowest effort or budget that the model accepts."""

from __future__ import annotations

import pytest

from tests.catalog.asking import CATALOG, facts_of, planned
from tui.catalog.model_rows import effort_rank
from tui.catalog.plan import least_thinking
from tui.domain.thinking import Asked, PlanState, ThinkingLevel, ThinkingPlan

NAMES = [f"{provider}/{facts.id}" for provider in CATALOG.providers() for facts in CATALOG.models(provider)]


def asked_for(name: str, least: Asked | str) -> ThinkingPlan:
    if isinstance(least, ThinkingLevel | int):
        return planned(name, least)
    return planned(name, ThinkingLevel.NONE, effort_override=least)


def weight(sent: int | str | None) -> int:
    return sent if isinstance(sent, int) else effort_rank(sent) if sent is not None else 0


def test_no_model_can_be_asked_for_less() -> None:
    assert len(NAMES) > 100
    for name in NAMES:
        least = [asked_for(name, one) for one in least_thinking(facts_of(name))]
        none = planned(name, ThinkingLevel.NONE)
        if none.state in (PlanState.UNSUPPORTED, PlanState.UNCONTROLLED):
            assert least == [], name
        elif none.state is PlanState.OFF:
            assert least[0].fields == none.fields, name
            assert [plan.state for plan in least[1:]] in ([], [PlanState.ON]), name
        else:
            assert weight(least[0].sent) <= weight(none.sent), name
            others = [planned(name, level) for level in (ThinkingLevel.LOW, ThinkingLevel.MED, ThinkingLevel.HIGH)]
            assert all(weight(least[0].sent) <= weight(plan.sent) for plan in others), name


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("anthropic/claude-sonnet-4-5", ["disabled", 1024]),
        ("anthropic/claude-opus-5-5", ["low"]),
        ("openai/gpt-5.4", ["none", "low"]),
        ("openai/gpt-5", ["minimal"]),
        ("openai/o3-mini", ["low"]),
        ("google/gemini-2.5-pro", [128]),
        ("google/gemini-3-pro", ["LOW"]),
        ("moonshot/kimi-k2.7-code", []),
    ],
)
def test_some_models(name: str, sent: list[int | str]) -> None:
    assert [asked_for(name, one).sent for one in least_thinking(facts_of(name))] == sent
