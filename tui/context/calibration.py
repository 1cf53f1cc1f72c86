"""Calibration of token estimates by reported counts, per model: a base, a slope, and which thinking is counted.

The base is what a server adds to every request (its own prompt, instructions for tools). It is learned from short
first requests of conversations. The slope is reported tokens per estimated token. It is learned from what was added
between two requests of one conversation. The two are separate because a short first request is nearly all base: its
ratio would be wrong for all later text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from tui.catalog.facts import ThinkingCounted
from tui.domain.fast_dataclass import dataclass

KEPT = 24
"""Observations of each kind that are kept per model."""
RATIO_RANGE = (0.4, 2.5)
"""No tokenizer has a slope outside this range. Such an observation has another cause."""
HIDDEN_PROMPT = 10_000
"""The most tokens that a server is assumed to add to a request."""
SHORT_OPENING = 1_000
"""Estimated tokens of conversation up to which a first request is used for the base. In a longer one, the error of the
slope would distort the base."""
REAL_STEP = 200
"""Least estimated tokens of a step that is used for the slope. In a smaller one, message frames outweigh the text."""
KEPT_VERDICTS = 5
CLEAR_TOOLS = 100
"""Least tokens of tool definitions for deciding from a reported count whether they are included."""
CLEAR_THINKING = 100
"""Least tokens of thinking for deciding from a reported count whether it is included."""

ThinkingSizes = Mapping[ThinkingCounted, int]
"""Estimated tokens of the thinking in a request, under each assumption of what the server counts."""
_NO_THINKING: ThinkingSizes = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """The last request of the conversation to this model, with its plain estimate and reported count."""

    estimate: int
    reported: int
    last: str | None = None
    """Id of its last stored message. The next message is the answer."""
    thinking: ThinkingSizes = field(default_factory=lambda: _NO_THINKING)
    others: int = 0
    """The estimate without thinking."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelObservations:
    """The observations of one model, oldest first."""

    openings: tuple[tuple[int, int], ...] = ()
    """(estimate, reported) of short first requests without tools."""
    openings_with_tools: tuple[tuple[int, int], ...] = ()
    steps: tuple[tuple[int, int], ...] = ()
    """(estimate, reported) of the tokens added from one request to the next."""
    verdicts: tuple[frozenset[ThinkingCounted], ...] = ()
    """The assumptions about counted thinking that agree with a reported count."""
    tool_verdicts: tuple[bool, ...] = ()
    """Whether a reported count includes tool definitions."""

    @property
    def counts_tools(self) -> bool:
        """False for a server whose chat template omits tool definitions."""
        return not self.tool_verdicts or 2 * sum(self.tool_verdicts) >= len(self.tool_verdicts)

    @property
    def slope(self) -> float:
        """Reported tokens per estimated token; 1 before the first step."""
        return _within(_median(after / before for before, after in self.steps)) if self.steps else 1.0

    def base(self, *, tools: bool) -> int:
        """Return the tokens a server adds to every request; 0 before the first short opening."""
        openings = self.openings_with_tools if tools else self.openings
        return round(_median(reported - estimate * self.slope for estimate, reported in openings)) if openings else 0


_NOTHING = ModelObservations()


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The observations of all models, by ``provider/model``. Immutable."""

    models: Mapping[str, ModelObservations] = field(default_factory=dict)

    def of(self, key: str) -> ModelObservations:
        """Return the observations of a model."""
        return self.models.get(key, _NOTHING)

    def with_opening(self, key: str, estimate: int, reported: int, *, tools: bool = False) -> Calibration:
        """Return a copy with a short first request of a conversation added."""
        if estimate <= 0 or reported <= 0:
            return self
        known, pair = self.of(key), (estimate, reported)
        if tools:
            return self._with(key, replace(known, openings_with_tools=(*known.openings_with_tools, pair)[-KEPT:]))
        return self._with(key, replace(known, openings=(*known.openings, pair)[-KEPT:]))

    def with_step(self, key: str, added: int, reported: int) -> Calibration:
        """Return a copy with a step between two requests of a conversation. Small or implausible steps are ignored."""
        low, high = RATIO_RANGE
        if added < REAL_STEP or not low * added <= reported <= high * added:
            return self
        known = self.of(key)
        return self._with(key, replace(known, steps=(*known.steps, (added, reported))[-KEPT:]))

    def with_thinking_verdict(self, key: str, verdict: frozenset[ThinkingCounted]) -> Calibration:
        """Return a copy with the assumptions about counted thinking that agree with a reported count."""
        known = self.of(key)
        return self._with(key, replace(known, verdicts=(*known.verdicts, verdict)[-KEPT_VERDICTS:]))

    def with_tools_verdict(self, key: str, *, counted: bool) -> Calibration:
        """Return a copy with whether a reported count includes tool definitions."""
        known = self.of(key)
        return self._with(key, replace(known, tool_verdicts=(*known.tool_verdicts, counted)[-KEPT_VERDICTS:]))

    def counted_thinking(self, key: str, declared: ThinkingCounted) -> ThinkingCounted:
        """Return which thinking the server counts: by majority of the verdicts, else as the catalogue declares."""
        votes = Counter(rule for verdict in self.of(key).verdicts for rule in verdict)
        if not votes:
            return declared
        most = max(votes.values())
        return declared if votes[declared] == most else next(rule for rule in ThinkingCounted if votes[rule] == most)

    def predict(self, key: str, estimate: int, anchor: Anchor | None = None, *, tools: bool = False) -> int:
        """Predict the reported count of a request with this plain estimate."""
        known = self.of(key)
        if anchor is None or estimate < anchor.estimate // 2:
            return max(1, round(estimate * known.slope) + known.base(tools=tools)) if estimate > 0 else 0
        return max(1, anchor.reported + round((estimate - anchor.estimate) * known.slope))

    def _with(self, key: str, known: ModelObservations) -> Calibration:
        return replace(self, models={**self.models, key: known})

    def as_table(self) -> dict[str, object]:
        """Return the calibration as plain data for storage."""
        return {
            key: {
                "openings": [list(pair) for pair in known.openings],
                "openings_with_tools": [list(pair) for pair in known.openings_with_tools],
                "steps": [list(pair) for pair in known.steps],
                "verdicts": [sorted(verdict) for verdict in known.verdicts],
                "tool_verdicts": list(known.tool_verdicts),
            }
            for key, known in self.models.items()
        }

    @classmethod
    def from_table(cls, table: object) -> Calibration:
        """Load a stored calibration. Invalid entries and older formats are ignored."""
        if not isinstance(table, Mapping):
            return cls()
        models = {str(key): _experience(found) for key, found in table.items() if isinstance(found, Mapping)}
        return cls(models={key: known for key, known in models.items() if known != _NOTHING})


def thinking_verdict(before: Anchor, now: Anchor) -> frozenset[ThinkingCounted] | None:
    """Return the assumptions about counted thinking that explain a step; None if they cannot be distinguished."""
    unexplained = now.reported - before.reported - (now.others - before.others)
    off = {rule: abs(unexplained - (size - before.thinking.get(rule, 0))) for rule, size in now.thinking.items()}
    if not off:
        return None
    best = min(off.values())
    near = frozenset(rule for rule, error in off.items() if error - best < CLEAR_THINKING)
    far = [error for rule, error in off.items() if rule not in near]
    return near if far and best * 3 <= min(far) else None


def tools_verdict(estimate: int, tools: int, reported: int) -> bool | None:
    """Return whether a first request's count includes ``tools`` tokens of definitions; None if that is unclear."""
    whole, bare = abs(reported - estimate), abs(reported - (estimate - tools))
    if tools < CLEAR_TOOLS or 3 * min(whole, bare) > max(whole, bare):
        return None
    return whole < bare


def _experience(found: Mapping[object, object]) -> ModelObservations:
    return ModelObservations(
        openings=_pairs(found.get("openings")),
        openings_with_tools=_pairs(found.get("openings_with_tools")),
        steps=_pairs(found.get("steps")),
        verdicts=_verdicts(found.get("verdicts")),
        tool_verdicts=_flags(found.get("tool_verdicts")),
    )


def _flags(found: object) -> tuple[bool, ...]:
    items = found if isinstance(found, list) else []
    return tuple(item for item in items if isinstance(item, bool))[-KEPT_VERDICTS:]


def _pairs(found: object) -> tuple[tuple[int, int], ...]:
    items = found if isinstance(found, list) else []
    return tuple(pair for pair in map(_pair, items) if pair is not None)[-KEPT:]


def _pair(item: object) -> tuple[int, int] | None:
    match item:
        case [int(estimate), int(reported)] if estimate > 0 and reported > 0:
            return estimate, reported
        case _:
            return None


def _verdicts(found: object) -> tuple[frozenset[ThinkingCounted], ...]:
    known = set(ThinkingCounted)
    items = [item for item in found if isinstance(item, list)] if isinstance(found, list) else []
    read = [frozenset(ThinkingCounted(word) for word in item if word in known) for item in items]
    return tuple(verdict for verdict in read if verdict)[-KEPT_VERDICTS:]


def _median(numbers: Iterable[float]) -> float:
    """Return the median. The ``statistics`` module would import ``fractions`` and ``decimal`` at start-up."""
    ordered = sorted(numbers)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _within(ratio: float) -> float:
    low, high = RATIO_RANGE
    return min(high, max(low, ratio))


def can_be_right(estimate: int, reported: int, *, guessed: int = 0) -> bool:
    """Return whether a reported count is plausible. ``guessed`` tokens of the estimate (images) may count as 0."""
    low, high = RATIO_RANGE
    return low * (estimate - guessed) <= reported <= high * estimate + HIDDEN_PROMPT and reported > 0


def calibration_key(provider: str, model: str) -> str:
    """Return the key of a model in a calibration."""
    return f"{provider}/{model}"
