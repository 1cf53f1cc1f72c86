"""The thinking plan: what is sent to control a model's thinking, and how that is described to the user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict, Unpack

from tui.catalog.facts import Lifecycle, ModelFacts, ProviderFacts
from tui.catalog.model_rows import effort_rank
from tui.catalog.spellings import Fields, Spelling, merge_tables, nested, spelling
from tui.catalog.thinking_choice import (
    ANSWER_ROOM,
    LEVEL_WORDS,
    BudgetLimits,
    Choice,
    Controls,
    choose,
    controls_of,
    word_level,
)
from tui.domain.fast_dataclass import dataclass
from tui.domain.format_numbers import count
from tui.domain.thinking import Asked, PlanState, ThinkingLevel, ThinkingPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicBudget:
    """``reasoning.dynamicBudget``: smaller budgets for long contexts."""

    threshold: int = 150_000
    """Tokens of context above which the cap applies."""
    cap: int = 10_000
    """Largest budget above the threshold."""


class PlanOptions(TypedDict, total=False):
    """The parts of the request and the settings that a plan depends on."""

    max_output: int | None
    """The user's output limit; None uses the model's."""
    context_tokens: int | None
    """Effective tokens of the context."""
    dynamic_budget: DynamicBudget | None
    """None disables it."""
    with_tools: bool
    """Whether tools are sent (default true)."""
    effort_override: str | None
    """``reasoning.effort``: an effort word that overrides the requested level."""
    max_tokens_override: int | None
    """``reasoning.maxTokens``: a budget that overrides level and effort."""
    overriding_source: str
    """Source of the setting that overrides the level; "" for no warning about it."""
    enabled: bool
    """``reasoning.enabled`` (default true)."""
    summary: str
    """``reasoning.summary``: auto, concise, detailed, off."""


def plan(facts: ModelFacts, provider: ProviderFacts, asked: Asked, **options: Unpack[PlanOptions]) -> ThinkingPlan:
    """Return the plan for one model at one provider. The result depends only on the arguments."""
    spelled = spelling(facts.spelling)
    controls = controls_of(facts.controls, spelled)
    requested = _requested(asked, options)
    limit = _smaller(options.get("max_output"), facts.max_output)
    choice = choose(requested, controls, BudgetLimits(output=limit, cap=_cap(options)))
    fields = _fields(choice, controls, spelled, options.get("summary", "auto"))
    nominal, sent = _values(choice, spelled)
    return ThinkingPlan(
        instead=str(requested) if requested != asked and options.get("overriding_source") else "",
        asked=requested if isinstance(requested, ThinkingLevel | int) else asked,
        nominal=nominal,
        sent=sent,
        state=choice.state,
        fields=fields,
        headers=_headers(choice, spelled, with_tools=options.get("with_tools", True)),
        max_output=_sent_limit(limit, choice, spelled, asked_for=options.get("max_output") is not None),
        in_force=_level_in_force(requested, choice, controls, BudgetLimits(output=limit, cap=_cap(options))),
        native=_native(choice, facts, spelled),
        summary="Thinking: " + _sentence(requested, choice, facts, spelled),
        warnings=(
            *choice.remarks,
            *_overruled(asked, requested, options),
            *_thinking_warnings(choice, facts, requested),
            *_tool_warnings(choice, facts, spelled, with_tools=options.get("with_tools", True)),
            *_limit_warnings(facts, options),
            *_lifecycle(facts),
        ),
    )


def least_thinking(facts: ModelFacts) -> tuple[Asked | str, ...]:
    """Return what asks for the least thinking: off if the model has that, then the least that is not off."""
    controls = controls_of(facts.controls, spelling(facts.spelling))
    if not controls.thinks or controls.none:
        return ()
    efforts = sorted((word for word in controls.efforts if word.lower() != "none"), key=effort_rank)
    least: tuple[Asked | str, ...] = ()
    if controls.levels_by == "budget" and controls.budget is not None:
        least = (controls.budget.min,) if controls.budget.min else ()
    elif efforts:
        least = (efforts[0],)
    can_be_off = choose(ThinkingLevel.NONE, controls, BudgetLimits()).state is PlanState.OFF
    return (ThinkingLevel.NONE, *least) if can_be_off else least


def _requested(asked: Asked, options: PlanOptions) -> Asked | str:
    if not options.get("enabled", True):
        return ThinkingLevel.NONE
    tokens, effort = options.get("max_tokens_override"), options.get("effort_override")
    if tokens is not None:
        return tokens or ThinkingLevel.NONE
    if effort is not None:
        return ThinkingLevel.NONE if effort == "none" else effort
    return asked


def as_level(requested: Asked | str) -> Asked:
    """Return the level of an effort word. Levels and budgets are returned unchanged."""
    return requested if isinstance(requested, ThinkingLevel | int) else word_level(requested)


def default_level(values: Mapping[str, object], default: Asked = ThinkingLevel.MED) -> Asked:
    """Return the level to use if none is requested, taken from the settings that override a level."""
    if values.get("reasoning.enabled", True) is False:
        return ThinkingLevel.NONE
    match values.get("reasoning.maxTokens"), values.get("reasoning.effort"):
        case int(tokens), _:
            return tokens or ThinkingLevel.NONE
        case _, str(effort):
            return as_level(effort)
        case _:
            return default


def _overruled(asked: Asked, requested: Asked | str, options: PlanOptions) -> tuple[str, ...]:
    """Return a warning if a setting overrides a different level that is part of the model's name."""
    source = options.get("overriding_source")
    if not source or as_level(requested) == asked:
        return ()
    key, value = "effort", requested
    if not options.get("enabled", True):
        key, value = "enabled", "false"
    elif options.get("max_tokens_override") is not None:
        key = "maxTokens"
    what = f"the budget of {count(asked, 'token')}" if isinstance(asked, int) else f"the level {asked}"
    shown = f"{value:,}" if isinstance(value, int) else value
    return (f"`reasoning.{key}` is {shown} ({source}): it takes precedence over {what}",)


def _smaller(ours: int | None, models: int | None) -> int | None:
    return min(ours, models) if ours is not None and models is not None else ours if ours is not None else models


def _sent_limit(limit: int | None, choice: Choice, spelled: Spelling, *, asked_for: bool) -> int | None:
    if choice.budget is not None and spelled.budget_needs_max_output:
        # A budget must be smaller than the limit, and the server's default limit may be small.
        return choice.budget + ANSWER_ROOM if limit is None else max(limit, choice.budget + 1)
    return limit if spelled.sends_max_output or asked_for else None


def _cap(options: PlanOptions) -> int | None:
    dynamic, context = options.get("dynamic_budget"), options.get("context_tokens")
    if dynamic is None or context is None or context <= dynamic.threshold:
        return None
    return dynamic.cap


def _fields(choice: Choice, controls: Controls, spelled: Spelling, summary: str) -> Fields:
    if choice.state in (PlanState.UNSUPPORTED, PlanState.UNCONTROLLED):
        return merge_tables(spelled.always)
    if choice.state is PlanState.OFF:
        word = _effort_field(choice, spelled)
        return merge_tables(spelled.always, word) if word else merge_tables(spelled.always, spelled.off or {})
    parts = [spelled.always, _on(choice, controls, spelled), _effort_field(choice, spelled)]
    if choice.budget is not None and spelled.budget_at:
        parts.append(nested(spelled.budget_at, choice.budget))
    if spelled.summary_at and summary in spelled.summary_words:
        parts.append(nested(spelled.summary_at, spelled.summary_words[summary]))
    return merge_tables(*parts)


def _on(choice: Choice, controls: Controls, spelled: Spelling) -> Fields:
    if choice.budget is not None and spelled.on_budget is not None:
        return merge_tables(spelled.on_budget)
    if choice.switched and spelled.on_toggle is not None and controls.levels_by != "effort":
        return merge_tables(spelled.on_toggle)
    return merge_tables(spelled.on)


def _effort_field(choice: Choice, spelled: Spelling) -> Fields:
    if choice.effort is None or spelled.effort_at is None:
        return {}
    if choice.budget is not None and not spelled.effort_with_budget:
        return {}
    return nested(spelled.effort_at, spelled.effort(choice.effort))


def _headers(choice: Choice, spelled: Spelling, *, with_tools: bool) -> dict[str, str]:
    if choice.budget is not None and with_tools:
        return {**spelled.headers, **spelled.tool_headers}
    return dict(spelled.headers)


def _values(choice: Choice, spelled: Spelling) -> tuple[int | str | None, int | str | None]:
    """Return the nominal and the sent value: budgets, effort words, or the name of the switch."""
    if choice.budget is not None:
        return choice.nominal_budget, choice.budget
    if choice.effort is not None:
        word = spelled.effort(choice.effort)
        return word, word
    if choice.switched:
        word_or_zero = spelled.off_word if choice.state is PlanState.OFF else spelled.on_word
        return (word_or_zero if choice.nominal_budget is None else choice.nominal_budget), word_or_zero
    return None, None


def _level_in_force(requested: Asked | str, choice: Choice, controls: Controls, bounds: BudgetLimits) -> str:
    """Return the level that results, which differs from the requested one if the model has a switch or no "off"."""
    match choice.state:
        case PlanState.UNSUPPORTED | PlanState.UNCONTROLLED:
            return ""
        case PlanState.OFF:
            return "off" if controls.levels_by == "toggle" else ThinkingLevel.NONE.value
        case PlanState.ON if choice.switched and not choice.unlimited:
            return "on"
        case PlanState.CANNOT_DISABLE | PlanState.ON:
            if as_level(requested) is ThinkingLevel.NONE:
                return _least_level(choice, controls, bounds)
            level = as_level(requested)
            is_level = isinstance(level, ThinkingLevel) and requested in (level, LEVEL_WORDS[level])
            return str(level if is_level else requested)


def _least_level(choice: Choice, controls: Controls, bounds: BudgetLimits) -> str:
    """Return the level that sends the same as an impossible "none", else the effort or budget that is sent."""
    for level in (ThinkingLevel.LOW, ThinkingLevel.MED, ThinkingLevel.HIGH):
        made = choose(level, controls, bounds)
        if (made.effort, made.budget) == (choice.effort, choice.budget):
            return level.value
    return choice.effort.lower() if choice.effort else str(choice.budget)


def _native(choice: Choice, facts: ModelFacts, spelled: Spelling) -> str:
    match choice.state:
        case PlanState.UNSUPPORTED:
            return "does not think"
        case PlanState.UNCONTROLLED:
            return "always on, no control" if facts.known else "server default"
        case PlanState.OFF:
            word = f"effort {spelled.effort(choice.effort)}" if choice.effort else spelled.off_word
            return spelled.off_note or ("off" if word in (None, 0, "off") else f"off ({word})")
        case PlanState.CANNOT_DISABLE | PlanState.ON:
            return _native_on(choice, spelled)


def _native_on(choice: Choice, spelled: Spelling) -> str:
    if choice.unlimited:
        return "on, no limit"
    if choice.switched:
        return "on" if spelled.on_word in (None, "on") else f"on ({spelled.on_word})"
    parts = []
    if choice.budget is not None:
        parts.append(count(choice.budget, "token"))
    if _effort_field(choice, spelled) and choice.effort is not None:
        parts.append(f"effort {spelled.effort(choice.effort)}")
    return ", ".join(parts)


def _sentence(requested: Asked | str, choice: Choice, facts: ModelFacts, spelled: Spelling) -> str:
    match choice.state:
        case PlanState.UNSUPPORTED:
            return "none, this model does not think"
        case PlanState.UNCONTROLLED:
            return "always on, it cannot be controlled" if facts.known else "server default"
        case PlanState.OFF:
            return spelled.off_note or "off"
        case PlanState.CANNOT_DISABLE | PlanState.ON:
            return _on_sentence(requested, choice, spelled)


def _on_sentence(requested: Asked | str, choice: Choice, spelled: Spelling) -> str:
    if choice.state is PlanState.CANNOT_DISABLE:
        return (choice.effort or f"minimum ({count(choice.budget or 0, 'token')})").lower()
    asked = LEVEL_WORDS[requested] if isinstance(requested, ThinkingLevel) else requested
    if choice.budget is not None:
        return _budget_sentence(asked, choice)
    name = count(asked, "token") if isinstance(asked, int) else asked
    if choice.effort is not None:
        word = spelled.effort(choice.effort)
        return name if word.lower() == asked else f"{name} (effort {word})"
    return f"{name} (no limit)" if choice.unlimited else "on (this model has no levels)"


def _budget_sentence(asked: str | int, choice: Choice) -> str:
    differs = choice.nominal_budget != choice.budget
    if isinstance(asked, int):
        return f"{count(asked, 'token')} asked, {choice.budget:,} sent" if differs else count(asked, "token")
    if differs:
        return f"{asked} ({choice.nominal_budget:,} nominal, {choice.budget:,} sent)"
    return f"{asked} ({count(choice.budget or 0, 'token')})"


def _thinking_warnings(choice: Choice, facts: ModelFacts, requested: Asked | str) -> tuple[str, ...]:
    warnings: list[str] = []
    if not facts.known:
        warnings.append(f"`{facts.id}` is not in the catalogue: using safe defaults")
    if choice.state is PlanState.UNCONTROLLED and facts.known:
        wants_off = requested in (ThinkingLevel.NONE, 0)
        what = "cannot switch thinking off" if wants_off else "has no thinking control"
        warnings.append(f"This model {what}: no level is sent")
    elif choice.state is PlanState.UNCONTROLLED:
        warnings.append("Its thinking control is unknown: no level is sent")
    elif choice.state is PlanState.UNSUPPORTED and requested not in (ThinkingLevel.NONE, 0):
        warnings.append("This model does not think: no level is sent")
    return tuple(warnings)


def _tool_warnings(choice: Choice, facts: ModelFacts, spelled: Spelling, *, with_tools: bool) -> tuple[str, ...]:
    thinks = choice.state in (PlanState.ON, PlanState.CANNOT_DISABLE)
    if not (with_tools and thinks and facts.chat_tools_without_thinking and spelled.plain_chat):
        return ()
    way_out = "use its Responses API, or switch tools or thinking off"
    return (f"Over Chat Completions this model refuses tools while it thinks: {way_out}",)


def _limit_warnings(facts: ModelFacts, options: PlanOptions) -> tuple[str, ...]:
    ours, models = options.get("max_output"), facts.max_output
    if ours is None or models is None or ours <= models:
        return ()
    return (f"This model writes at most {count(models, 'token')}: the output limit of {ours:,} is cut to that",)


def _lifecycle(facts: ModelFacts) -> tuple[str, ...]:
    use = f": use `{facts.successor}`" if facts.successor else ""
    match facts.lifecycle:
        case Lifecycle.CURRENT:
            return ()
        case Lifecycle.RETIRING:
            return (f"`{facts.id}` will be shut down {_when(facts.retires)}{use}",)
        case Lifecycle.RETIRED:
            when = f" {_when(facts.retires)}" if facts.retires else ""
            return (f"`{facts.id}` was shut down{when}{use}",)


def _when(date: str | None) -> str:
    return "soon" if date is None else f"on {date}" if date.count("-") == 2 else f"in {date}"


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
"""The setting keys that affect a plan."""


def plan_options(
    values: Mapping[str, object], *, context_tokens: int | None = None, overriding_source: str = ""
) -> PlanOptions:
    """Return the options from validated settings by dotted key. Missing keys keep their defaults."""
    options: PlanOptions = {"context_tokens": context_tokens}
    if overriding_source:
        options["overriding_source"] = overriding_source
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
