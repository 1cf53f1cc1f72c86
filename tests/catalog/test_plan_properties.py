from __future__ import annotations

from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from tests.catalog.asking import CATALOG, facts_of, planned
from tests.catalog.refusals import refused
from tui.catalog.model_rows import effort_rank
from tui.catalog.plan import DynamicBudget, PlanOptions
from tui.domain.thinking import Asked, PlanState, ThinkingLevel

NAMES = st.sampled_from(
    [f"{provider}/{facts.id}" for provider in CATALOG.providers() for facts in CATALOG.models(provider)]
)
ASKED: st.SearchStrategy[Asked] = st.sampled_from(ThinkingLevel) | st.integers(0, 2_000_000)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "max_output": st.integers(16, 300_000),
        "context_tokens": st.integers(0, 2_000_000),
        "dynamic_budget": st.none() | st.just(DynamicBudget()),
        "with_tools": st.booleans(),
        "effort_override": st.sampled_from(["none", "minimal", "low", "medium", "high", "xhigh", "max"]),
        "max_tokens_override": st.integers(0, 200_000),
        "enabled": st.booleans(),
        "summary": st.sampled_from(["auto", "concise", "detailed", "off"]),
    },
).map(lambda options: cast(PlanOptions, options))


@given(name=NAMES, asked=ASKED, options=OPTIONS)
def test_whatever_is_asked_the_plan_is_one_the_api_takes(name: str, asked: Asked, options: PlanOptions) -> None:
    assert refused(facts_of(name), planned(name, asked, **options)) == []


@given(name=NAMES, asked=ASKED, options=OPTIONS)
def test_what_is_sent_is_at_most_nominal_or_it_is_explained(name: str, asked: Asked, options: PlanOptions) -> None:
    made = planned(name, asked, **options)
    if isinstance(made.nominal, int) and isinstance(made.sent, int):
        assert made.sent <= made.nominal or made.warnings
        told = f"{made.sent:,}" if made.sent else "off"
        assert made.sent == made.nominal or told in made.summary + "".join(made.warnings)


def _strength(sent: int | str | None, state: PlanState) -> float:
    if state is PlanState.OFF:
        return -1
    if isinstance(sent, str) and sent.lower() in ("minimal", "low", "medium", "high", "xhigh", "max"):
        return effort_rank(sent)
    return 10**9 if isinstance(sent, str) else sent or 0


@given(name=NAMES, options=OPTIONS.filter(lambda options: "effort_override" not in options))
def test_a_higher_level_never_thinks_less(name: str, options: PlanOptions) -> None:
    plans = [planned(name, level, **options) for level in ThinkingLevel]
    strengths = [_strength(made.sent, made.state) for made in plans]
    if not name.endswith(("/o1", "/o3-mini")):  # their none is their documented default, medium
        assert strengths == sorted(strengths)


@given(name=NAMES, budgets=st.lists(st.integers(1, 300_000), min_size=2, max_size=5))
def test_a_larger_budget_never_thinks_less(name: str, budgets: list[int]) -> None:
    plans = [planned(name, budget) for budget in sorted(budgets)]
    strengths = [_strength(made.sent, made.state) for made in plans]
    assert strengths == sorted(strengths)


@given(name=NAMES, asked=ASKED, options=OPTIONS)
def test_whoever_asks_for_none_is_told_when_it_thinks_all_the_same(
    name: str, asked: Asked, options: PlanOptions
) -> None:
    off: PlanOptions = {**options, "enabled": False}
    made = planned(name, asked, **off)
    assert made.asked is ThinkingLevel.NONE
    assert not made.thinks or any("cannot switch thinking off" in warning for warning in made.warnings)
