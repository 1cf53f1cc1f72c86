"""Estimates that learn: per model, how reported input compares with our estimate of the same request.

Two things are learned. Over all requests to a model: a ratio, for requests of a new conversation. Inside one
conversation: an anchor, the last request and what it really was; the next one is that plus what was added since.
The first is kept over restarts, the second is made again with the first answer.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from tui.domain.value import dataclass

KEPT = 24
"""Exchanges remembered per model."""
RATIO_RANGE = (0.4, 2.5)
"""A ratio outside of this is a provider's oddity (a hidden prompt on a tiny request), not a way of cutting text."""
HIDDEN_PROMPT = 10_000
"""Tokens a provider may add to a request unseen, so that even a short one is reported as long."""
TRUSTED_FROM = 3
"""Exchanges before the ratio is taken as it is; until then it is drawn towards 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """The last request of this conversation to this model: our plain estimate, and what was reported."""

    estimate: int
    reported: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What was learned so far, as a value; ``pairs`` are (estimate, reported) by ``provider/model``, oldest first."""

    pairs: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)

    def learned(self, key: str, estimate: int, reported: int | None) -> Calibration:
        """The same with one more exchange."""
        if not reported or reported < 0 or estimate <= 0:
            return self
        known = (*self.pairs.get(key, ()), (estimate, reported))[-KEPT:]
        return replace(self, pairs={**self.pairs, key: known})

    def ratio(self, key: str) -> float:
        """Reported tokens for each estimated one, from requests of all conversations with this model."""
        known = self.pairs.get(key, ())
        if not known:
            return 1.0
        middle = _median(reported / estimate for estimate, reported in known)
        trust = min(1.0, (len(known) + 1) / TRUSTED_FROM)
        return _within(1.0 + (middle - 1.0) * trust)

    def slope(self, key: str) -> float:
        """Reported tokens for each estimated one that is added to a request, whatever is said around it."""
        known = self.pairs.get(key, ())
        steps = [
            (later[1] - earlier[1]) / (later[0] - earlier[0])
            for earlier, later in itertools.pairwise(known)
            if later[0] - earlier[0] >= max(16, earlier[0] // 50)
        ]
        return _within(_median(steps)) if len(steps) >= TRUSTED_FROM - 1 else self.ratio(key)

    def predict(self, key: str, estimate: int, anchor: Anchor | None = None) -> int:
        """What the provider will report for a request that we plainly estimate so."""
        if anchor is None or estimate < anchor.estimate // 2:
            return round(estimate * self.ratio(key))
        added = estimate - anchor.estimate
        return max(1, round(anchor.reported + added * self.slope(key)))

    def as_table(self) -> dict[str, list[list[int]]]:
        """Plain data, to be kept."""
        return {key: [list(pair) for pair in known] for key, known in self.pairs.items()}

    @classmethod
    def from_table(cls, table: object) -> Calibration:
        """From plain data; what is not of the right shape is passed over."""
        pairs = {}
        for key, known in table.items() if isinstance(table, dict) else ():
            read = tuple(pair for item in known if (pair := _pair(item))) if isinstance(known, list) else ()
            if read:
                pairs[str(key)] = read[-KEPT:]
        return cls(pairs=pairs)


def _median(numbers: Iterable[float]) -> float:
    """The middle one; ``statistics`` has it too, but brings fractions and decimals with it."""
    ordered = sorted(numbers)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _pair(item: object) -> tuple[int, int] | None:
    match item:
        case [int(estimate), int(reported)] if estimate > 0 and reported > 0:
            return estimate, reported
        case _:
            return None


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
