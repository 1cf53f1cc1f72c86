"""The user's settings as the engine obeys them: the one place where the two vocabularies meet."""

from __future__ import annotations

from tui.catalog.load import Catalog
from tui.catalog.spec import parse_spec
from tui.domain.thinking import IncludeInContext, ReasoningFormat, ReasoningRules, StripPolicy
from tui.engine.settings import EngineSettings
from tui.settings.schema import Settings


def engine_settings(settings: Settings, catalog: Catalog) -> EngineSettings:
    """Map them; raises UnknownModel when the compression model's name fits nothing."""
    reasoning, generation, context, tools = settings.reasoning, settings.generation, settings.context, settings.tools
    return EngineSettings(
        rules=ReasoningRules(
            include_in_context=IncludeInContext(reasoning.includeInContext),
            strip=StripPolicy(reasoning.stripFromContext),
            format=ReasoningFormat(reasoning.format),
        ),
        thinking=reasoning.enabled,
        effort=reasoning.effort,
        thinking_tokens=reasoning.maxTokens,
        dynamic_budget=reasoning.dynamicBudget,
        dynamic_budget_above=reasoning.dynamicBudgetAbove,
        summary=reasoning.summary,
        system=generation.system,
        temperature=generation.temperature,
        top_p=generation.topP,
        max_output=generation.maxOutput,
        context_limit=context.limit,
        compress=context.compress,
        compress_at=context.compressAt,
        keep_turns=context.keepTurns,
        reserve=context.reserve,
        compression_model=parse_spec(context.compressionModel, catalog) if context.compressionModel else None,
        tools=tools.enabled,
        parallel_calls=tools.maxParallel,
        calls_per_turn=tools.maxCalls,
        call_timeout_s=tools.timeout,
    )
