"""What was spent over time, for ``/cost`` and ``ponder cost``: by day, by model or by session."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from math import fsum
from typing import Literal

from tui.catalog.catalog import Catalog
from tui.catalog.prices import Price, cost_details, price_of
from tui.catalog.web_search import SearchMethod, search_method
from tui.domain.cost import Cost, SpentRequest, money
from tui.domain.errors import PonderError
from tui.domain.fast_dataclass import dataclass
from tui.domain.format_numbers import count, tokens
from tui.domain.printable import one_line
from tui.domain.usage import Usage

By = Literal["day", "model", "session"]
DAYS = 30
"""Days shown if no number is given."""
BAR_COLUMNS = 20
LINE_COLUMNS = 10
MARKS = re.compile(r"[\\`*_~|<>\[\]$]")
"""Characters of names that markdown would read as marks."""
EIGHTHS = " ▏▎▍▌▋▊▉"
WIDEST_LABEL = 34
MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendingRow:
    """The requests of one day, model or session, or all of them."""

    key: str
    """A date in ISO form, ``provider/model`` or a session's id."""
    label: str
    requests: int
    input: int | None
    """Input tokens as far as they were reported; None if no request has them."""
    output: int | None
    """Output tokens without thinking."""
    thought: int | None
    """Thinking tokens."""
    cost: Cost
    thinking: Cost
    """The part of the cost that was for thinking, from recorded token counts."""
    searches: Cost
    """The part of the cost that was for web searches of the provider, at today's price."""
    saved: Cost
    """What the input would have cost without caches minus what it cost; below 0 if writing cost more than it saved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendingReport:
    """Spending since a day."""

    by: By
    since: date
    until: date
    rows: tuple[SpendingRow, ...]
    """Days in order, with those in between without requests; models and sessions by cost."""
    total: SpendingRow
    uncertain: float = 0.0
    """Dollars that requests without a final cost may have cost beyond what is known; spending limits count them."""


@dataclass(frozen=True, slots=True)
class _Priced:
    """A request, and what its tokens say about its cost."""

    request: SpentRequest
    cost: float | None
    final: bool
    thinking: float | None
    searches: float | None
    saved: float | None


def first_moment(days: int, now: float) -> float:
    """The Unix time at which a period of so many days begins that ends today; local time."""
    return _midnight(_day(now) - timedelta(days=days - 1))


def spending_report(
    requests: Iterable[SpentRequest], catalog: Catalog, *, by: By, days: int, now: float
) -> SpendingReport:
    """Add up requests. ``requests`` are those since ``first_moment``."""
    prices: dict[str, _ModelPrices] = {}
    priced = []
    for request in requests:
        if request.model not in prices:
            prices[request.model] = _prices(request.model, catalog)
        priced.append(_priced(request, prices[request.model]))
    grouped: dict[str, list[_Priced]] = {}
    for one in priced:
        grouped.setdefault(_key(one.request, by), []).append(one)
    today = _day(now)
    if by == "day" and grouped:
        first = date.fromisoformat(min(grouped))
        for number in range((today - first).days + 1):
            grouped.setdefault((first + timedelta(days=number)).isoformat(), [])
    rows = [_row(key, _label(key, group, by), group) for key, group in grouped.items()]
    rows.sort(key=(lambda row: row.key) if by == "day" else (lambda row: (-(row.cost.dollars or 0.0), row.key)))
    uncertain = fsum(max(0.0, (one.request.reserved or 0.0) - (one.cost or 0.0)) for one in priced if not one.final)
    return SpendingReport(
        by=by,
        since=today - timedelta(days=days - 1),
        until=today,
        rows=tuple(rows),
        total=_row("total", "total", priced),
        uncertain=uncertain,
    )


@dataclass(frozen=True, slots=True)
class _ModelPrices:
    """What a model costs."""

    local: bool = False
    """It runs on this machine."""
    price: Price | None = None
    search: SearchMethod | None = None


def _prices(name: str, catalog: Catalog) -> _ModelPrices:
    provider_id, _, model = name.partition("/")
    try:
        provider, facts = catalog.provider(provider_id), catalog.find(provider_id, model)
    except PonderError:  # the provider is no longer configured
        return _ModelPrices()
    return _ModelPrices(provider.costs_nothing, price_of(facts), search_method(provider, facts))


def _priced(request: SpentRequest, known: _ModelPrices) -> _Priced:
    if known.local and request.cost is None:
        return _Priced(request, 0.0, final=True, thinking=0.0, searches=0.0, saved=0.0)
    when = datetime.fromtimestamp(request.created, UTC)
    return _Priced(
        request,
        request.cost,
        request.final,
        _thinking(request, known.price, when),
        _searches(request, known.search),
        _saved(request.usage, known.price, when),
    )


def _searches(request: SpentRequest, method: SearchMethod | None) -> float | None:
    """The fee of the searches; at most the whole cost, because prices may have changed since."""
    usage = request.usage
    if usage is None or not usage.searches:
        return 0.0
    fee = None if method is None else method.fee(usage)
    return None if fee is None or request.cost is None else min(request.cost, fee)


def _thinking(request: SpentRequest, price: Price | None, when: datetime) -> float | None:
    """The cost of the thinking tokens; at most the whole cost, because prices may have changed since."""
    usage = request.usage
    if usage is None or usage.thinking is None or request.cost is None:
        return None
    if not usage.thinking:
        return 0.0
    rates = {} if price is None else price.at(when)
    rate = rates.get("thinking") or rates.get("output")
    return None if rate is None else min(request.cost, usage.thinking * rate.at(usage.input or 0) / MILLION)


def _saved(usage: Usage | None, price: Price | None, when: datetime) -> float | None:
    if usage is None or price is None:
        return None
    if not usage.cache_read and not usage.cache_write:
        return 0.0
    bare = Usage(input=usage.input, output=usage.output, thinking=usage.thinking)
    paid, without = cost_details(usage, price, when), cost_details(bare, price, when)
    return None if paid is None or without is None else without.dollars - paid.dollars


def _row(key: str, label: str, group: Sequence[_Priced]) -> SpendingRow:
    usages = [one.request.usage for one in group if one.request.usage is not None]
    return SpendingRow(
        key=key,
        label=label,
        requests=len(group),
        input=_whole(usage.input for usage in usages),
        output=_whole(
            None if usage.output is None else max(0, usage.output - (usage.thinking or 0)) for usage in usages
        ),
        thought=_whole(usage.thinking for usage in usages),
        cost=Cost(dollars=_sum(one.cost for one in group), unknown=sum(not one.final for one in group)),
        thinking=_cost(one.thinking for one in group),
        searches=_cost(one.searches for one in group),
        saved=_cost(one.saved for one in group),
    )


def _cost(amounts: Iterable[float | None]) -> Cost:
    found = list(amounts)
    return Cost(dollars=_sum(found), unknown=sum(amount is None for amount in found))


def _sum(amounts: Iterable[float | None]) -> float | None:
    known = [amount for amount in amounts if amount is not None]
    return fsum(known) if known else None


def _whole(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _key(request: SpentRequest, by: By) -> str:
    match by:
        case "day":
            return _day(request.created).isoformat()
        case "model":
            return request.model
        case "session":
            return request.session


def _label(key: str, group: Sequence[_Priced], by: By) -> str:
    if by != "session":
        return one_line(key, WIDEST_LABEL)
    title = next((one.request.title for one in reversed(group) if one.request.title), "")
    return one_line(title, WIDEST_LABEL) if title else f"session {key[-8:]}"


def _day(moment: float) -> date:
    year, month, day, *_ = time.localtime(moment)
    return date(year, month, day)


def _midnight(day: date) -> float:
    return time.mktime((day.year, day.month, day.day, 0, 0, 0, 0, 0, -1))


def report_object(report: SpendingReport) -> dict[str, object]:
    """The report for ``--json``."""
    return {
        "by": report.by,
        "since": report.since.isoformat(),
        "until": report.until.isoformat(),
        "rows": [_row_object(row) for row in report.rows],
        "total": _row_object(report.total),
        "uncertain_usd": _dollars(report.uncertain),
    }


def _row_object(row: SpendingRow) -> dict[str, object]:
    return {
        "key": row.key,
        "label": row.label,
        "requests": row.requests,
        "usd": _dollars(row.cost.dollars),
        "unknown": row.cost.unknown,
        "thinking_usd": _dollars(row.thinking.dollars),
        "searches_usd": _dollars(row.searches.dollars),
        "cache_saved_usd": _dollars(row.saved.dollars),
    }


def _dollars(amount: float | None) -> float | None:
    return None if amount is None else round(amount, 9)


def chart_lines(report: SpendingReport, *, blocks: bool = True) -> list[str]:
    """A bar for each row. Without ``blocks`` only ASCII characters are used."""
    if not report.rows:
        return []
    widest = max(len(row.label) for row in report.rows)
    most = max((row.cost.dollars or 0.0) for row in report.rows)
    amounts = [row.cost.amount or "-" for row in report.rows]
    room = max(map(len, amounts))
    return [
        f"{row.label:{widest}}  {amount:>{room}}  {_bar(row.cost.dollars or 0.0, most, blocks=blocks)}".rstrip()
        for row, amount in zip(report.rows, amounts, strict=True)
    ]


def _bar(amount: float, most: float, *, blocks: bool) -> str:
    if amount <= 0 or most <= 0:
        return ""
    columns = amount / most * BAR_COLUMNS
    if not blocks:
        return "#" * max(1, round(columns))
    whole, part = divmod(max(1, round(columns * 8)), 8)
    return ("█" * whole + EIGHTHS[part]).rstrip()


def report_markdown(make: Callable[[By], SpendingReport], *, blocks: bool = True) -> str:
    """The sums as a sentence, and tables by day and by model; days have bars."""
    days = make("day")
    if not days.rows:
        return f"Nothing was spent since {days.since.isoformat()}."
    total, *rest = [" ".join(line.split()).removeprefix("total ") for line in summary_lines(days)]
    parts = [" · ".join([f"**{total}** since {days.since.isoformat()}", *rest])]
    for report in (days, make("model")):
        parts += ["", f"## By {report.by}", "", *_table(report, blocks=blocks)]
    return "\n".join(parts)


def _table(report: SpendingReport, *, blocks: bool) -> Iterator[str]:
    """A row for each day or model."""
    has_bars = report.by == "day" and any(row.cost.dollars for row in report.rows)
    most = max((row.cost.dollars or 0.0) for row in report.rows)
    head = [report.by.capitalize(), "Requests", "In", "Out", "Thinking", "Cost", *([" "] if has_bars else [])]
    yield f"| {' | '.join(head)} |"
    yield f"| --- |{' ---: |' * 5}{' --- |' if has_bars else ''}"
    for row in report.rows:
        counts = ["–" if number is None else tokens(number) for number in (row.input, row.output, row.thought)]
        bar = [_line(row.cost.dollars or 0.0, most, blocks=blocks)] if has_bars else []
        cells = [MARKS.sub(r"\\\g<0>", row.label), f"{row.requests:,}", *counts, row.cost.amount or "–", *bar]
        yield f"| {' | '.join(cells)} |"


def _line(amount: float, most: float, *, blocks: bool) -> str:
    """A bar as a line: blocks of rows that touch would be one shape."""
    if amount <= 0 or most <= 0:
        return ""
    halves = max(1, round(amount / most * LINE_COLUMNS * 2))
    return "━" * (halves // 2) + "╸" * (halves % 2) if blocks else "#" * ((halves + 1) // 2)


def summary_lines(report: SpendingReport) -> list[str]:
    """Total, thinking, caches and what is unknown."""
    total = report.total
    lines = [f"total            {total.cost.amount or '$0'} for {count(total.requests, 'request')}"]
    lines.append(f"thinking         {_part(total.thinking)}{_share(total)}")
    if total.searches.dollars or total.searches.unknown:
        lines.append(f"web searches     {_part(total.searches)}")
    saved = total.saved.dollars
    if saved is not None and saved < 0:
        lines.append(f"lost by caches   {money(-saved)} more than without them")
    else:
        lines.append(f"saved by caches  {_part(total.saved)}")
    if total.cost.unknown:
        lines.append(f"{count(total.cost.unknown, 'request')} without a complete cost")
    if report.uncertain:
        lines.append(f"up to {money(report.uncertain)} more may have been spent; spending limits count it")
    return lines


def _part(part: Cost) -> str:
    return part.amount or "$0"


def _share(total: SpendingRow) -> str:
    thinking, whole = total.thinking.dollars, total.cost.dollars
    if not thinking or not whole or total.thinking.unknown:
        return ""
    return f" ({math.floor(thinking / whole * 100 + 0.5)} %)"


def report_text(make: Callable[[By], SpendingReport], by: By | None, *, blocks: bool = True) -> str:
    """The charts and the sums; without ``by`` a chart by day and one by model."""
    first = make(by or "day")
    if not first.rows:
        return f"Nothing was spent since {first.since.isoformat()}."
    charts = [first] if by else [first, make("model")]
    parts = [f"Since {first.since.isoformat()}", *summary_lines(first)]
    for chart in charts:
        parts += ["", f"By {chart.by}", *chart_lines(chart, blocks=blocks)]
    return "\n".join(parts)
