"""The cost of turns and sessions: how it is added up and formatted, for every place that shows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import fsum

from tui.domain.compression import SummaryRun
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import Message, Role, Turn

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
    """Return whether the cost is known and complete. An interrupted stream reports partial usage or none."""
    if request.cost is None:
        return False
    return isinstance(request, SummaryRun) or not request.interrupted or request.stop is not None


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
