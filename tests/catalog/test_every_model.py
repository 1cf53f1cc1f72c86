from __future__ import annotations

import pytest

from tests.catalog.asking import CATALOG, facts_of, planned
from tests.catalog.expected_plans import PLANS
from tests.catalog.refusals import refused
from tui.catalog.model_rows import model_file, packaged_files
from tui.catalog.spellings import spelling, spelling_names
from tui.domain.thinking import Asked, PlanState, ThinkingLevel, ThinkingPlan

LISTED = [f"{provider}/{facts.id}" for provider in CATALOG.providers() for facts in CATALOG.models(provider)]
ASKED: list[Asked] = [*ThinkingLevel, 1, 1_024, 3_999, 12_000, 16_000, 31_999, 64_000, 1_000_000]


@pytest.mark.one_in(10)
@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("level", ThinkingLevel)
def test_levels_become_the_documented_wire_fields(name: str, level: ThinkingLevel) -> None:
    by_rank = PLANS[name]
    assert len(by_rank) == len(ThinkingLevel)
    assert planned(name, level).fields == by_rank[level.rank]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", sorted({*LISTED, *PLANS}))
def test_no_plan_is_refused_by_its_api(name: str) -> None:
    facts = facts_of(name)
    for asked in ASKED:
        for max_output in (None, 500, 2_000, 8_192):
            assert refused(facts, planned(name, asked, max_output=max_output)) == []


@pytest.mark.parametrize("name", LISTED)
def test_every_listed_model_is_known_and_says_where_each_fact_is_from(name: str) -> None:
    facts = facts_of(name)
    assert facts.known
    maker = CATALOG.provider(facts.provider).offers.get(facts.id, facts.provider).partition("/")[0]
    assert set(facts.provenance.values()) <= {f"packaged: models/{maker}.toml", "packaged: providers.toml"}


@pytest.mark.parametrize("name", spelling_names())
def test_every_spelling_can_be_read(name: str) -> None:
    assert spelling(name).name == name


def test_every_row_and_provider_names_a_spelling_that_there_is() -> None:
    named = {
        row["spelling"] for name in packaged_files() for row in model_file(name).rows.values() if "spelling" in row
    }
    named |= {provider.spelling for provider in CATALOG.providers().values() if provider.spelling}
    assert named <= set(spelling_names())


@pytest.mark.parametrize("name", packaged_files())
def test_every_successor_is_a_model_that_is_not_gone(name: str) -> None:
    for row in model_file(name).rows.values():
        if "successor" in row:
            successor = model_file(name).rows[str(row["successor"])]
            assert successor.get("lifecycle", "current") == "current"


@pytest.mark.parametrize(
    ("name", "fields", "sentence"),
    [
        ("openai/gpt-5.5", {"reasoning": {"effort": "max"}}, "an effort that is not in the model's list"),
        ("anthropic/claude-opus-4-5", {"thinking": {"type": "enabled", "budget_tokens": 9}}, "a budget below 1,024"),
        ("anthropic/claude-opus-5", {"thinking": {"type": "between_tools"}, "output_config": {"effort": "max"}}, None),
        ("google/gemini-2.5-pro", {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}, None),
        ("moonshot/kimi-k2.6", {"thinking": {"type": "enabled"}, "reasoning_effort": "low"}, None),
        ("openai/gpt-4o", {"reasoning": {"effort": "low"}}, "thinking fields on a model that does not think"),
    ],
)
def test_the_rules_of_refusal_do_refuse(name: str, fields: dict[str, object], sentence: str | None) -> None:
    bad = ThinkingPlan(asked=1, nominal=None, sent=None, state=PlanState.ON, fields=fields, max_output=100)
    found = refused(facts_of(name), bad)
    assert found if sentence is None else sentence in found
