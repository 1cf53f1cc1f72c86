"""Prices of models: by kind of token, by the length of the request, by date and by hour; and what a usage costs.

The packaged table, ``prices.jsonl``, is generated from the package genai-prices by ``tests/catalog/price_table.py``.
It has one line per provider, and only the line that is asked for is parsed. Reading starts with the first question.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, date, datetime, time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tui.domain.fast_dataclass import dataclass
from tui.domain.lazy_regex import lazy_regex
from tui.domain.usage import Usage

if TYPE_CHECKING:
    from tui.catalog.facts import ModelFacts

MILLION = 1_000_000
KINDS = ("input", "cache_read", "cache_write", "cache_write_1h", "output", "thinking")
"""The kinds of tokens that can have a price of their own. Without one, the price of the containing kind applies."""
OLD_AFTER_DAYS = 90
"""A table older than this says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Dollars per million tokens. A longer request may cost more, and then all of its tokens do."""

    base: float
    steps: tuple[tuple[int, float], ...] = ()
    """(input tokens, rate from one more token on), ascending."""

    def at(self, input_tokens: int) -> float:
        """Return the rate for a request with so much input."""
        return next((rate for above, rate in reversed(self.steps) if input_tokens > above), self.base)


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """The rates that apply from a date on, or between two hours (UTC) of every day."""

    rates: Mapping[str, Rate]
    """Kind of token → rate."""
    start: date | None = None
    hours: tuple[time, time] | None = None

    def is_active(self, when: datetime) -> bool:
        """Whether the rates apply then. ``when`` has a time zone."""
        moment = when.astimezone(UTC)
        if self.start is not None:
            return moment.date() >= self.start
        if self.hours is None:
            return True
        begin, end = self.hours
        now = moment.time()
        return begin <= now < end if begin <= end else now >= begin or now < end


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """All prices of a model. The last active period applies, otherwise the first."""

    periods: tuple[Period, ...]
    source: str = ""

    def at(self, when: datetime) -> Mapping[str, Rate]:
        """Return the rates that apply then."""
        active = (period for period in reversed(self.periods) if period.is_active(when))
        return next(active, self.periods[0]).rates

    def changes_after(self, when: datetime) -> tuple[date, ...]:
        """Return the dates after ``when`` on which the rates change."""
        today = when.astimezone(UTC).date()
        return tuple(sorted(period.start for period in self.periods if period.start and period.start > today))


@dataclass(frozen=True, slots=True, kw_only=True)
class CostLine:
    """A part of a cost."""

    kind: str
    tokens: int
    per_million: float
    dollars: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CostDetails:
    """The cost of one request by kind of token."""

    lines: tuple[CostLine, ...]

    @property
    def dollars(self) -> float:
        """The total."""
        return sum(line.dollars for line in self.lines)


def flat_price(rates: Mapping[str, float], source: str) -> Price:
    """Return a price without steps, dates and hours."""
    return Price(periods=(Period(rates={kind: Rate(base=rate) for kind, rate in rates.items()}),), source=source)


def cost_details(usage: Usage, price: Price, when: datetime) -> CostDetails | None:
    """Return what a usage costs; None if its totals or the prices of input and output are unknown."""
    rates = price.at(when)
    if usage.input is None or usage.output is None or "input" not in rates or "output" not in rates:
        return None
    read = min(usage.cache_read or 0, usage.input)
    written = min(usage.cache_write or 0, usage.input - read)
    written_1h = min(usage.cache_write_1h or 0, written)
    thinking = min(usage.thinking or 0, usage.output)
    tokens = {
        "input": usage.input - read - written,
        "cache_read": read,
        "cache_write": written - written_1h,
        "cache_write_1h": written_1h,
        "output": usage.output - thinking,
        "thinking": thinking,
    }
    for kind, containing in _WITHOUT_OWN_RATE:
        if kind not in rates:
            tokens[containing] += tokens.pop(kind)
    lines = []
    for kind in KINDS:
        if tokens.get(kind):
            rate = rates[kind].at(usage.input)
            dollars = tokens[kind] * rate / MILLION
            lines.append(CostLine(kind=kind, tokens=tokens[kind], per_million=rate, dollars=dollars))
    return CostDetails(lines=tuple(lines))


def cache_savings(usage: Usage, price: Price, when: datetime) -> float | None:
    """Return the dollars that the prompt cache saved; negative if writing cost more than reading saved.

    That is the cost of the same tokens without a cache minus their cost with it. None if unknown.
    """
    with_cache = cost_details(usage, price, when)
    without = cost_details(replace(usage, cache_read=0, cache_write=0, cache_write_1h=0), price, when)
    if with_cache is None or without is None or (usage.cache_read is None and usage.cache_write is None):
        return None
    return without.dollars - with_cache.dollars


_WITHOUT_OWN_RATE = (
    ("thinking", "output"),
    ("cache_write_1h", "cache_write"),
    ("cache_write", "input"),
    ("cache_read", "input"),
)
"""(kind, the kind whose rate applies instead), the narrowest kinds first."""


def price_of(facts: ModelFacts) -> Price | None:
    """Return the price of a model: the user's or the provider's own, otherwise that of the table."""
    return (
        facts.price
        or packaged_price(facts.provider, facts.id)
        or (packaged_price(facts.provider, facts.priced_as) if facts.priced_as else None)
    )


def current_rates(facts: ModelFacts, now: float) -> Mapping[str, float]:
    """Return the dollars per million tokens by kind for a short request at a Unix time; empty if unknown."""
    price = price_of(facts)
    if price is None:
        return {}
    return {kind: rate.base for kind, rate in price.at(datetime.fromtimestamp(now, UTC)).items()}


def packaged_price(provider: str, model: str) -> Price | None:
    """Return the price of a model in the packaged table; None if it is not there."""
    name = model.lower()
    return _lookup(provider, name) or _lookup(provider, _COMPACT_DATE.sub(r"-\1-\2-\3", name))


@cache
def table_facts() -> Mapping[str, str]:
    """Return the table's source, version and date (``source``, ``version``, ``date``)."""
    with _FILE.open(encoding="utf-8") as lines:
        return cast("dict[str, str]", json.loads(next(lines)))


def table_age_days(today: date) -> int:
    """Return the age of the packaged table."""
    return (today - date.fromisoformat(table_facts()["date"])).days


_FILE = Path(__file__).with_name("prices.jsonl")
_COMPACT_DATE = lazy_regex(r"-(20\d\d)(\d\d)(\d\d)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class _ProviderTable:
    models: tuple[tuple[Mapping[str, Any], str, Sequence[Mapping[str, Any]]], ...] = ()
    """(names that match, model, periods), in the order in which they are tried."""
    others: tuple[str, ...] = field(default=())
    """Providers whose prices apply to models that are not listed."""


@cache
def _provider_table(provider: str) -> _ProviderTable:
    beginning = f'{{"provider":"{provider}",'
    with _FILE.open(encoding="utf-8") as lines:
        line = next((line for line in lines if line.startswith(beginning)), None)
    if line is None:
        return _ProviderTable()
    table = json.loads(line)
    models = tuple((row["match"], row["model"], row["periods"]) for row in table["models"])
    return _ProviderTable(models=models, others=tuple(table.get("others", ())))


@cache
def _lookup(provider: str, model: str) -> Price | None:
    table = _provider_table(provider)
    for name in (provider, *table.others):
        for pattern, _, periods in _provider_table(name).models:
            if _matches(pattern, model):
                return Price(periods=tuple(map(_period, periods)), source=f"{name} in the price table")
    return None


def _matches(pattern: Mapping[str, Any], name: str) -> bool:
    ((how, what),) = pattern.items()
    return _COMPARISONS[how](what, name)


_COMPARISONS: Mapping[str, Callable[[Any, str], bool]] = {
    "equals": lambda what, name: name == what,
    "starts_with": lambda what, name: name.startswith(what),
    "ends_with": lambda what, name: name.endswith(what),
    "contains": lambda what, name: what in name,
    "regex": lambda what, name: re.search(what, name) is not None,
    "and": lambda what, name: all(_matches(part, name) for part in what),
    "or": lambda what, name: any(_matches(part, name) for part in what),
}


def _period(row: Mapping[str, Any]) -> Period:
    hours = row.get("hours")
    return Period(
        rates={kind: _rate(row[kind]) for kind in KINDS if kind in row},
        start=date.fromisoformat(row["from"]) if "from" in row else None,
        hours=None if hours is None else (time.fromisoformat(hours[0]), time.fromisoformat(hours[1])),
    )


def _rate(value: float | list[Any]) -> Rate:
    if not isinstance(value, list):
        return Rate(base=value)
    return Rate(base=value[0], steps=tuple((above, rate) for above, rate in value[1:]))
