"""Prices from ``genai-prices``, where that is installed; a stand-in of its shape takes its place here."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from types import ModuleType

import pytest

from tests.app.stage import house
from tui.app import fallback_prices as more_prices
from tui.app.fallback_prices import fallback_price
from tui.catalog.catalog import packaged_catalog
from tui.catalog.facts import Price
from tui.domain.thinking import ModelSpec
from tui.domain.usage import Usage

KNOWN = {
    ("moonshotai", "kimi-k1"): (Decimal("0.6"), Decimal("2.5"), Decimal("0.15")),
    ("openai", "stepped"): ("from 200k on more", Decimal(10), None),
}


@dataclass
class Row:
    input_mtok: object
    output_mtok: object
    cache_read_mtok: object


@dataclass
class Found:
    model_price: Row


def stand_in() -> ModuleType:
    package = ModuleType("genai_prices")

    def calc_price(usage: object, *, model_ref: str, provider_id: str) -> Found:
        return Found(Row(*KNOWN[provider_id, model_ref]))

    package.calc_price = calc_price
    package.Usage = lambda **tokens: tokens
    return package


@pytest.fixture(params=["there", "missing"])
def installed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[bool]:
    there = request.param == "there"
    monkeypatch.setitem(sys.modules, "genai_prices", stand_in() if there else None)
    more_prices._package.cache_clear()
    more_prices._looked_up.cache_clear()
    yield there
    more_prices._package.cache_clear()


def test_a_model_the_catalogue_does_not_price_is_looked_up_and_nothing_is_guessed(installed: bool) -> None:
    catalog = packaged_catalog()
    found = {
        name: fallback_price(catalog.find(*name.split("/", 1)))
        for name in ("moonshot/kimi-k1", "openai/stepped", "openai/nobody-knows-it", "ollama/kimi-k1")
    }
    known = Price(input=0.6, output=2.5, cache_read=0.15) if installed else None
    assert found == {
        "moonshot/kimi-k1": known,
        "openai/stepped": None,
        "openai/nobody-knows-it": None,
        "ollama/kimi-k1": None,
    }


async def test_the_catalogues_own_price_comes_first(installed: bool, tmp_path) -> None:
    async with house(tmp_path) as h:
        planner = h.program.planner
        usage = Usage(input=1_000_000, output=0)
        ours = planner.target(ModelSpec(provider="moonshot", model="kimi-k3"))
        other = planner.target(ModelSpec(provider="moonshot", model="kimi-k1"))
        assert planner.cost(ours, usage) == ours.facts.price.input
        assert planner.cost(other, usage) == (0.6 if installed else None)
        assert planner.cost(other, Usage(input=1, output=1, cost=0.5)) == 0.5
