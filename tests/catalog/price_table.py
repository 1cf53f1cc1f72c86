"""Writes ``tui/catalog/prices.jsonl``: ``python -m tests.catalog.price_table [--date 2026-11-19]``.

The prices are those of the package genai-prices (MIT), which the development requirements install. Models that the
package lacks are in ``own_prices.toml`` beside this file, with their source. A test compares the two with the file.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import tomllib
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import Any

from genai_prices import types as theirs
from genai_prices.data import providers as their_providers

from tui.catalog import prices

FILE = Path(prices.__file__).with_name("prices.jsonl")
OWN = Path(__file__).with_name("own_prices.toml")
OUR_NAMES = {"moonshotai": "moonshot", "x-ai": "xai", "aws": "bedrock"}
"""Providers that have another name here."""
AS_ELSEWHERE = {"vertex": ["google", "anthropic"]}
"""Providers without rows of their own → those whose prices apply there."""
LEFT_OUT = ("huggingface_", "cursor", "openai-decisions", "elevenlabs", "voyageai", "typesafe")
"""Providers (or beginnings of their names) that no chat client reaches, or that resell under other names."""
KINDS = {
    "input_mtok": "input",
    "cache_read_mtok": "cache_read",
    "cache_write_mtok": "cache_write",
    "cache_write_1h_mtok": "cache_write_1h",
    "output_mtok": "output",
    "output_reasoning_mtok": "thinking",
}


def table(day: str) -> Iterator[dict[str, Any]]:
    """Yield the lines of the file."""
    yield {"source": "genai-prices", "version": version("genai-prices"), "date": day}
    own = tomllib.loads(OWN.read_text(encoding="utf-8"))
    for provider in their_providers:
        if provider.id.startswith(LEFT_OUT):
            continue
        name = OUR_NAMES.get(provider.id, provider.id)
        theirs_here = [row for model in provider.models if (row := _row(model)) is not None]
        rows = [_own_row(model, row, theirs_here) for model, row in own.pop(name, {}).items()] + theirs_here
        line: dict[str, Any] = {"provider": name, "models": rows}
        if provider.fallback_model_providers:
            line["others"] = [OUR_NAMES.get(id_, id_) for id_ in provider.fallback_model_providers]
        yield line
    for name, others in AS_ELSEWHERE.items():
        yield {"provider": name, "models": [], "others": others}
    for name, models in own.items():
        yield {"provider": name, "models": [_own_row(model, row, []) for model, row in models.items()]}


def write(day: str) -> None:
    """Write the file."""
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in table(day))
    FILE.write_text(text, encoding="utf-8")


def _row(model: theirs.ModelInfo) -> dict[str, Any] | None:
    conditional = model.prices if isinstance(model.prices, list) else [theirs.ConditionalPrice(prices=model.prices)]
    periods = [_period(each) for each in conditional]
    if not any("input" in period and "output" in period for period in periods):
        return None  # priced by hours of audio, images or pages
    return {"model": model.id, "match": _pattern(model.match), "periods": periods}


def _own_row(model: str, row: dict[str, Any], others: list[dict[str, Any]]) -> dict[str, Any]:
    if "same_as" in row:
        periods = next(other["periods"] for other in others if other["model"] == row["same_as"])
    else:
        periods = [{kind: row[kind] for kind in prices.KINDS if kind in row}]
    return {"model": model, "match": {"equals": model}, "periods": periods}


def _period(conditional: theirs.ConditionalPrice) -> dict[str, Any]:
    found: dict[str, Any] = {}
    match conditional.constraint:
        case theirs.StartDateConstraint(start_date=start):
            found["from"] = start.isoformat()
        case theirs.TimeOfDateConstraint(start_time=begin, end_time=end):
            found["hours"] = [_utc(begin), _utc(end)]
    for key, kind in KINDS.items():
        value = getattr(conditional.prices, key)
        if value is not None:
            found[kind] = _rate(value)
    return found


def _utc(at: time) -> str:
    moment = datetime.combine(date(2026, 1, 1), at)
    return (moment if at.tzinfo is None else moment.astimezone(UTC)).strftime("%H:%M")


def _rate(value: Decimal | theirs.TieredPrices) -> float | list[Any]:
    if isinstance(value, Decimal):
        return _number(value)
    return [_number(value.base), *([tier.start, _number(tier.price)] for tier in value.tiers)]


def _number(value: Decimal) -> float | int:
    return int(value) if value == int(value) else float(value)


def _pattern(clause: Any) -> dict[str, Any]:
    ((name, value),) = ((each.name, getattr(clause, each.name)) for each in dataclasses.fields(clause))
    if isinstance(value, list):
        return {name.rstrip("_"): [_pattern(part) for part in value]}
    return {name: value.lower() if name != "regex" else value}


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--date", default=datetime.now(UTC).date().isoformat())
    write(arguments.parse_args().date)
