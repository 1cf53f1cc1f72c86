"""The cost of turns and sessions, and limits on it: how costs are added up, compared with the limits and formatted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from math import fsum

from tui.domain.compression import SummaryRun
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import Message, Role, Turn
from tui.domain.usage import Usage

Paid = Message | SummaryRun
"""A request that a provider bills."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The total cost of several requests."""

    dollars: float | None = None
    """Total of the known costs; None if no cost is known."""
    unknown: int = 0
    """Requests whose cost is unknown or incomplete. If not 0, ``dollars`` is a lower bound."""

    @property
    def amount(self) -> str:
        """``$0.31``, ``at least $0.31`` or ``unknown``; "" if there were no requests."""
        if self.dollars is None:
            return "unknown" if self.unknown else ""
        return f"{'at least ' if self.unknown else ''}{money(self.dollars)}"

    @property
    def words(self) -> str:
        """The amount, worded for places without a heading."""
        return "cost unknown" if self.amount == "unknown" else self.amount


def money(dollars: float) -> str:
    """Format an amount: two significant digits below a dollar, cents above."""
    if dollars == 0:
        return "$0"
    if dollars < 0:
        return f"-{money(-dollars)}"
    if dollars >= 1:
        return f"${dollars:,.2f}"
    places = 2
    while places < 6 and round(dollars, places) < 10 ** (1 - places):
        places += 1
    return f"${dollars:.{places}f}"


def cost_of(paid: Iterable[Paid]) -> Cost:
    """Add up the cost of several requests."""
    known: list[float] = []
    unknown = 0
    for request in paid:
        if request.cost is not None:
            known.append(request.cost)
        unknown += not is_cost_final(request)
    return Cost(dollars=fsum(known) if known else None, unknown=unknown)


def is_cost_final(request: Paid) -> bool:
    """Return whether the cost is known and complete.

    An interrupted stream reports partial usage or none; if that costs nothing, the model is free.
    """
    if request.cost is None:
        return False
    if isinstance(request, SummaryRun):
        return not (request.aside and request.failure)
    return is_usage_final(request) or request.cost == 0


def is_usage_final(answer: Message) -> bool:
    """Return whether the provider could report all that it counted."""
    return not answer.interrupted or answer.stop is not None


def paid_in(turns: Iterable[Turn]) -> Iterator[Message]:
    """Yield the answers of these turns, including retried attempts, which are billed too."""
    for turn in turns:
        for message in turn.messages:
            if message.role is Role.ASSISTANT and (message.origin is not None or message.cost is not None):
                yield message


def left_behind(turns: Sequence[Turn], summaries: Sequence[SummaryRun], kept: Iterable[str]) -> Iterator[Paid]:
    """Yield the billed requests of turns that are not in ``kept``, as messages without their blocks."""
    names = set(kept)
    for message in paid_in(turn for turn in turns if turn.id not in names):
        yield without_blocks(message)
    yield from (run for run in summaries if run.turn not in names)


def without_blocks(message: Message) -> Message:
    """Return a copy of the message with only what its cost depends on."""
    return Message(
        id=message.id,
        role=message.role,
        blocks=(),
        origin=message.origin,
        usage=message.usage,
        stop=message.stop,
        interrupted=message.interrupted,
        superseded=message.superseded,
        seconds=message.seconds,
        cost=message.cost,
    )


TOLERANCE = 1e-9
"""Dollars: sums of many costs are not exact."""


class LimitScope(StrEnum):
    """What a limit applies to."""

    RUN = "run"
    TURN = "turn"
    SESSION = "session"
    DAY = "day"


LIMIT_SETTINGS: Mapping[LimitScope, str] = {
    LimitScope.RUN: "--max-cost",
    LimitScope.TURN: "budget.turn",
    LimitScope.SESSION: "budget.session",
    LimitScope.DAY: "budget.day",
}
_WHERE: Mapping[LimitScope, str] = {
    LimitScope.RUN: "since ponder was started",
    LimitScope.TURN: "in this turn",
    LimitScope.SESSION: "in this session",
    LimitScope.DAY: "today",
}

SpendingLimits = Mapping[LimitScope, float]
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
class ExceededLimit:
    """A limit that a request may exceed."""

    scope: LimitScope
    limit: float
    spent: float
    """Dollars, including what running requests may cost at most."""

    @property
    def words(self) -> str:
        """For example ``$4.81 of $5.00 are spent today``."""
        return f"{money(self.spent)} of {money(self.limit)} are spent {_WHERE[self.scope]}"


def first_exceeded(spent: Mapping[LimitScope, float], dollars: float, limits: SpendingLimits) -> ExceededLimit | None:
    """Return the first limit that this amount would exceed."""
    for scope, limit in limits.items():
        if spent[scope] + dollars > limit + TOLERANCE:
            return ExceededLimit(scope=scope, limit=limit, spent=spent[scope])
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
