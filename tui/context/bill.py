"""What it cost, by model: tokens and dollars, thinking as its own line. What is not known stays unknown. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tui.catalog.facts import Price
from tui.domain.compression import SummaryRun
from tui.domain.messages import Message, Origin, Turn
from tui.domain.usage import Usage
from tui.domain.value import dataclass

MILLION = 1_000_000

Paid = Message | SummaryRun
"""What a provider was paid for."""
PriceOf = Callable[[Origin], Price | None]
"""The prices of the model an answer came from; None where they are not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelBill:
    """What one model was paid for. Sums are of what is known; None is nothing known."""

    name: str
    """``provider/model``."""
    for_summaries: bool = False
    """It wrote summaries of folded turns; what it answered is a row of its own."""
    responses: int
    unpriced: int
    """Responses whose cost is not known: the dollars are at least so much."""
    input: int | None
    cached: int | None
    """Of the input, read from a cache."""
    output: int | None
    thinking: int | None
    """Of the output."""
    dollars: float | None
    thinking_dollars: float | None

    @property
    def thinking_share(self) -> float | None:
        """Of the dollars where those are known, else of the output tokens."""
        if self.thinking_dollars is not None and self.dollars:
            return self.thinking_dollars / self.dollars
        return self.thinking / self.output if self.thinking is not None and self.output else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """A conversation's cost, most expensive model first."""

    models: tuple[ModelBill, ...] = ()

    @property
    def dollars(self) -> float | None:
        """Everything known; None where nothing is."""
        return _sum(row.dollars for row in self.models)

    @property
    def thinking_dollars(self) -> float | None:
        """Of it for thinking."""
        return _sum(row.thinking_dollars for row in self.models)

    @property
    def complete(self) -> bool:
        """Whether every response's cost is known."""
        return not any(row.unpriced for row in self.models)

    @property
    def words(self) -> str:
        """``$0.0123``, ``at least $0.01`` or ``unknown``; "" where nothing was answered."""
        if not self.models:
            return ""
        if self.dollars is None:
            return "unknown"
        return f"{'' if self.complete else 'at least '}{money(self.dollars)}"


def money(dollars: float) -> str:
    """Dollars with as many digits as say something."""
    return f"${dollars:,.2f}" if dollars >= 1 or not dollars else f"${dollars:.4f}"


def session_bill(
    turns: Sequence[Turn], price_of: PriceOf | None = None, *, summaries: Sequence[SummaryRun] = ()
) -> Bill:
    """What was answered in these turns, attempts that were retried included: they are paid for, too.

    So are the summaries that folded some of them. What was known of a response's cost when it came stands;
    ``price_of`` helps where that was nothing, and is needed to say what of it was thinking.
    """
    answered: dict[tuple[str, bool], list[tuple[Paid, Price | None]]] = {}
    everything: tuple[Paid, ...] = (*_answers(turns), *summaries)
    for paid in everything:
        origin = paid.origin
        name = f"{origin.provider}/{origin.model}" if origin is not None else "unknown"
        price = price_of(origin) if price_of is not None and origin is not None else None
        answered.setdefault((name, isinstance(paid, SummaryRun)), []).append((paid, price))
    rows = [_row(name, messages, for_summaries=summary) for (name, summary), messages in answered.items()]
    return Bill(models=tuple(sorted(rows, key=lambda row: -(row.dollars or 0.0))))


def _answers(turns: Sequence[Turn]) -> Iterator[Message]:
    for turn in turns:
        yield from (message for message in turn.messages if message.usage is not None or message.cost is not None)


def _row(name: str, answered: Sequence[tuple[Paid, Price | None]], *, for_summaries: bool) -> ModelBill:
    used = [message.usage or Usage() for message, _ in answered]
    costs = [_cost(message, price) for message, price in answered]
    return ModelBill(
        name=name,
        for_summaries=for_summaries,
        responses=len(answered),
        unpriced=sum(cost is None for cost in costs),
        input=_total(usage.input for usage in used),
        cached=_total(usage.cache_read for usage in used),
        output=_total(usage.output for usage in used),
        thinking=_total(usage.thinking for usage in used),
        dollars=_sum(costs),
        thinking_dollars=_sum(
            _thinking_cost(usage, cost, price) for usage, cost, (_, price) in zip(used, costs, answered, strict=True)
        ),
    )


def _cost(message: Paid, price: Price | None) -> float | None:
    if message.cost is not None:
        return message.cost
    if message.usage is None:
        return None
    if message.usage.cost is not None:
        return message.usage.cost
    return priced(message.usage, price) if price is not None else None


def _thinking_cost(usage: Usage, cost: float | None, price: Price | None) -> float | None:
    """The thinking's part of a response's cost; never more than the whole, whatever the prices became since."""
    if usage.thinking is None or cost is None:
        return None
    if usage.thinking == 0:
        return 0.0
    return None if price is None or price.output is None else min(cost, usage.thinking * price.output / MILLION)


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
    return sum(known) if known else None


def _total(counts: Iterator[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
