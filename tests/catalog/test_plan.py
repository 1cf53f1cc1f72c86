from __future__ import annotations

import pytest

from tests.catalog.asking import CATALOG, facts_of, planned
from tests.catalog.wire_fields import adaptive, claude_budget, gemini_budget
from tui.catalog.facts import BudgetRange
from tui.catalog.plan import DynamicBudget, PlanOptions, plan, plan_options
from tui.catalog.thinking_choice import level_budget
from tui.domain.thinking import PlanState, ThinkingLevel

NONE, LOW, MED, HIGH = ThinkingLevel
BETA = {"anthropic-beta": "interleaved-thinking-2025-05-14"}


@pytest.mark.parametrize(
    ("name", "nominal"),
    [
        ("anthropic/claude-sonnet-4-5", (1_024, 22_016, 43_008, 64_000)),
        ("anthropic/claude-opus-4-5", (1_024, 22_016, 43_008, 64_000)),
        ("anthropic/claude-haiku-4-5", (1_024, 11_349, 21_674, 32_000)),
        ("anthropic/claude-3-7-sonnet", (1_024, 11_349, 21_674, 32_000)),
        ("google/gemini-2.5-pro", (128, 11_008, 21_888, 32_768)),
        ("google/gemini-2.5-flash", (0, 8_192, 16_384, 24_576)),
        ("google/gemini-2.5-flash-lite", (512, 8_533, 16_554, 24_576)),
    ],
)
def test_nominal_budgets_are_thirds_of_the_models_range(name: str, nominal: tuple[int, ...]) -> None:
    assert tuple(planned(name, level).nominal for level in ThinkingLevel) == nominal


def test_the_formula_rounds_down() -> None:
    assert [level_budget(BudgetRange(min=10, max=12), level) for level in ThinkingLevel] == [10, 10, 11, 12]


@pytest.mark.parametrize(
    ("name", "asked", "summary"),
    [
        ("anthropic/claude-sonnet-4-5", MED, "Thinking: medium (43,008 tokens)"),
        ("anthropic/claude-sonnet-4-5", HIGH, "Thinking: high (64,000 nominal, 59,904 sent)"),
        ("anthropic/claude-sonnet-4-5", 16_000, "Thinking: 16,000 tokens"),
        ("anthropic/claude-sonnet-4-5", 100_000, "Thinking: 100,000 tokens asked, 59,904 sent"),
        ("anthropic/claude-sonnet-4-5", NONE, "Thinking: off"),
        ("anthropic/claude-sonnet-5-5", NONE, "Thinking: only between tools"),
        ("google/gemini-2.5-pro", NONE, "Thinking: minimum (128 tokens)"),
        ("google/gemini-3.1-pro-preview", NONE, "Thinking: low"),
        ("deepseek/deepseek-flash", HIGH, "Thinking: high (effort max)"),
        ("openai/gpt-5.5", 20_000, "Thinking: 20,000 tokens (effort medium)"),
        ("moonshot/kimi-k2.6", LOW, "Thinking: on (this model has no levels)"),
        ("alibaba/qwen3.7-max", HIGH, "Thinking: high (no limit)"),
        ("moonshot/kimi-k2.7-code", MED, "Thinking: always on, it cannot be controlled"),
        ("openai/gpt-4o", MED, "Thinking: none, this model does not think"),
        ("openai/gpt-9", MED, "Thinking: server default"),
    ],
)
def test_the_summary_says_what_is_effective(name: str, asked: ThinkingLevel | int, summary: str) -> None:
    assert planned(name, asked).summary == summary


@pytest.mark.parametrize(
    ("name", "asked", "warnings"),
    [
        ("google/gemini-3.1-pro-preview", NONE, ("This model cannot switch thinking off: using LOW",)),
        ("anthropic/claude-opus-5-5", NONE, ("This model cannot switch thinking off: using LOW",)),
        ("anthropic/claude-opus-5-5", HIGH, ()),
        ("deepseek/deepseek-flash", MED, ("This model has no effort `medium`: using HIGH",)),
        ("minimax/MiniMax-M2", NONE, ("This model cannot switch thinking off: no level is sent",)),
        ("minimax/MiniMax-M2", 8_000, ("This model has no thinking control: no level is sent",)),
        ("moonshot/kimi-k3.1-pro", 50_000, ()),
        ("zai/glm-5.1", 8_000, ("This model has no budgets: thinking is on",)),
        ("openai/gpt-4o", HIGH, ("This model does not think: no level is sent",)),
        ("openai/gpt-4o", NONE, ()),
        ("alibaba/qwen3.7-max", 99_999, ("This model accepts budgets of 0 to 65,536 tokens",)),
        (
            "openai/o1",
            NONE,
            (
                "This model cannot switch thinking off: using MEDIUM",
                "`o1` was shut down on 2026-10-23: use `gpt-5.6-terra`",
            ),
        ),
        (
            "google/gemini-2.5-flash",
            NONE,
            ("`gemini-2.5-flash` will be shut down in 2026-11: use `gemini-3.6-flash`",),
        ),
        (
            "openai/gpt-9",
            HIGH,
            (
                "`gpt-9` is not in the catalogue: using safe defaults",
                "Its thinking control is unknown: no level is sent",
            ),
        ),
    ],
)
def test_warnings_say_what_is_not_as_asked(name: str, asked: ThinkingLevel | int, warnings: tuple[str, ...]) -> None:
    assert planned(name, asked).warnings == warnings


@pytest.mark.parametrize(
    ("name", "by_budget"),
    [
        ("openai/gpt-5", {3_999: "minimal", 4_000: "low", 15_999: "low", 16_000: "medium", 32_000: "high"}),
        ("openai/gpt-5.5", {1: "low", 3_999: "low", 15_999: "low", 16_000: "medium", 31_999: "medium", 32_000: "high"}),
        ("openai/gpt-5-pro", {1: "high", 20_000: "high", 64_000: "high"}),
        ("anthropic/claude-opus-5-5", {3_999: "low", 16_000: "medium", 32_000: "high"}),
        ("google/gemini-3-pro-preview", {15_999: "LOW", 16_000: "HIGH"}),
        ("google/gemini-3.6-flash", {1: "LOW", 10_922: "LOW", 10_923: "MEDIUM", 21_845: "MEDIUM", 21_846: "HIGH"}),
        ("xai/grok-3-mini", {19_999: "low", 20_000: "high"}),
        ("xai/grok-3-mini-fast", {19_999: "low", 20_000: "high"}),
        ("deepseek/deepseek-v4-pro", {8_000: "low", 16_000: "high", 32_000: "max"}),
        ("alibaba/qwen3.7-max", {1: 1, 16_000: 16_000, 99_999: 61_440}),
        ("alibaba/qwen-plus", {16_000: 16_000}),
        ("google/gemini-2.5-pro", {1: 128, 16_000: 16_000, 50_000: 32_768}),
        ("google/gemini-2.5-flash-lite", {1: 512, 16_000: 16_000, 50_000: 24_576}),
        ("anthropic/claude-haiku-4-5", {1: 1_024, 16_000: 16_000, 50_000: 32_000}),
        ("anthropic/claude-opus-4-6", {16_000: 16_000, 200_000: 123_904}),
        ("minimax/MiniMax-M2.7", {16_000: None}),
        ("xai/grok-4.20-reasoning", {16_000: None}),
    ],
)
def test_numeric_budgets_become_what_the_model_takes(name: str, by_budget: dict[int, int | str | None]) -> None:
    assert {tokens: planned(name, tokens).sent for tokens in by_budget} == by_budget


def test_an_exact_budget_on_claude_4_6_uses_the_budget_mode() -> None:
    assert planned("anthropic/claude-sonnet-4-6", 16_000).fields == claude_budget(16_000)
    assert planned("anthropic/claude-sonnet-4-6", LOW).fields == adaptive("low")


@pytest.mark.parametrize(
    ("max_output", "sent"), [(64_000, 59_904), (50_000, 45_904), (5_120, 1_024), (2_000, 1_024), (1_024, "disabled")]
)
def test_budgets_leave_room_for_the_answer(max_output: int, sent: int | str) -> None:
    made = planned("anthropic/claude-sonnet-4-5", HIGH, max_output=max_output)
    assert (made.nominal, made.sent, made.max_output) == (64_000, sent, max_output)


def test_an_output_limit_without_room_to_think_is_told() -> None:
    made = planned("anthropic/claude-opus-4-5", HIGH, max_output=1_000)
    assert made.state is PlanState.OFF
    assert made.warnings == ("An output limit of 1,000 tokens leaves no room to think: thinking is off",)


def test_an_output_limit_above_the_models_is_cut_and_told() -> None:
    made = planned("anthropic/claude-opus-5", LOW, max_output=500_000)
    assert made.max_output == 128_000
    assert made.warnings == ("This model writes at most 128,000 tokens: the output limit of 500,000 is cut to that",)


def test_anthropic_always_gets_its_output_limit_and_others_only_the_users() -> None:
    assert planned("anthropic/claude-opus-5", LOW).max_output == 128_000
    assert planned("openai/gpt-5.5", LOW).max_output is None
    assert planned("openai/gpt-5.5", LOW, max_output=9_000).max_output == 9_000


@pytest.mark.parametrize(("output", "told"), [(4_096, 3_072), (5_119, 4_095), (5_120, None), (20_000, None)])
def test_an_output_limit_that_leaves_little_for_the_answer_says_so(output: int, told: int | None) -> None:
    made = planned("anthropic/claude-opus-4-5", HIGH, max_output=output)
    left = f"The output limit of {output:,} tokens leaves {told or 0:,} for the answer"
    assert [warning.partition(":")[0] for warning in made.warnings] == ([left] if told else [])


def test_the_dynamic_budget_is_told_where_it_makes_less_effort_of_a_budget() -> None:
    options: PlanOptions = {"dynamic_budget": DynamicBudget(), "context_tokens": 150_001}
    cut = planned("openai/gpt-5.2", 32_000, **options)
    assert (cut.sent, cut.warnings) == ("low", ("The dynamic budget is active: cut to 10,000 tokens",))
    assert planned("openai/gpt-5.2", 32_000, dynamic_budget=DynamicBudget(), context_tokens=9).sent == "high"
    assert planned("openai/gpt-5.2", 9_000, **options).warnings == ()


def test_the_dynamic_budget_cuts_long_contexts_only() -> None:
    options: PlanOptions = {"dynamic_budget": DynamicBudget(), "context_tokens": 150_001}
    cut = planned("anthropic/claude-opus-4-5", HIGH, **options)
    assert (cut.nominal, cut.sent) == (64_000, 10_000)
    assert cut.warnings == ("The dynamic budget is active: cut to 10,000 tokens",)
    shorter: PlanOptions = {**options, "context_tokens": 150_000}
    assert planned("anthropic/claude-opus-4-5", HIGH, **shorter).sent == 59_904
    assert planned("anthropic/claude-opus-4-5", HIGH, context_tokens=900_000).sent == 59_904
    assert planned("openai/gpt-5.5", 64_000, **options).sent == "low"
    assert planned("alibaba/qwen3.7-max", HIGH, **options).sent == 10_000
    assert planned("google/gemini-2.5-flash", LOW, **options).warnings[:1] == (
        "`gemini-2.5-flash` will be shut down in 2026-11: use `gemini-3.6-flash`",
    )


def test_interleaving_is_asked_for_with_a_budget_and_tools_only() -> None:
    assert planned("anthropic/claude-sonnet-4-5", LOW).headers == BETA
    assert planned("anthropic/claude-sonnet-4-5", LOW, with_tools=False).headers == {}
    assert planned("anthropic/claude-sonnet-4-5", NONE).headers == {}
    assert planned("anthropic/claude-sonnet-4-6", 16_000).headers == {}
    assert planned("anthropic/claude-opus-5", HIGH).headers == {}


@pytest.mark.parametrize("level", ThinkingLevel)
def test_bound_claude_models_always_carry_the_binding_beta(level: ThinkingLevel) -> None:
    made = planned("anthropic/claude-sonnet-5-5", level)
    assert made.headers == {"anthropic-beta": "thinking-binding-controls-2026-08-01"}


def test_disabled_reasoning_is_a_wish_for_none() -> None:
    assert planned("openai/gpt-5.5", HIGH, enabled=False) == planned("openai/gpt-5.5", NONE)


@pytest.mark.parametrize(
    ("name", "word", "sent", "warned"),
    [
        ("openai/gpt-5.5", "xhigh", "xhigh", ()),
        ("openai/gpt-5.5", "max", "xhigh", ("This model has no effort `max`: using XHIGH",)),
        ("openai/gpt-5.5", "minimal", "low", ("This model has no effort `minimal`: using LOW",)),
        ("openai/gpt-5.5", "none", "none", ()),
        ("anthropic/claude-opus-5", "max", "max", ()),
        ("google/gemini-3.6-flash", "minimal", "MINIMAL", ()),
        ("anthropic/claude-haiku-4-5", "low", 11_349, ()),
        ("anthropic/claude-haiku-4-5", "max", 32_000, ("This model has no efforts: `max` counts as high",)),
    ],
)
def test_an_effort_word_goes_to_the_nearest_the_model_takes(
    name: str, word: str, sent: int | str, warned: tuple[str, ...]
) -> None:
    made = planned(name, LOW, effort_override=word)
    assert (made.sent, made.warnings) == (sent, warned)


def test_opus_4_5_takes_an_effort_beside_its_budget() -> None:
    made = planned("anthropic/claude-opus-4-5", LOW, effort_override="medium")
    assert made.fields == {**claude_budget(43_008), "output_config": {"effort": "medium"}}


def test_max_tokens_go_before_an_effort_and_before_a_level() -> None:
    made = planned("google/gemini-2.5-pro", LOW, effort_override="high", max_tokens_override=5_000)
    assert (made.asked, made.fields) == (5_000, gemini_budget(5_000))


@pytest.mark.parametrize(
    ("name", "summary", "where", "value"),
    [
        ("openai/gpt-5.5", "detailed", "reasoning", {"effort": "high", "summary": "detailed"}),
        ("openai/gpt-5.5", "off", "reasoning", {"effort": "high"}),
        (
            "anthropic/claude-opus-5",
            "off",
            "thinking",
            {"type": "adaptive", "display": "omitted"},
        ),
        (
            "google/gemini-3.8-flash",
            "off",
            "generationConfig",
            {"thinkingConfig": {"thinkingLevel": "HIGH", "includeThoughts": False}},
        ),
    ],
)
def test_the_summary_setting_is_spelled_per_vendor(name: str, summary: str, where: str, value: object) -> None:
    assert planned(name, HIGH, summary=summary).fields[where] == value


def test_max_effort_is_not_sent_where_chat_completions_refuses_it() -> None:
    moved = CATALOG.with_overrides(
        {"providers": {"mine": {"wire": "openai-chat", "base_url": "http://x.test/v1", "spelling": "openai-chat"}}}
    )
    made = plan(moved.find("mine", "gpt-5.6-sol"), moved.provider("mine"), HIGH, effort_override="max")
    assert made.fields == {"reasoning_effort": "xhigh"}


MOVED = CATALOG.with_overrides({"providers": {"mine": {"wire": "openai-chat", "base_url": "http://x.test/v1"}}})


@pytest.mark.parametrize(
    ("model", "level", "with_tools", "told"),
    [
        ("gpt-5.4", HIGH, True, True),
        ("gpt-6-astra", ThinkingLevel.NONE, True, True),
        ("gpt-5.4", ThinkingLevel.NONE, True, False),
        ("gpt-5.4", HIGH, False, False),
        ("gpt-5.2", HIGH, True, False),
    ],
)
def test_thinking_with_tools_over_chat_completions_is_warned_of_from_gpt_5_4_on(
    model: str, level: ThinkingLevel, with_tools: bool, told: bool
) -> None:
    made = plan(MOVED.find("mine", model), MOVED.provider("mine"), level, with_tools=with_tools)
    assert any("refuses tools while it thinks" in warning for warning in made.warnings) is told


def test_tools_over_chat_completions_are_no_worry_where_somebody_else_translates() -> None:
    assert planned("openrouter/openai/gpt-5.4", HIGH).warnings == ()


@pytest.mark.parametrize(
    ("max_output", "sent"), [(None, (64_000, 59_904)), (20_000, (20_000, 15_904)), (1_025, (1_025, 1_024))]
)
def test_a_budget_at_openrouter_goes_with_a_larger_output_limit(max_output: int | None, sent: tuple[int, int]) -> None:
    made = planned("openrouter/anthropic/claude-sonnet-4.5", HIGH, max_output=max_output)
    assert (made.max_output, made.fields["reasoning"]["max_tokens"]) == sent  # type: ignore[index]


def test_settings_become_plan_options() -> None:
    assert plan_options(
        {
            "reasoning.enabled": False,
            "reasoning.effort": "high",
            "reasoning.maxTokens": 5,
            "reasoning.summary": "off",
            "reasoning.dynamicBudget": True,
            "reasoning.dynamicBudgetAbove": 7,
            "generation.maxOutput": 99,
            "tools.enabled": False,
        },
        context_tokens=8,
    ) == {
        "enabled": False,
        "effort_override": "high",
        "max_tokens_override": 5,
        "summary": "off",
        "dynamic_budget": DynamicBudget(threshold=7),
        "max_output": 99,
        "with_tools": False,
        "context_tokens": 8,
    }
    assert plan_options({}) == {"enabled": True, "with_tools": True, "context_tokens": None}


def test_a_plan_shares_nothing_with_the_next_one() -> None:
    first = planned("zai/glm-5.3", LOW).fields["thinking"]
    assert isinstance(first, dict)
    first.clear()
    assert planned("zai/glm-5.3", LOW).fields["thinking"] == {"type": "enabled", "clear_thinking": False}


def test_retired_models_stay_known() -> None:
    retired = ("claude-3-7-sonnet", "claude-sonnet-4", "claude-opus-4", "claude-opus-4-1")
    assert [facts_of(f"anthropic/{name}").lifecycle.value for name in retired] == ["retired"] * 4
