"""What it cost, by model: tokens and dollars, thinking as its own line. What is not known stays unknown. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import fsum

from tui.catalog.facts import Price
from tui.domain.compression import SummaryRun
from tui.domain.cost import Cost, Paid, cost_of
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import Origin
from tui.domain.usage import Usage

MILLION = 1_000_000

PriceOf = Callable[[Origin], Price | None]
"""The prices of the model an answer came from; None where they are not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelBill:
    """What one model was paid for. Sums are of what is known; None is nothing known."""

    name: str
    """``provider/model``."""
    for_summaries: bool = False
    """It wrote summaries of compressed turns; what it answered is a row of its own."""
    responses: int
    unpriced: int
    """Responses whose cost is not known or not whole: the dollars are a lower bound."""
    input: int | None
    cached: int | None
    """Of the input, read from a cache."""
    output: int | None
    thinking: int | None
    """Of the output."""
    thinking_unknown: int = 0
    """Responses that did not report how much they thought: the thinking tokens are a lower bound."""
    dollars: float | None
    thinking_dollars: float | None

    @property
    def cost(self) -> Cost:
        """The dollars, and for how many responses they are unknown."""
        return Cost(dollars=self.dollars, unknown=self.unpriced)

    @property
    def thinking_share(self) -> float | None:
        """Of the dollars where those are known, else of the output tokens; None where thinking was not reported."""
        if self.thinking_unknown:
            return None
        if self.is_share_of_dollars:
            return (self.thinking_dollars or 0.0) / (self.dollars or 1.0)
        return self.thinking / self.output if self.thinking is not None and self.output else None

    @property
    def is_share_of_dollars(self) -> bool:
        """Whether ``thinking_share`` is one of the cost."""
        return self.thinking_dollars is not None and bool(self.dollars)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """A conversation's cost, most expensive model first."""

    models: tuple[ModelBill, ...] = ()

    @property
    def cost(self) -> Cost:
        """Of everything: the one figure that sidebar, status line, lists and exports show."""
        return Cost(dollars=_sum(row.dollars for row in self.models), unknown=sum(row.unpriced for row in self.models))

    @property
    def dollars(self) -> float | None:
        """Everything known; None where nothing is."""
        return self.cost.dollars

    @property
    def thinking_dollars(self) -> float | None:
        """Of it for thinking."""
        return _sum(row.thinking_dollars for row in self.models)

    @property
    def complete(self) -> bool:
        """Whether every response's cost is known."""
        return not self.cost.unknown


def bill_of(paid: Iterable[Paid], price_of: PriceOf | None = None) -> Bill:
    """The bill for these requests. Costs are those known when the answers came; ``price_of`` prices their thinking."""
    answered: dict[tuple[str, bool], list[Paid]] = {}
    for request in paid:
        origin = request.origin
        name = f"{origin.provider}/{origin.model}" if origin is not None else "unknown"
        answered.setdefault((name, isinstance(request, SummaryRun)), []).append(request)
    rows = [_row(name, requests, price_of, for_summaries=summary) for (name, summary), requests in answered.items()]
    return Bill(models=tuple(sorted(rows, key=lambda row: -(row.dollars or 0.0))))


def _row(name: str, answered: Sequence[Paid], price_of: PriceOf | None, *, for_summaries: bool) -> ModelBill:
    used = [request.usage or Usage() for request in answered]
    cost = cost_of(answered)
    return ModelBill(
        name=name,
        for_summaries=for_summaries,
        responses=len(answered),
        unpriced=cost.unknown,
        input=_total(usage.input for usage in used),
        cached=_total(usage.cache_read for usage in used),
        output=_total(usage.output for usage in used),
        thinking=_total(usage.thinking for usage in used),
        thinking_unknown=sum(usage.thinking is None for usage in used),
        dollars=cost.dollars,
        thinking_dollars=_sum(_thinking_cost(request, price_of) for request in answered),
    )


def _thinking_cost(request: Paid, price_of: PriceOf | None) -> float | None:
    """The thinking's part of a response's cost; never more than the whole, whatever the prices became since."""
    thinking = request.usage.thinking if request.usage is not None else None
    if thinking is None or request.cost is None:
        return None
    if thinking == 0:
        return 0.0
    price = price_of(request.origin) if price_of is not None and request.origin is not None else None
    return None if price is None or price.output is None else min(request.cost, thinking * price.output / MILLION)


def priced(usage: Usage, price: Price) -> float | None:
    """Dollars for one response. Cached tokens cost their own price, or the plain one where that is not known."""
    if usage.input is None or usage.output is None or price.input is None or price.output is None:
        return None
    read, written = usage.cache_read or 0, usage.cache_write or 0
    plain = max(usage.input - read - written, 0)
    read_price = price.input if price.cache_read is None else price.cache_read
    write_price = price.input if price.cache_write is None else price.cache_write
    dollars = plain * price.input + read * read_price + written * write_price + usage.output * price.output
    return dollars / MILLION


def _sum(values: Iterator[float | None] | Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fsum(known) if known else None


def _total(counts: Iterator[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
