"""Prices missing from the catalogue, from the package ``genai-prices`` if it is installed.

The package is optional: it brings 2 MB of tables and a second HTTP library, and takes 0.2 s to load. It is loaded with
the first answer of a model without a price, and never refreshes its tables.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from types import ModuleType

from tui.catalog.facts import ModelFacts, Price

THEIR_NAMES = {"moonshot": "moonshotai", "xai": "x-ai"}
"""Providers that have another name in the package."""
SERVED_AT_HOME = frozenset({"ollama", "llama.cpp", "vllm", "lmstudio", "litellm-proxy", "demo"})
"""Local providers: no price, or not the one of the model's maker."""


def fallback_price(facts: ModelFacts) -> Price | None:
    """The price of a model; None if it is unknown or depends on the length of the request."""
    if facts.provider in SERVED_AT_HOME:
        return None
    package = _package()
    return None if package is None else _looked_up(package, THEIR_NAMES.get(facts.provider, facts.provider), facts.id)


@cache
def _package() -> ModuleType | None:
    try:
        return importlib.import_module("genai_prices")
    except ImportError:
        return None


@cache
def _looked_up(package: ModuleType, provider: str, model: str) -> Price | None:
    calculate: Callable[..., object] = package.calc_price
    try:
        found = calculate(package.Usage(input_tokens=1, output_tokens=1), model_ref=model, provider_id=provider)
    except (LookupError, ValueError):
        return None
    row = getattr(found, "model_price", None)
    price = Price(
        input=_dollars(getattr(row, "input_mtok", None)),
        output=_dollars(getattr(row, "output_mtok", None)),
        cache_read=_dollars(getattr(row, "cache_read_mtok", None)),
        cache_write=_dollars(getattr(row, "cache_write_mtok", None)),
    )
    return price if price.input is not None and price.output is not None else None


def _dollars(value: object) -> float | None:
    """Plain numbers only: a tiered price depends on the request."""
    from decimal import Decimal  # the package has loaded it already

    return float(value) if isinstance(value, Decimal) else None
