"""``ponder price NAME[/LEVEL]``: what a request costs, line by line, and the prices it is made of."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from tui.catalog.facts import ModelFacts
from tui.catalog.model_spec import parse_spec
from tui.catalog.prices import (
    KINDS,
    MILLION,
    OLD_AFTER_DAYS,
    CostLine,
    Price,
    Rate,
    cost_details,
    price_of,
    table_age_days,
    table_facts,
)
from tui.catalog.web_search import SearchMethod, search_method
from tui.cli.user_catalog import print_problem, user_catalog
from tui.domain.errors import PonderError, UsageError
from tui.domain.format_numbers import count
from tui.domain.printable import json_escaped, printable
from tui.domain.thinking import parse_number
from tui.domain.usage import Usage

SEARCHES = "searches"
"""The kind of a line that counts web searches instead of tokens."""
NAMES: Mapping[str, str] = {
    "input": "input",
    "cache_read": "cache read",
    "cache_write": "cache write",
    "cache_write_1h": "cache write 1h",
    "output": "output",
    "thinking": "thinking",
    SEARCHES: "web searches",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare arguments and options."""
    parser.add_argument("name", metavar="NAME[/LEVEL]", help="a model, e.g. claude-opus-5 or openai/gpt-6-sol/high")
    parser.add_argument(
        "--input",
        type=_tokens,
        metavar="N",
        help="all input tokens, including those read from or written to the cache",
    )
    parser.add_argument("--cache-read", type=_tokens, default=0, metavar="N", help="tokens read from the cache")
    parser.add_argument("--cache-write", type=_tokens, default=0, metavar="N", help="tokens written to the cache")
    parser.add_argument("--ttl", choices=("5m", "1h"), default="5m", help="how long the written tokens are kept")
    parser.add_argument("--output", type=_tokens, metavar="N", help="all output tokens, including thinking")
    parser.add_argument(
        "--at", metavar="DATE", help="a date or time in ISO format, in UTC if it has no offset (default: now)"
    )
    parser.add_argument("--searches", type=_tokens, metavar="N", help="web searches that the provider runs")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")


def run(args: argparse.Namespace) -> int:
    """Returns 0, also if the price is unknown; 2 if the name or a number is wrong."""
    try:
        mine = user_catalog(os.environ)
        spec = parse_spec(args.name, mine.catalog)
        mine.require_right_rows(spec)
        mine = mine.knowing(spec, os.environ)
        when = _moment(args.at)
        usage = _usage(args)
    except PonderError as problem:
        print_problem(problem)
        return 2
    facts = mine.catalog.find(spec.provider, spec.model)
    price, method = price_of(facts), search_method(mine.catalog.provider(spec.provider), facts)
    lines, total = _lines(usage, price, method, when)
    notes = _notes(facts, price, when)
    if args.json:
        print(json_escaped(json.dumps(_as_object(facts, lines, total, notes), ensure_ascii=False)))
    else:
        prices = _prices(price, method, when) if total is None else []
        print(printable(_as_text(facts, prices, lines, total, notes)))
    return 0


def _tokens(text: str) -> int:
    number = parse_number(text)
    if not isinstance(number, int):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of tokens")
    return number


def _moment(text: str | None) -> datetime:
    if text is None:
        return datetime.fromtimestamp(time.time(), UTC)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as fault:
        raise UsageError(f"`{text}` is not a date. Use a form like 2026-12-01 or 2026-12-01T06:00.") from fault
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _usage(args: argparse.Namespace) -> Usage | None:
    """The usage of the arguments; None if none was given."""
    cached = args.cache_read + args.cache_write
    if args.input is None and args.output is None and not cached and args.searches is None:
        return None
    total = cached if args.input is None else args.input
    if cached > total:
        together = count(cached, "token")
        raise UsageError(f"--cache-read and --cache-write are {together}, more than --input, which includes them.")
    return Usage(
        input=total,
        cache_read=args.cache_read,
        cache_write=args.cache_write,
        cache_write_1h=args.cache_write if args.ttl == "1h" else 0,
        output=args.output or 0,
        searches=args.searches,
    )


def _lines(
    usage: Usage | None, price: Price | None, method: SearchMethod | None, when: datetime
) -> tuple[Sequence[CostLine], float | None]:
    if usage is None or price is None:
        return (), None
    details, fee = cost_details(usage, price, when), method.fee(usage) if method is not None else None
    if details is None or (fee is None and usage.searches):
        return (), None
    if not fee or not usage.searches:
        return details.lines, details.dollars
    charged = 1 if method is not None and method.per_request else usage.searches
    searches = CostLine(kind=SEARCHES, tokens=charged, per_million=fee / charged * MILLION, dollars=fee)
    return (*details.lines, searches), details.dollars + fee


def _prices(price: Price | None, method: SearchMethod | None, when: datetime) -> list[str]:
    """The prices of a model, printed if no number of tokens was given."""
    rates = price.at(when) if price is not None else {}
    shown = [f"  {NAMES[kind]:15} {_rate(rates[kind])}" for kind in KINDS if kind in rates]
    if method is not None and method.per_thousand is not None:
        unit = "answers with searches" if method.per_request else "searches"
        shown.append(f"  {NAMES[SEARCHES]:15} ${method.per_thousand:g} per thousand {unit}")
    return shown


def _notes(facts: ModelFacts, price: Price | None, when: datetime) -> list[str]:
    if price is None:
        return ['The price of this model is unknown. Set it in config.toml, in [models."provider/model"].']
    notes = [f"The price changes on {day.isoformat()}." for day in price.changes_after(when)]
    if any(period.hours for period in price.periods):
        notes.append("The price depends on the time of day (UTC).")
    steps = sorted({above for rate in price.at(when).values() for above, _ in rate.steps})
    notes += [f"Requests with more than {count(above, 'input token')} have a higher price." for above in steps]
    age = table_age_days(when.date())
    if not facts.price and age > OLD_AFTER_DAYS:
        notes.append(f"The price table is {count(age, 'day')} old. A newer version of ponder may have newer prices.")
    return notes


def _as_object(
    facts: ModelFacts, lines: Sequence[CostLine], total: float | None, notes: list[str]
) -> dict[str, object]:
    return {
        "model": f"{facts.provider}/{facts.id}",
        "usd": None if total is None else round(total, 9),
        "lines": [
            {
                "what": NAMES[line.kind],
                "tokens": line.tokens,
                "per_million": line.per_million,
                "usd": round(line.dollars, 9),
            }
            for line in lines
        ],
        "table_date": table_facts()["date"],
        "notes": notes,
    }


def _as_text(
    facts: ModelFacts,
    prices: Sequence[str],
    lines: Sequence[CostLine],
    total: float | None,
    notes: list[str],
) -> str:
    shown = [f"{facts.provider}/{facts.id}", *prices]
    for line in lines:
        rate = f"${line.per_million / 1_000:g} / 1k" if line.kind == SEARCHES else f"${line.per_million:g} / 1M"
        counted = f"{line.tokens:>12,} x {rate}"
        shown.append(f"  {NAMES[line.kind]:15} {counted} = {_dollars(line.dollars)}")

    if total is not None:
        shown.append(f"  {'total':15} {_dollars(total)}")
    source = facts.provenance.get("price") if facts.price is not None else f"price table of {table_facts()['date']}"
    return "\n".join([*shown, *(f"  {note}" for note in notes), f"  Source: {source}"])


def _dollars(amount: float) -> str:
    """At least cents, and as many digits as it takes up to a millionth of a dollar."""
    whole, _, digits = f"{amount:,.6f}".partition(".")
    return f"${whole}.{digits[:2]}{digits[2:].rstrip('0')}"


def _rate(rate: Rate) -> str:
    steps = "".join(f", ${dollars:g} above {count(above, 'input token')}" for above, dollars in rate.steps)
    return f"${rate.base:g} per million tokens{steps}"
