"""Per model, what reported input counts say about our estimates: a hidden base, a slope, and which thinking counts.

The base is what a server adds to every request unseen (its own prompt, its words about tools); it comes from short
requests that begin a conversation. The slope is reported tokens per estimated token; it comes from what was added
between two requests of one conversation. They are kept apart because a short first request is nearly all base: a
ratio made from it would multiply every text that follows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from tui.catalog.facts import ThinkingCounted
from tui.domain.fast_dataclass import dataclass

KEPT = 24
"""Observations of each kind remembered per model."""
RATIO_RANGE = (0.4, 2.5)
"""A slope outside of this is no way of cutting text into tokens; something else happened."""
HIDDEN_PROMPT = 10_000
"""The most tokens a server is believed to add to a request unseen."""
SHORT_OPENING = 1_000
"""Estimated tokens of conversation up to which a first request tells the base. In a longer one, the slope's error
would be taken for a base."""
REAL_STEP = 200
"""Estimated tokens that must be added before a step tells the slope. In a shorter one, frames outweigh the text."""
KEPT_VERDICTS = 5
CLEAR_TOOLS = 100
"""Tokens of tool definitions that must be at stake before a count tells whether they were included."""
CLEAR_THINKING = 100
"""Tokens of thinking that must be at stake before a count tells whether it was included."""

ThinkingSizes = Mapping[ThinkingCounted, int]
"""Estimated tokens of the thinking in a request, under each assumption of what the server counts."""
_NO_THINKING: ThinkingSizes = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """The last request of this conversation to this model: our plain estimate, and what was reported."""

    estimate: int
    reported: int
    last: str | None = None
    """Id of its last stored message; the message behind that one is the answer."""
    thinking: ThinkingSizes = field(default_factory=lambda: _NO_THINKING)
    others: int = 0
    """The estimate without thinking."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experience:
    """What was observed of one model, oldest first."""

    openings: tuple[tuple[int, int], ...] = ()
    """(estimate, reported) of short first requests without tools."""
    openings_with_tools: tuple[tuple[int, int], ...] = ()
    steps: tuple[tuple[int, int], ...] = ()
    """(estimate, reported) of what was added from one request to the next."""
    verdicts: tuple[frozenset[ThinkingCounted], ...] = ()
    """The assumptions about counted thinking that agreed with a reported count."""
    tool_verdicts: tuple[bool, ...] = ()
    """Whether tool definitions were in a reported count."""

    @property
    def counts_tools(self) -> bool:
        """False for a server whose chat template leaves tool definitions out."""
        return not self.tool_verdicts or 2 * sum(self.tool_verdicts) >= len(self.tool_verdicts)

    @property
    def slope(self) -> float:
        """Reported tokens for each estimated one; 1 until a real step was seen."""
        return _within(_median(after / before for before, after in self.steps)) if self.steps else 1.0

    def base(self, *, tools: bool) -> int:
        """Tokens a server adds to every request beyond its estimate; 0 until a short first request was seen."""
        openings = self.openings_with_tools if tools else self.openings
        return round(_median(reported - estimate * self.slope for estimate, reported in openings)) if openings else 0


_NOTHING = Experience()


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What was learned so far, as a value, by ``provider/model``."""

    models: Mapping[str, Experience] = field(default_factory=dict)

    def of(self, key: str) -> Experience:
        """What was observed of a model."""
        return self.models.get(key, _NOTHING)

    def opened(self, key: str, estimate: int, reported: int, *, tools: bool = False) -> Calibration:
        """The same with a short first request of a conversation."""
        if estimate <= 0 or reported <= 0:
            return self
        known, pair = self.of(key), (estimate, reported)
        if tools:
            return self._with(key, replace(known, openings_with_tools=(*known.openings_with_tools, pair)[-KEPT:]))
        return self._with(key, replace(known, openings=(*known.openings, pair)[-KEPT:]))

    def stepped(self, key: str, added: int, reported: int) -> Calibration:
        """The same with what was added between two requests of a conversation; too small or odd a step is ignored."""
        low, high = RATIO_RANGE
        if added < REAL_STEP or not low * added <= reported <= high * added:
            return self
        known = self.of(key)
        return self._with(key, replace(known, steps=(*known.steps, (added, reported))[-KEPT:]))

    def judged(self, key: str, verdict: frozenset[ThinkingCounted]) -> Calibration:
        """The same with the assumptions about counted thinking that a reported count agreed with."""
        known = self.of(key)
        return self._with(key, replace(known, verdicts=(*known.verdicts, verdict)[-KEPT_VERDICTS:]))

    def judged_tools(self, key: str, *, counted: bool) -> Calibration:
        """The same with what a reported count said about tool definitions."""
        known = self.of(key)
        return self._with(key, replace(known, tool_verdicts=(*known.tool_verdicts, counted)[-KEPT_VERDICTS:]))

    def counted(self, key: str, declared: ThinkingCounted) -> ThinkingCounted:
        """Which thinking the server counts: as most verdicts say, else as the catalogue declares."""
        votes = Counter(rule for verdict in self.of(key).verdicts for rule in verdict)
        if not votes:
            return declared
        most = max(votes.values())
        return declared if votes[declared] == most else next(rule for rule in ThinkingCounted if votes[rule] == most)

    def predict(self, key: str, estimate: int, anchor: Anchor | None = None, *, tools: bool = False) -> int:
        """What the provider will report for a request that we plainly estimate so."""
        known = self.of(key)
        if anchor is None or estimate < anchor.estimate // 2:
            return max(1, round(estimate * known.slope) + known.base(tools=tools)) if estimate > 0 else 0
        return max(1, anchor.reported + round((estimate - anchor.estimate) * known.slope))

    def _with(self, key: str, known: Experience) -> Calibration:
        return replace(self, models={**self.models, key: known})

    def as_table(self) -> dict[str, object]:
        """Plain data, to be kept."""
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
        """What was kept; anything broken, or in an older form, is left out."""
        if not isinstance(table, Mapping):
            return cls()
        models = {str(key): _experience(found) for key, found in table.items() if isinstance(found, Mapping)}
        return cls(models={key: known for key, known in models.items() if known != _NOTHING})


def thinking_verdict(before: Anchor, now: Anchor) -> frozenset[ThinkingCounted] | None:
    """Which assumptions about counted thinking explain a step; None where they cannot be told apart."""
    unexplained = now.reported - before.reported - (now.others - before.others)
    off = {rule: abs(unexplained - (size - before.thinking.get(rule, 0))) for rule, size in now.thinking.items()}
    if not off:
        return None
    best = min(off.values())
    near = frozenset(rule for rule, error in off.items() if error - best < CLEAR_THINKING)
    far = [error for rule, error in off.items() if rule not in near]
    return near if far and best * 3 <= min(far) else None


def tools_verdict(estimate: int, tools: int, reported: int) -> bool | None:
    """Whether a first request's count includes ``tools`` tokens of definitions; None where that cannot be told."""
    whole, bare = abs(reported - estimate), abs(reported - (estimate - tools))
    if tools < CLEAR_TOOLS or 3 * min(whole, bare) > max(whole, bare):
        return None
    return whole < bare


def _experience(found: Mapping[object, object]) -> Experience:
    return Experience(
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
    """The middle one; ``statistics`` has it too, but brings fractions and decimals with it."""
    ordered = sorted(numbers)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _within(ratio: float) -> float:
    low, high = RATIO_RANGE
    return min(high, max(low, ratio))


def can_be_right(estimate: int, reported: int, *, guessed: int = 0) -> bool:
    """Whether a server can have counted so; ``guessed`` tokens of the estimate (pictures) may be none at all."""
    low, high = RATIO_RANGE
    return low * (estimate - guessed) <= reported <= high * estimate + HIDDEN_PROMPT and reported > 0


def calibration_key(provider: str, model: str) -> str:
    """How a model is named here."""
    return f"{provider}/{model}"
