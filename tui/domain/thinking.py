"""Words for thinking: levels, forms, the user's rules, and the plan that says what is sent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from tui.domain.fast_dataclass import dataclass
from tui.domain.lazy_regex import lazy_regex


class ThinkingLevel(StrEnum):
    """The unified levels, weakest first."""

    NONE = "none"
    LOW = "low"
    MED = "med"
    HIGH = "high"

    @property
    def rank(self) -> int:
        """0 for none … 3 for high."""
        return list(ThinkingLevel).index(self)


class ThinkingForm(StrEnum):
    """What the text of a thinking block is."""

    FULL = "full"
    SUMMARY = "summary"
    HIDDEN = "hidden"


class StripPolicy(StrEnum):
    """Which finished turns lose their thinking on the way out."""

    NONE = "none"
    ALL_BUT_LAST = "allButLast"
    ALL = "all"


class IncludeInContext(StrEnum):
    """Whether finished turns' thinking goes back: what the model's facts ask for, always, never."""

    AUTO = "auto"
    TRUE = "true"
    FALSE = "false"


class ReasoningFormat(StrEnum):
    """How thinking of foreign origin is carried: not at all in another spelling, or as a field/text."""

    AUTO = "auto"
    NATIVE = "native"
    FIELD = "field"


_NUMBER = lazy_regex(r"(\d{1,3}(?:[_,]\d{3})+|\d+)(\.\d+)?\s*([km]?)", re.IGNORECASE | re.ASCII)
_TIMES = {"": 1, "k": 1_000, "m": 1_000_000}
LONGEST_NUMBER = 20


def number_in(text: str) -> int | float | None:
    """A number as people write it: ``16000``, ``16,000``, ``16k``, ``1.5m``, ``0.85``; None where it is none."""
    found = _NUMBER.fullmatch(text) if len(text) <= LONGEST_NUMBER else None
    if found is None:
        return None
    whole, part, unit = int(re.sub("[_,]", "", found[1])), found[2], found[3].lower()
    if part is None:
        return whole * _TIMES[unit]
    number = float(f"{whole}{part}") * _TIMES[unit]
    return round(number) if unit else number


Asked = ThinkingLevel | int
"""What the user asked for: a level, or a budget in tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningRules:
    """The ``reasoning.*`` settings that decide what goes back."""

    include_in_context: IncludeInContext = IncludeInContext.AUTO
    strip: StripPolicy = StripPolicy.NONE
    format: ReasoningFormat = ReasoningFormat.AUTO

    @property
    def leave_thinking_out(self) -> bool:
        """Whether they can keep thinking from being sent that a model requires."""
        return self.include_in_context is IncludeInContext.FALSE or self.strip is not StripPolicy.NONE


class PlanState(StrEnum):
    """What the plan makes of thinking."""

    OFF = "off"
    ON = "on"
    CANNOT_DISABLE = "cannot_disable"
    """Asked for none; the model thinks at its minimum."""
    UNCONTROLLED = "uncontrolled"
    """The model has no knob: nothing is sent, it thinks (or not) as it likes."""
    UNSUPPORTED = "unsupported"
    """The model does not think."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingPlan:
    """The one answer to "what will be sent to control thinking, and what does that mean"."""

    asked: Asked
    instead: str = ""
    """What a setting says in place of the level that was asked for: ``xhigh``, ``20000``; "" where none does."""
    nominal: int | str | None
    """What the level formula or the level table says, before the request's own limits."""
    sent: int | str | None
    """The effective value on the wire: a budget, an effort word, or None where nothing is sent."""
    state: PlanState
    fields: Mapping[str, object] = field(default_factory=dict)
    """Exact wire fields, merged into the request body."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Extra request headers; ``anthropic-beta`` values are joined with those of the wire."""
    max_output: int | None = None
    """The output limit this plan was made for, to be sent with it; None leaves it to the server."""
    in_force: str | None = None
    """The level that the fields amount to: ``med``, ``on`` or ``off`` for a switch, an effort word, a budget, and ""
    where the model has no control. None: the level that was asked for."""
    native: str = ""
    """What is sent, in a few words: ``effort high``, ``43,008 tokens``, ``on (adaptive)``."""
    summary: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def level(self) -> str:
        """The level that status line, level picker and headings show."""
        return self.in_force if self.in_force is not None else self.instead or str(self.asked)

    @property
    def thinks(self) -> bool:
        """Whether the model is expected to think under this plan."""
        return self.state not in (PlanState.OFF, PlanState.UNSUPPORTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """A model as the user names it: provider, model id as the provider spells it, level or budget."""

    provider: str
    model: str
    asked: Asked | None = None
    """None leaves the level as it is."""

    def __str__(self) -> str:
        name = f"{self.provider}/{self.model}"
        return name if self.asked is None else f"{name}/{self.asked}"
