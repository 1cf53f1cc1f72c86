"""The cost of a conversation by model: tokens and dollars, with thinking separate. Unknown amounts stay unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import fsum

from tui.domain.compression import SummaryRun
from tui.domain.cost import Cost, Paid, cost_of
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import Origin
from tui.domain.usage import Usage

MILLION = 1_000_000

OutputRate = Callable[[Origin], float | None]
"""Returns dollars per million output tokens of the model that answered; None if unknown."""
CacheSavings = Callable[[Origin, Usage], float | None]
"""Returns the dollars that the prompt cache saved in one response; None if unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelBill:
    """The cost of one model. Sums include only known values; None means that no value is known."""

    name: str
    """``provider/model``."""
    for_summaries: bool = False
    """Whether the row is for summaries of compressed turns. Answers of the same model have a separate row."""
    responses: int
    unpriced: int
    """Responses whose cost is unknown or incomplete. If not 0, the dollars are a lower bound."""
    input: int | None
    cached: int | None
    """Input tokens read from a cache."""
    written: int | None = None
    """Input tokens written to a cache."""
    saved: float | None = None
    """Dollars saved by the cache, with the cost of writing to it deducted; None if unknown."""
    output: int | None
    thinking: int | None
    """Output tokens used for thinking."""
    searches: int | None = None
    """Web searches that the provider ran; their fee is in the dollars."""
    thinking_unknown: int = 0
    """Responses without a count of thinking tokens. If not 0, ``thinking`` is a lower bound."""
    dollars: float | None
    thinking_dollars: float | None

    @property
    def cost(self) -> Cost:
        """The dollars and the number of responses whose cost is unknown."""
        return Cost(dollars=self.dollars, unknown=self.unpriced)

    @property
    def thinking_share(self) -> float | None:
        """Thinking's share of the dollars if known, else of the output tokens; None if thinking was not reported."""
        if self.thinking_unknown:
            return None
        if self.is_share_of_dollars:
            return (self.thinking_dollars or 0.0) / (self.dollars or 1.0)
        return self.thinking / self.output if self.thinking is not None and self.output else None

    @property
    def is_share_of_dollars(self) -> bool:
        """Whether ``thinking_share`` is a share of the cost."""
        return self.thinking_dollars is not None and bool(self.dollars)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """A conversation's cost, most expensive model first."""

    models: tuple[ModelBill, ...] = ()

    @property
    def cost(self) -> Cost:
        """The total cost, as shown by sidebar, status line, lists and exports."""
        return Cost(dollars=_sum(row.dollars for row in self.models), unknown=sum(row.unpriced for row in self.models))

    @property
    def dollars(self) -> float | None:
        """The total of the known costs; None if none is known."""
        return self.cost.dollars

    @property
    def thinking_dollars(self) -> float | None:
        """The part of the dollars that was for thinking."""
        return _sum(row.thinking_dollars for row in self.models)

    @property
    def saved(self) -> float | None:
        """The dollars that prompt caches saved, with the cost of writing deducted; None if unknown."""
        return _sum(row.saved for row in self.models)

    @property
    def complete(self) -> bool:
        """Whether every response's cost is known."""
        return not self.cost.unknown


def bill_of(
    paid: Iterable[Paid], output_rate: OutputRate | None = None, cache_savings: CacheSavings | None = None
) -> Bill:
    """Return the bill for these requests, with the costs recorded with the answers. ``output_rate`` is for thinking."""
    answered: dict[tuple[str, bool], list[Paid]] = {}
    for request in paid:
        origin = request.origin
        name = f"{origin.provider}/{origin.model}" if origin is not None else "unknown"
        answered.setdefault((name, isinstance(request, SummaryRun) and not request.aside), []).append(request)
    rows = [
        _row(name, requests, output_rate, cache_savings, for_summaries=summary)
        for (name, summary), requests in answered.items()
    ]
    return Bill(models=tuple(sorted(rows, key=lambda row: -(row.dollars or 0.0))))


def _row(
    name: str,
    answered: Sequence[Paid],
    output_rate: OutputRate | None,
    cache_savings: CacheSavings | None,
    *,
    for_summaries: bool,
) -> ModelBill:
    used = [request.usage or Usage() for request in answered]
    cost = cost_of(answered)
    return ModelBill(
        name=name,
        for_summaries=for_summaries,
        responses=len(answered),
        unpriced=cost.unknown,
        input=_total(usage.input for usage in used),
        cached=_total(usage.cache_read for usage in used),
        written=_total(usage.cache_write for usage in used),
        saved=_sum(_saved(request, cache_savings) for request in answered),
        output=_total(usage.output for usage in used),
        thinking=_total(usage.thinking for usage in used),
        searches=_total(usage.searches for usage in used),
        thinking_unknown=sum(usage.thinking is None for usage in used),
        dollars=cost.dollars,
        thinking_dollars=_sum(_thinking_cost(request, output_rate) for request in answered),
    )


def _saved(request: Paid, cache_savings: CacheSavings | None) -> float | None:
    if cache_savings is None or request.origin is None or request.usage is None:
        return None
    if not (request.usage.cache_read or request.usage.cache_write):
        return None
    return cache_savings(request.origin, request.usage)


def _thinking_cost(request: Paid, output_rate: OutputRate | None) -> float | None:
    """Return the cost of a response's thinking. Prices may have changed since, so it is limited to the whole cost."""
    thinking = request.usage.thinking if request.usage is not None else None
    if thinking is None or request.cost is None:
        return None
    if thinking == 0:
        return 0.0
    rate = output_rate(request.origin) if output_rate is not None and request.origin is not None else None
    return None if rate is None else min(request.cost, thinking * rate / MILLION)


def _sum(values: Iterator[float | None] | Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fsum(known) if known else None


def _total(counts: Iterator[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
