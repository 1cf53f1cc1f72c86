"""The settings the engine uses, as one immutable value; the settings package maps the user's keys to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from tui.domain.fast_dataclass import dataclass
from tui.domain.thinking import ModelSpec, ReasoningRules


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """Settings for requests, context and tools."""

    # thinking
    rules: ReasoningRules = field(default_factory=ReasoningRules)
    thinking: bool = True
    """``reasoning.enabled``: False asks for no thinking where the model allows that."""
    effort: str | None = None
    thinking_tokens: int | None = None
    """``reasoning.maxTokens``: a budget instead of the level's."""
    overriding_source: str = ""
    """Where the setting that replaces the level comes from."""
    dynamic_budget: bool = False
    dynamic_budget_above: int = 150_000
    summary: str = "auto"
    language: str = ""
    """``reasoning.language``: the language to think in; "" asks for none."""

    # generation
    system: str = ""
    project: str = ""
    """Instructions from files of the working folder, sent after the system prompt."""
    temperature: float | None = None
    top_p: float | None = None
    max_output: int | None = None
    answer_schema: Mapping[str, object] | None = None
    """A JSON Schema that the answers must fit."""

    cache_ttl: str = "off"
    """How long servers are asked to keep the prefix of a request: ``5m``, ``1h`` or ``off``."""

    # context
    context_limit: int | None = None
    compress: bool = True
    """Whether the history is compressed automatically."""
    compress_at: float = 0.85
    keep_turns: int = 3
    reserve: int | None = None
    compression_model: ModelSpec | None = None
    """The model that writes summaries; None is the current model."""

    # tools
    tools: bool = True
    web_search: bool = False
    parallel_calls: int = 8
    calls_per_turn: int = 50
    call_timeout_s: float = 120.0
    """Seconds a call may run, not counting the time for approval; 0 is without limit."""

    # limits
    budget_turn: float | None = None
    """Dollars one turn may cost; None is no limit."""
    budget_session: float | None = None
    budget_day: float | None = None
    attempt_limit_s: float = 3600.0
    """Seconds after which a single request is aborted."""
