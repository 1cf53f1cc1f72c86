"""Settings to plan options: which of the user's dotted keys a plan reads. Nothing else of them decides what is sent."""

from __future__ import annotations

from collections.abc import Mapping

from tui.catalog.plan import DynamicBudget, PlanOptions

PLAN_KEYS = (
    "generation.maxOutput",
    "reasoning.dynamicBudget",
    "reasoning.dynamicBudgetAbove",
    "reasoning.effort",
    "reasoning.enabled",
    "reasoning.maxTokens",
    "reasoning.summary",
    "tools.enabled",
)
"""The keys that can change a plan."""


def plan_options(
    values: Mapping[str, object], *, context_tokens: int | None = None, overruler: str = ""
) -> PlanOptions:
    """Options out of validated settings by dotted key; keys that are not there keep their defaults."""
    options: PlanOptions = {"context_tokens": context_tokens}
    if overruler:
        options["overruler"] = overruler
    match values.get("generation.maxOutput"):
        case int() as limit:
            options["max_output"] = limit
    match values.get("reasoning.maxTokens"):
        case int() as tokens:
            options["max_tokens_override"] = tokens
    match values.get("reasoning.effort"):
        case str() as effort:
            options["effort_override"] = effort
    match values.get("reasoning.summary"):
        case str() as summary:
            options["summary"] = summary
    options["enabled"] = values.get("reasoning.enabled", True) is not False
    options["with_tools"] = values.get("tools.enabled", True) is not False
    if values.get("reasoning.dynamicBudget") is True:
        options["dynamic_budget"] = _dynamic(values.get("reasoning.dynamicBudgetAbove"))
    return options


def _dynamic(threshold: object) -> DynamicBudget:
    return DynamicBudget(threshold=threshold) if isinstance(threshold, int) else DynamicBudget()
