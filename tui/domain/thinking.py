"""Thinking: levels, forms, the user's rules, and the plan that decides what is sent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from tui.domain.fast_dataclass import dataclass
from tui.domain.lazy_regex import lazy_regex


class ThinkingLevel(StrEnum):
    """The levels that ponder offers for every model, weakest first."""

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
    NARRATION = "narration"
    """A summary, and between calls of tools what the model says to the user."""
    HIDDEN = "hidden"


class StripPolicy(StrEnum):
    """For which finished turns the thinking is not sent."""

    NONE = "none"
    ALL_BUT_LAST = "allButLast"
    ALL = "all"


class IncludeInContext(StrEnum):
    """Whether thinking of finished turns is sent back: as the model's facts require, always, or never."""

    AUTO = "auto"
    TRUE = "true"
    FALSE = "false"


class ReasoningFormat(StrEnum):
    """How thinking from another provider is sent: only in its native form, or also as a field or text."""

    AUTO = "auto"
    NATIVE = "native"
    FIELD = "field"


_NUMBER = lazy_regex(r"(\d{1,3}(?:[_,]\d{3})+|\d+)(\.\d+)?\s*([km]?)", re.IGNORECASE | re.ASCII)
_TIMES = {"": 1, "k": 1_000, "m": 1_000_000}
LONGEST_NUMBER = 20


def parse_number(text: str) -> int | float | None:
    """Parse a number such as ``16000``, ``16,000``, ``16k``, ``1.5m`` or ``0.85``; None if it is not a number."""
    found = _NUMBER.fullmatch(text) if len(text) <= LONGEST_NUMBER else None
    if found is None:
        return None
    whole, part, unit = int(re.sub("[_,]", "", found[1])), found[2], found[3].lower()
    if part is None:
        return whole * _TIMES[unit]
    number = float(f"{whole}{part}") * _TIMES[unit]
    return round(number) if unit else number


Asked = ThinkingLevel | int
"""What the user requested: a level, or a budget in tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningRules:
    """The ``reasoning.*`` settings that decide which thinking is sent back."""

    include_in_context: IncludeInContext = IncludeInContext.AUTO
    strip: StripPolicy = StripPolicy.NONE
    format: ReasoningFormat = ReasoningFormat.AUTO

    @property
    def leave_thinking_out(self) -> bool:
        """Whether these rules can omit thinking that a model requires."""
        return self.include_in_context is IncludeInContext.FALSE or self.strip is not StripPolicy.NONE


class PlanState(StrEnum):
    """The state of thinking under a plan."""

    OFF = "off"
    ON = "on"
    CANNOT_DISABLE = "cannot_disable"
    """None was requested, but the model thinks at its minimum."""
    UNCONTROLLED = "uncontrolled"
    """The model has no thinking control. Nothing is sent; the model decides."""
    UNSUPPORTED = "unsupported"
    """The model does not think."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingPlan:
    """What is sent to control thinking, and how it is shown to the user."""

    asked: Asked
    instead: str = ""
    """The value of a setting that overrides the requested level: ``xhigh``, ``20000``; "" if none does."""
    nominal: int | str | None
    """The value for the level before the limits of the request are applied."""
    sent: int | str | None
    """The value on the wire: a budget, an effort word, or None if nothing is sent."""
    state: PlanState
    fields: Mapping[str, object] = field(default_factory=dict)
    """Exact wire fields, merged into the request body."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Additional request headers; ``anthropic-beta`` values are joined with those of the wire."""
    max_output: int | None = None
    """The output limit to send with this plan; None uses the server's limit."""
    in_force: str | None = None
    """The level that the fields result in: ``med``, ``on`` or ``off`` for a switch, an effort word, a budget, or ""
    if the model has no control. None: the requested level."""
    native: str = ""
    """What is sent, as a short phrase: ``effort high``, ``43,008 tokens``, ``on (adaptive)``."""
    summary: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def level(self) -> str:
        """The level shown in the status line, the level picker and headings."""
        return self.in_force if self.in_force is not None else self.instead or str(self.asked)

    @property
    def thinks(self) -> bool:
        """Whether the model is expected to think under this plan."""
        return self.state not in (PlanState.OFF, PlanState.UNSUPPORTED)


def model_title(model: str) -> str:
    """A model's id as it is shown: of the path of a file only the name, and nothing that a terminal obeys.

    An imported session may name any model.
    """
    name = model.rpartition("/")[2] if model.startswith("/") else model
    if name.isprintable():
        return name
    from tui.domain.printable import printable  # it needs this module

    return printable(name, keep_newlines=False)


DEMO = "demo"
"""The provider without a model behind it."""


def labelled_name(provider: str, model: str) -> str:
    """A model's name where its provider is not shown: the names of the demo say that they are the demo's."""
    name = model_title(model)
    return f"{DEMO}/{name}" if provider == DEMO and name != DEMO else name


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """A model as the user selects it: provider, the provider's model id, level or budget."""

    provider: str
    model: str
    asked: Asked | None = None
    """None leaves the level unchanged."""

    def __str__(self) -> str:
        name = f"{self.provider}/{self.model}"
        return name if self.asked is None else f"{name}/{self.asked}"
