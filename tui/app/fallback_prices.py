"""Prices the catalogue does not have, from the package ``genai-prices`` where that is installed.

It is an extra, not a dependency: 2 MB of tables, a second HTTP library, and a fifth of a second at its first use, for
models the catalogue does not price. Loaded with the first answer of such a model; it is never asked to refresh itself.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from types import ModuleType

from tui.catalog.facts import ModelFacts, Price

THEIR_NAMES = {"moonshot": "moonshotai", "xai": "x-ai"}
"""Providers they call otherwise."""
SERVED_AT_HOME = frozenset({"ollama", "llama.cpp", "vllm", "lmstudio", "litellm-proxy", "demo"})
"""What these serve has no price, or not that of its maker."""


def fallback_price(facts: ModelFacts) -> Price | None:
    """The price of a model; None where nobody knows it, or it depends on how long the request is."""
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
    """Plain numbers only: a price in steps is no price for all requests."""
    from decimal import Decimal  # loaded with their package anyway

    return float(value) if isinstance(value, Decimal) else None
