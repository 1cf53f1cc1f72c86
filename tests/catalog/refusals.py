"""What the APIs refuse about thinking, as rules over a finished plan: each yields a sentence where it is broken."""

from __future__ import annotations

from collections.abc import Callable

from tui.catalog.facts import ModelFacts
from tui.domain.messages import WireName
from tui.domain.thinking import ThinkingPlan

Rule = Callable[[ModelFacts, ThinkingPlan], bool]


def _thinking(made: ThinkingPlan) -> dict[str, object]:
    value = made.fields.get("thinking", {})
    return value if isinstance(value, dict) else {}


def _gemini(made: ThinkingPlan) -> dict[str, object]:
    config = made.fields.get("generationConfig", {})
    value = config.get("thinkingConfig", {}) if isinstance(config, dict) else {}
    return value if isinstance(value, dict) else {}


def _effort(made: ThinkingPlan) -> object:
    for key in ("reasoning", "output_config"):
        value = made.fields.get(key)
        if isinstance(value, dict) and "effort" in value:
            return value["effort"]
    return made.fields.get("reasoning_effort", _gemini(made).get("thinkingLevel"))


def _budget(made: ThinkingPlan) -> object:
    return _thinking(made).get("budget_tokens", _gemini(made).get("thinkingBudget", made.fields.get("thinking_budget")))


def _is_claude(facts: ModelFacts) -> bool:
    return facts.wire is WireName.ANTHROPIC and facts.family == "claude"


RULES: dict[str, Rule] = {
    "an effort that is not in the model's list": lambda facts, made: (
        _effort(made) not in (None, "none") and str(_effort(made)).upper() not in map(str.upper, facts.controls.efforts)
    ),
    "a budget below 1,024": lambda facts, made: (
        _is_claude(facts) and isinstance(budget := _budget(made), int) and budget < 1_024
    ),
    "a budget that is not below the output limit": lambda facts, made: (
        _is_claude(facts) and isinstance(budget := _budget(made), int) and budget >= (made.max_output or 0)
    ),
    "a budget outside the model's range": lambda facts, made: (
        isinstance(budget := _budget(made), int)
        and (facts.controls.budget is None or not facts.controls.budget.min <= budget <= facts.controls.budget.max)
        and not (budget == 0 and facts.controls.budget is not None and facts.controls.budget.zero_is_off)
    ),
    "no max_tokens": lambda facts, made: facts.wire is WireName.ANTHROPIC and made.max_output is None,
    "more output than the model has": lambda facts, made: (made.max_output or 0) > (facts.max_output or 10**9),
    "budgets on a model that takes adaptive thinking only": lambda facts, made: (
        _is_claude(facts) and _thinking(made).get("type") == "enabled" and facts.controls.budget is None
    ),
    "thinking without a type": lambda facts, made: (
        _is_claude(facts) and "thinking" in made.fields and "type" not in _thinking(made)
    ),
    "block_binding with anything but adaptive": lambda _facts, made: (
        "block_binding" in _thinking(made) and _thinking(made).get("type") != "adaptive"
    ),
    "block_binding without its beta": lambda _facts, made: (
        "block_binding" in _thinking(made)
        and "thinking-binding-controls-2026-08-01" not in made.headers.get("anthropic-beta", "")
    ),
    "switching off what cannot be switched off": lambda facts, made: (
        _thinking(made).get("type") in ("disabled", "between_tools") and not facts.controls.can_disable
    ),
    "an effort above high while thinking is off": lambda _facts, made: (
        _thinking(made).get("type") in ("disabled", "between_tools") and _effort(made) is not None
    ),
    "a summary without reasoning": lambda _facts, made: (
        isinstance(reasoning := made.fields.get("reasoning"), dict)
        and reasoning.get("effort", "none") == "none"
        and "summary" in reasoning
    ),
    "level and budget together": lambda _facts, made: {"thinkingLevel", "thinkingBudget"} <= _gemini(made).keys(),
    "thinking fields on a model that does not think": lambda facts, made: (
        not facts.controls.thinks and bool(made.fields.keys() - {"reasoning_split"})
    ),
    "thinking and reasoning_effort together at Kimi": lambda facts, made: (
        facts.provider == "moonshot" and {"thinking", "reasoning_effort"} <= made.fields.keys()
    ),
    "`none` at GLM 5.3": lambda facts, made: facts.provider == "zai" and _effort(made) == "none",
    "both ways to show reasoning at Groq": lambda _facts, made: (
        {"reasoning_format", "include_reasoning"} <= made.fields.keys()
    ),
    "effort and max_tokens together at OpenRouter": lambda _facts, made: (
        isinstance(reasoning := made.fields.get("reasoning"), dict) and {"effort", "max_tokens"} <= reasoning.keys()
    ),
    "a word that Ollama does not know": lambda facts, made: (
        facts.wire is WireName.OLLAMA and made.fields.get("think") not in (None, True, False, "low", "medium", "high")
    ),
}


def refused(facts: ModelFacts, made: ThinkingPlan) -> list[str]:
    """Sentences for everything the API would refuse."""
    return [sentence for sentence, breaks in RULES.items() if breaks(facts, made)]
