"""Fetched model lists: one JSON file per source, validated when read, and merged into the catalogue.

In the catalogue they are above packaged rows and below the user's rows, with models.dev lowest.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import orjson

from tui.catalog.catalog import Catalog, Layer
from tui.domain.errors import ConfigError
from tui.domain.fast_dataclass import dataclass
from tui.providers.models.listings import MOST_MODELS, Rows, checked, fit_id
from tui.settings.user_files import list_user_files, make_private_folder, read_user_file
from tui.wires.json_text import child, number

FORMAT = 1
LARGEST_FILE = 16 * 1024 * 1024
MOST_LISTS = 1_000
LAST_DATE = 1e11
"""Seconds since the epoch; a later time is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The rows of one source, by provider and model id."""

    source: str
    at: float
    """Time of the fetch in seconds since the epoch."""
    rows: Mapping[str, Rows]


class ListCache:
    """The folder of cached lists."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _path(self, source: str) -> Path:
        safe = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in source)
        return self._folder / f"models-{safe}.json"

    def sources(self) -> tuple[str, ...]:
        """Return the sources of the cached lists, from the file names."""
        with suppress(OSError):
            files = list_user_files(self._folder, ".json", MOST_LISTS)
            return tuple(path.stem.removeprefix("models-") for path in files if path.name.startswith("models-"))
        return ()

    def read(self, source: str) -> Listing | None:
        """Return the cached list, or None."""
        path = self._path(source)
        try:
            value = orjson.loads(read_user_file(path, LARGEST_FILE) or b"")
        except (OSError, ValueError):
            return None
        at = number(value, "at")
        if not isinstance(value, dict) or value.get("format") != FORMAT or at is None or not 0 < at < LAST_DATE:
            return None
        rows = {
            provider: {id_: checked(dict(child(models, id_))) for id_ in list(models)[:MOST_MODELS] if fit_id(id_)}
            for provider in child(value, "rows")
            if (models := child(value, "rows", provider))
        }
        return Listing(source=source, at=at, rows=rows)

    def keep(self, listing: Listing) -> None:
        """Write a list; errors are ignored, because the list can be fetched again."""
        path = self._path(listing.source)
        fresh = path.with_suffix(f".{os.getpid()}.new")
        body = {"format": FORMAT, "at": listing.at, "rows": listing.rows}
        try:
            make_private_folder(path.parent)
            fresh.write_bytes(orjson.dumps(body))
            fresh.replace(path)
        except OSError:
            with suppress(OSError):
                fresh.unlink(missing_ok=True)


_LIST_OF = "list of "
"""Prefix of the source names of list layers."""
MODELS_DEV = "models.dev"
"""The source whose rows every other list overrides."""


def merge_model_lists(catalog: Catalog, listings: Iterable[Listing]) -> Catalog:
    """Return the catalogue with these lists, each named with its date; an older list of a source is replaced."""
    by_source = {_source(layer): layer for layer in catalog.layers if layer.source.startswith(_LIST_OF)}
    known = catalog.providers()
    for listing in listings:
        day = datetime.fromtimestamp(listing.at, UTC).date().isoformat()
        rows = {provider: models for provider, models in listing.rows.items() if provider in known}
        if rows:
            (layer,) = (
                Catalog(own_providers=catalog.own_providers)
                .with_layer(f"{_LIST_OF}{listing.source}, {day}", rows)
                .layers
            )
            by_source[listing.source] = layer
    others = [layer for layer in catalog.layers if not layer.source.startswith(_LIST_OF)]
    lists = sorted(by_source.values(), key=lambda layer: _source(layer) != MODELS_DEV)
    return replace(catalog, layers=(*lists, *others))


def with_local_rows(catalog: Catalog, provider: str, rows: Rows) -> Catalog:
    """Return the catalogue with the rows of a local server, above its fetched list and below the user's rows."""
    source = f"{provider} on this machine"
    (layer,) = Catalog(own_providers=catalog.own_providers).with_layer(source, {provider: rows}).layers
    others = [known for known in catalog.layers if known.source != source]
    lists = sum(known.source.startswith(_LIST_OF) for known in others)
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
    return layer.source.removeprefix(_LIST_OF).rpartition(", ")[0]
