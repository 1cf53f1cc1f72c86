"""Merges fetched lists into the catalogue: above packaged rows, below the user's rows, models.dev lowest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime

from tui.catalog.catalog import Catalog, Layer
from tui.domain.errors import ConfigError
from tui.providers.models.list_cache import ListCache, Listing
from tui.providers.models.listings import Rows

_NAME = "list of "
"""Prefix of the source names of list layers."""
LOWEST = "models.dev"


def merge_model_lists(catalog: Catalog, listings: Iterable[Listing]) -> Catalog:
    """Return the catalogue with these lists, each named with its date; an older list of a source is replaced."""
    laid = {_source(layer): layer for layer in catalog.layers if layer.source.startswith(_NAME)}
    known = catalog.providers()
    for listing in listings:
        day = datetime.fromtimestamp(listing.at, UTC).date().isoformat()
        rows = {provider: models for provider, models in listing.rows.items() if provider in known}
        if rows:
            (layer,) = (
                Catalog(own_providers=catalog.own_providers).with_layer(f"{_NAME}{listing.source}, {day}", rows).layers
            )
            laid[listing.source] = layer
    others = [layer for layer in catalog.layers if not layer.source.startswith(_NAME)]
    lists = sorted(laid.values(), key=lambda layer: _source(layer) != LOWEST)
    return replace(catalog, layers=(*lists, *others))


def with_local_rows(catalog: Catalog, provider: str, rows: Rows) -> Catalog:
    """Return the catalogue with the rows of a local server, above its fetched list and below the user's rows."""
    source = f"{provider} on this machine"
    (layer,) = Catalog(own_providers=catalog.own_providers).with_layer(source, {provider: rows}).layers
    others = [known for known in catalog.layers if known.source != source]
    lists = sum(known.source.startswith(_NAME) for known in others)
    return replace(catalog, layers=(*others[:lists], layer, *others[lists:]))


def merge_cached_lists(catalog: Catalog, cache: ListCache, providers: Iterable[str] | None = None) -> Catalog:
    """Return the catalogue with the cached lists (of these providers only, if given); invalid lists are ignored."""
    for source in cache.sources() if providers is None else providers:
        listing = cache.read(source)
        if listing is not None:
            try:
                catalog = merge_model_lists(catalog, [listing])
            except ConfigError:  # written by another version, or by hand
                continue
    return catalog


def _source(layer: Layer) -> str:
    return layer.source.removeprefix(_NAME).rpartition(", ")[0]
