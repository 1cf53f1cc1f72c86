"""Token counts: reported by the provider, or estimated before the request.

Totals are inclusive: ``input`` counts everything sent, including ``cache_read`` and ``cache_write``; ``output``
counts everything generated, including ``thinking``; ``total`` = input + output. Each wire converts its provider's
counts to this form, so that no other code adds or subtracts. None means *not reported*, which is not 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from tui.domain.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The usage that the provider reported for one response."""

    input: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    cache_write_1h: int | None = None
    """The part of ``cache_write`` that is kept for an hour, which costs more."""
    output: int | None = None
    thinking: int | None = None
    total: int | None = None
    searches: int | None = None
    """Web searches that the provider ran and charges for."""
    cost: float | None = None
    """Dollars, if the provider reports the cost (OpenRouter)."""

    def without_false_zeros(self) -> Usage:
        """Return a copy with 0 as None if the server reports 0 without counting: no request has 0 input tokens."""
        if self.input != 0:
            return self
        nothing_counted = not self.output and not self.thinking
        return Usage(
            output=None if nothing_counted else self.output,
            thinking=None if nothing_counted else self.thinking,
            searches=self.searches,
            cost=self.cost,
        )


class Part(StrEnum):
    """The parts of the history that the meter counts separately."""

    SYSTEM = "system"
    PROJECT = "project files"
    TOOLS = "tools"
    USER = "user"
    ANSWERS = "answers"
    THINKING_SENT = "thinking sent"
    THINKING_STRIPPED = "thinking stripped"
    TOOL_RESULTS = "tool results"
    DRAFT = "draft"
    RESERVED = "reserved for output"

    @property
    def label(self) -> str:
        """The name on the screen; the value is the key in JSON."""
        return "thinking not sent" if self is Part.THINKING_STRIPPED else self.value


class Certainty(StrEnum):
    """Whether a token count is estimated or reported."""

    ESTIMATED = "estimated"
    REPORTED = "reported"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterReading:
    """The token meter: ``effective`` counts the next request, ``raw`` everything stored."""

    effective: int
    raw: int
    limit: int | None
    """The context window; None if unknown."""
    reserved: int
    trigger: int | None
    """Effective tokens at which compression starts."""
    certainty: Certainty
    parts: Mapping[Part, int] = field(default_factory=dict)
    scale: float = 1.0
    """The factor from plain estimates to these numbers."""
    uncounted: int = 0
    """Thinking that is sent, but that the server does not count; it is in the part of what is not sent."""

    def label_of(self, part: Part) -> str:
        """The name of a part on the screen."""
        return "thinking uncounted" if part is Part.THINKING_STRIPPED and self.uncounted else part.label
