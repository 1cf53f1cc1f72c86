"""The price table against the package it is made from, and what a usage costs."""

from __future__ import annotations

import json
import random
from datetime import UTC, date, datetime, time, timedelta

import pytest
from genai_prices import Usage as TheirUsage
from genai_prices.data import providers as their_providers

from tests.catalog import price_table
from tui.catalog.catalog import packaged_catalog
from tui.catalog.prices import (
    MILLION,
    Period,
    Price,
    Rate,
    cost_details,
    flat_price,
    packaged_price,
    table_age_days,
    table_facts,
)
from tui.domain.usage import Usage

NOON = datetime(2026, 11, 19, 12, tzinfo=UTC)
THEIR_NAMES = {ours: theirs for theirs, ours in price_table.OUR_NAMES.items()}


def test_the_table_is_what_the_script_writes() -> None:
    written = [json.loads(line) for line in price_table.FILE.read_text(encoding="utf-8").splitlines()]
    assert written == json.loads(json.dumps(list(price_table.table(table_facts()["date"]))))


def test_the_table_knows_its_source_and_age() -> None:
    assert table_facts()["source"] == "genai-prices"
    assert table_facts()["version"] == "0.2.3"
    made = date.fromisoformat(table_facts()["date"])
    assert [table_age_days(made), table_age_days(made + timedelta(days=91))] == [0, 91]


def test_any_usage_costs_what_the_package_says() -> None:
    """300 random usages over all priced models of the catalogue, at random dates and hours and lengths."""
    chance = random.Random(20261119)
    theirs = {provider.id: provider for provider in their_providers}
    priced = [
        (provider, facts.id, model, price)
        for provider in packaged_catalog().providers()
        for facts in packaged_catalog().models(provider)
        if (price := packaged_price(provider, facts.id)) is not None
        and (source := theirs.get(THEIR_NAMES.get(provider, provider))) is not None
        and (model := source.find_model(facts.id, all_providers=their_providers)) is not None
    ]
    assert len(priced) > 100
    for number in range(300):
        provider, name, model, price = priced[number % len(priced)]
        when = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=chance.randrange(60 * 24 * 540))
        total = chance.choice([0, 10, 5_000, 199_999, 200_000, 200_001, 272_001, 600_000, 1_500_000])
        read = chance.randint(0, total)
        written = chance.randint(0, total - read)
        hour = chance.randint(0, written)
        output = chance.randint(0, 64_000)
        thinking = chance.randint(0, output)
        usage = Usage(
            input=total, cache_read=read, cache_write=written, cache_write_1h=hour, output=output, thinking=thinking
        )
        expected = model.get_prices(when).calc_price(
            TheirUsage(
                input_tokens=total,
                cache_read_tokens=read,
                cache_write_tokens=written,
                cache_write_1h_tokens=hour,
                output_tokens=output,
                output_reasoning_tokens=thinking,
            )
        )["total_price"]
        details = cost_details(usage, price, when)
        assert details is not None
        assert details.dollars == pytest.approx(float(expected), abs=1e-9), (provider, name, when, usage)


def test_cached_tokens_are_not_billed_as_new_ones() -> None:
    price = packaged_price("openai", "gpt-6.1-sol")
    assert price is not None
    details = cost_details(Usage(input=200_000, cache_read=190_000, output=1_000), price, NOON)
    assert details is not None
    assert [(line.kind, line.tokens, line.per_million) for line in details.lines] == [
        ("input", 10_000, 2),
        ("cache_read", 190_000, 0.1),
        ("output", 1_000, 10),
    ]
    assert details.dollars == pytest.approx(0.049)


def test_a_price_changes_on_its_date_and_by_the_hour() -> None:
    price = packaged_price("google", "gemini-4-argon")
    assert price is not None
    before = price.at(datetime(2026, 11, 30, 23, 59, tzinfo=UTC))["input"].base
    after = price.at(datetime(2026, 12, 1, tzinfo=UTC))["input"].base
    assert before is not None
    assert after == 2 * before
    assert price.changes_after(NOON) == (date(2026, 12, 1),)
    peak = packaged_price("deepseek", "deepseek-v4-pro")
    assert peak is not None
    at_night, by_day = (peak.at(NOON.replace(hour=hour))["input"].base for hour in (12, 2))
    assert at_night is not None
    assert by_day == 2 * at_night


def test_hours_may_pass_midnight() -> None:
    cheap = Period(rates={"input": Rate(base=1)}, hours=(time(22), time(6)))
    assert [hour for hour in range(24) if cheap.is_active(NOON.replace(hour=hour))] == [0, 1, 2, 3, 4, 5, 22, 23]


def test_every_model_that_had_a_price_has_one() -> None:
    names = [
        ("anthropic", "claude-mythos-5-1"),
        ("alibaba", "qwen3.8-max"),
        ("xai", "grok-4.20-reasoning"),
        ("openrouter", "anthropic/claude-opus-5"),
        ("moonshot", "kimi-k2.6"),
        ("groq", "openai/gpt-oss-120b"),
        ("cerebras", "gpt-oss-120b"),
        ("anthropic", "claude-opus-5-20261001"),
    ]
    assert [name for name in names if packaged_price(*name) is None] == []
    assert packaged_price("ollama", "qwen3") is None
    assert packaged_price("anthropic", "claude-unheard-of") is None


def test_what_is_unknown_costs_an_unknown_amount() -> None:
    price = flat_price({"input": 1, "output": 2}, "a test")
    assert cost_details(Usage(input=1), price, NOON) is None
    assert cost_details(Usage(input=1, output=1), flat_price({"input": 1}, "a test"), NOON) is None
    details = cost_details(Usage(input=MILLION, cache_read=400_000, cache_write=100_000, output=0), price, NOON)
    assert details is not None
    assert [(line.kind, line.tokens, line.dollars) for line in details.lines] == [("input", MILLION, 1.0)]


def test_counts_that_contradict_each_other_never_cost_less_than_nothing() -> None:
    price = flat_price({"input": 1, "output": 2, "cache_read": 0.1}, "a test")
    details = cost_details(Usage(input=10, cache_read=1_000, output=5, thinking=50), price, NOON)
    assert details is not None
    assert [(line.kind, line.tokens) for line in details.lines] == [("cache_read", 10), ("output", 5)]


def test_periods_are_tried_from_the_last() -> None:
    first, second = (
        Period(rates={"input": Rate(base=base)}, start=start) for base, start in ((1, None), (2, date(2026, 6, 1)))
    )
    price = Price(periods=(first, second))
    assert [price.at(datetime(2026, month, 2, tzinfo=UTC))["input"].base for month in (5, 6)] == [1, 2]
