"""The settings the engine obeys, as one frozen value; the settings room maps the user's keys to it."""

from __future__ import annotations

from dataclasses import field

from tui.domain.fast_dataclass import dataclass
from tui.domain.thinking import ModelSpec, ReasoningRules


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """What the user wants of requests, context and tools."""

    # thinking
    rules: ReasoningRules = field(default_factory=ReasoningRules)
    thinking: bool = True
    """``reasoning.enabled``: False asks for no thinking wherever that is possible."""
    effort: str | None = None
    thinking_tokens: int | None = None
    """``reasoning.maxTokens``: a budget instead of the level's."""
    overruler: str = ""
    """Where the setting that goes before the level is from."""
    dynamic_budget: bool = False
    dynamic_budget_above: int = 150_000
    summary: str = "auto"

    # generation
    system: str = ""
    temperature: float | None = None
    top_p: float | None = None
    max_output: int | None = None

    # context
    context_limit: int | None = None
    compress: bool = True
    """Whether compression happens by itself."""
    compress_at: float = 0.85
    keep_turns: int = 3
    reserve: int | None = None
    compression_model: ModelSpec | None = None
    """Who writes summaries; None is the model at work."""

    # tools
    tools: bool = True
    parallel_calls: int = 8
    calls_per_turn: int = 50
    call_timeout_s: float = 120.0
    """Seconds a call may run, the time the user takes to approve it not counted; 0 is without limit."""

    # limits
    attempt_limit_s: float = 3600.0
    """A single request that lasts longer is given up."""
