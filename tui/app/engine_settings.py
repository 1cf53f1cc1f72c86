"""Convert the user's settings to what engine and transport take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tui.catalog.catalog import Catalog
from tui.catalog.model_spec import parse_spec
from tui.domain.thinking import IncludeInContext, ReasoningFormat, ReasoningRules, StripPolicy
from tui.engine.settings import EngineSettings
from tui.providers.http.deadlines import RequestLimits
from tui.settings.layers import Layers
from tui.settings.schema import Settings


def engine_settings(
    layers: Layers,
    catalog: Catalog,
    *,
    interactive: bool = True,
    answer_schema: Mapping[str, object] | None = None,
    project: str = "",
) -> EngineSettings:
    """The settings of the engine; raises UnknownModel if the compression model is unknown."""
    settings = layers.settings()
    reasoning, generation, context, tools = settings.reasoning, settings.generation, settings.context, settings.tools
    writer = context.compressionModel
    return EngineSettings(
        rules=ReasoningRules(
            include_in_context=IncludeInContext(reasoning.includeInContext),
            strip=StripPolicy(reasoning.stripFromContext),
            format=ReasoningFormat(reasoning.format),
        ),
        thinking=reasoning.enabled,
        effort=reasoning.effort if layers.for_plan("reasoning.effort") is not None else None,
        thinking_tokens=reasoning.maxTokens if layers.for_plan("reasoning.maxTokens") is not None else None,
        overriding_source=layers.overriding_source(),
        dynamic_budget=reasoning.dynamicBudget,
        dynamic_budget_above=reasoning.dynamicBudgetAbove,
        summary=reasoning.summary,
        language=reasoning.language.strip(),
        system=generation.system,
        project=project,
        temperature=generation.temperature,
        top_p=generation.topP,
        max_output=generation.maxOutput,
        answer_schema=answer_schema,
        cache_ttl=_cache_ttl(settings, interactive=interactive),
        context_limit=context.limit,
        compress=context.compress,
        compress_at=context.compressAt,
        keep_turns=context.keepTurns,
        reserve=context.reserve,
        compression_model=parse_spec(writer, catalog) if writer else None,
        tools=tools.enabled,
        web_search=tools.enabled and tools.webSearch,
        parallel_calls=tools.maxParallel,
        calls_per_turn=tools.maxCalls,
        call_timeout_s=tools.timeout,
        budget_turn=settings.budget.turn,
        budget_session=settings.budget.session,
        budget_day=settings.budget.day,
    )


def _cache_ttl(settings: Settings, *, interactive: bool) -> str:
    """Resolve ``auto``: a single question without tools is never followed by a request that could use the cache."""
    if settings.cache.ttl != "auto":
        return settings.cache.ttl
    if interactive:
        return "1h"
    return "5m" if settings.tools.enabled else "off"


def network_limits(layers: Layers) -> RequestLimits:
    """The ``network`` settings as limits of a request."""
    limits = RequestLimits(
        connect_s=_seconds(layers, "network.connectTimeout"),
        meaning_s=_seconds(layers, "network.idleTimeout"),
        allow_http=layers.value("network.allowHttp") is True,
    )
    if layers.value("network.headerTimeout") is None:
        return limits
    header_s = _seconds(layers, "network.headerTimeout")
    return replace(limits, header_s=header_s, private_header_s=header_s)


def _seconds(layers: Layers, key: str) -> float:
    value = layers.value(key)
    assert isinstance(value, int | float)
    return float(value)
