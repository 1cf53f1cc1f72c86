"""Token counts: what a provider reported, and what we estimate before it can.

Invariant: totals are inclusive. ``input`` is everything sent, of which ``cache_read`` and ``cache_write``;
``output`` is everything generated, of which ``thinking``; ``total`` = input + output. Each wire turns its
provider's own rules into this; nobody downstream adds or subtracts. None means *not reported*, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from tui.domain.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What the provider says one response cost."""

    input: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    output: int | None = None
    thinking: int | None = None
    total: int | None = None
    cost: float | None = None
    """In dollars, where the provider says it itself (OpenRouter)."""

    def without_false_zeros(self) -> Usage:
        """The same, unknown where a server that counts nothing says 0: no request is empty."""
        if self.input != 0:
            return self
        nothing_counted = not self.output and not self.thinking
        return Usage(
            output=None if nothing_counted else self.output,
            thinking=None if nothing_counted else self.thinking,
            cost=self.cost,
        )


class Part(StrEnum):
    """The parts of the next request (and what stays behind) the meter tells apart."""

    SYSTEM = "system"
    TOOLS = "tools"
    USER = "user"
    ANSWERS = "answers"
    THINKING_SENT = "thinking sent"
    THINKING_STRIPPED = "thinking stripped"
    TOOL_RESULTS = "tool results"
    DRAFT = "draft"
    RESERVED = "reserved for output"


class Certainty(StrEnum):
    """How a token number came about."""

    ESTIMATED = "estimated"
    REPORTED = "reported"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterReading:
    """The live meter: effective is what the next request really contains, raw is all that is stored."""

    effective: int
    raw: int
    limit: int | None
    """The context window in force; None when unknown."""
    reserved: int
    trigger: int | None
    """Effective tokens at which compression starts."""
    certainty: Certainty
    parts: Mapping[Part, int] = field(default_factory=dict)
    scale: float = 1.0
    """By how much plain estimates were corrected to come to these numbers."""
