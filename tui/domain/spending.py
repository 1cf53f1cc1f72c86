"""Spending limits, and the requests that count towards them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from tui.domain.cost import money
from tui.domain.fast_dataclass import dataclass
from tui.domain.usage import Usage

TOLERANCE = 1e-9
"""Dollars: sums of many costs are not exact."""


class Scope(StrEnum):
    """What a limit applies to."""

    RUN = "run"
    TURN = "turn"
    SESSION = "session"
    DAY = "day"


SETTINGS: Mapping[Scope, str] = {
    Scope.RUN: "--max-cost",
    Scope.TURN: "budget.turn",
    Scope.SESSION: "budget.session",
    Scope.DAY: "budget.day",
}
_WHERE: Mapping[Scope, str] = {
    Scope.RUN: "since ponder was started",
    Scope.TURN: "in this turn",
    Scope.SESSION: "in this session",
    Scope.DAY: "today",
}

Limits = Mapping[Scope, float]
"""Dollars; a scope without a limit is absent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """The most a request may cost."""

    id: str
    """The id of the answer or summary."""
    session: str
    turn: str
    model: str
    dollars: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Exceeded:
    """A limit that a request may exceed."""

    scope: Scope
    limit: float
    spent: float
    """Dollars, including what running requests may cost at most."""

    @property
    def words(self) -> str:
        """For example ``$4.81 of $5.00 are spent today``."""
        return f"{money(self.spent)} of {money(self.limit)} are spent {_WHERE[self.scope]}"


def first_exceeded(spent: Mapping[Scope, float], dollars: float, limits: Limits) -> Exceeded | None:
    """Return the first limit that this amount would exceed."""
    for scope, limit in limits.items():
        if spent[scope] + dollars > limit + TOLERANCE:
            return Exceeded(scope=scope, limit=limit, spent=spent[scope])
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class SpentRequest:
    """A request in the ledger."""

    session: str
    title: str
    """The session's title; "" if the session was deleted for good."""
    model: str
    created: float
    cost: float | None
    final: bool
    """Whether the cost is complete."""
    reserved: float | None
    """Dollars it may have cost, if the cost is not complete; None if that is unknown, too."""
    usage: Usage | None
