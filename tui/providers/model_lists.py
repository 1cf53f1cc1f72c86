"""Model lists of providers: converted into rows, stored as one JSON file per source, and merged into the catalogue.

Invalid values are omitted when a list is converted and when a file is read.
In the catalogue they are above packaged rows and below the user's rows, with models.dev lowest.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import orjson

from tui.catalog.catalog import Catalog, Layer, tokenizer_of_vocabulary
from tui.catalog.model_rows import check_row
from tui.domain.errors import ConfigError
from tui.domain.fast_dataclass import dataclass
from tui.settings.user_files import list_user_files, make_private_folder, read_user_file
from tui.wires.json_text import child, children, number, text, whole

Row = dict[str, object]
Rows = dict[str, Row]
Json = Mapping[str, object]

MOST_MODELS = 5_000
LONGEST_ID = 200
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_LIFECYCLE = {"active": "current", "deprecated": "retiring", "retiring": "retiring", "retired": "retired"}


def rows_from(kind: str, body: object) -> Rows:
    """Return the rows of a list in the given shape (a provider's ``discovery`` value)."""
    read = READERS[kind]
    rows: Rows = {}
    for item in _items(body):
        id_, row = read(item)
        if len(rows) < MOST_MODELS and fit_id(id_):
            rows[id_] = checked_row(row)
    return rows


def checked_row(row: Row) -> Row:
    """Return the row without values that the catalogue would reject."""
    kept: Row = {}
    for key, value in row.items():
        if value is None or key == "recommended":  # settings are the user's, and no list has them
            continue
        try:
            check_row({key: value}, key, "list")
        except ConfigError:
            continue
        kept[key] = value
    return kept


def fit_id(id_: str) -> bool:
    """Whether the string is a possible model id."""
    return 0 < len(id_) <= LONGEST_ID and id_.isprintable() and not any(letter.isspace() for letter in id_)


def _items(body: object) -> tuple[Json, ...]:
    if isinstance(body, list):
        return tuple(item for item in body if isinstance(item, dict))
    return (*children(body, "data"),) or (*children(body, "models"),)


def _anthropic(item: Json) -> tuple[str, Row]:
    abilities = child(item, "capabilities")
    types = child(abilities, "thinking", "types")
    row: Row = {
        "context_window": whole(item, "max_input_tokens"),
        "max_output": whole(item, "max_tokens"),
        "lifecycle": _LIFECYCLE.get(text(item, "lifecycle")),
        "retires": text(item, "retires_at")[:10] or None,
        "inputs": ["text", "image"] if _supported(abilities, "image_input") else None,
    }
    if types:
        row["can_disable"] = _supported(types, "disabled") or _supported(types, "between_tools")
        if _supported(types, "enabled") and not _supported(types, "adaptive"):
            row["spelling"] = "anthropic-budget"
    elif child(abilities, "thinking").get("supported") is False:
        row["thinks"] = False
    if effort := child(abilities, "effort"):
        row["efforts"] = [word for word in _EFFORTS if _supported(effort, word)]
    return text(item, "id"), row


def _supported(table: Json, name: str) -> bool:
    return child(table, name).get("supported") is True


def _openrouter(item: Json) -> tuple[str, Row]:
    reasoning, prices = child(item, "reasoning"), child(item, "pricing")
    parameters = item.get("supported_parameters")
    inputs = child(item, "architecture").get("input_modalities")
    row: Row = {
        "context_window": whole(item, "context_length"),
        "max_output": whole(item, "top_provider", "max_completion_tokens"),
        "tools": "tools" in parameters if isinstance(parameters, list) else None,
        "inputs": [word for word in ("text", "image") if word in inputs] if isinstance(inputs, list) else None,
        "price": _per_million(prices.get("prompt"), prices.get("completion"), prices.get("input_cache_read")),
    }
    if reasoning:
        row["can_disable"] = reasoning.get("mandatory") is not True
        efforts = reasoning.get("supported_efforts")
        if isinstance(efforts, list):
            row["efforts"] = [word for word in _EFFORTS if word in efforts and word != "none"]
    elif isinstance(parameters, list) and "reasoning" not in parameters:
        row["thinks"] = False
    return text(item, "id"), row


def _per_million(*dollars: object) -> list[float] | None:
    """Convert prices per token, often strings, into prices per million; None if one is invalid."""
    prices = []
    for price in dollars:
        try:
            prices.append(round(float(price) * 1e6, 6) if isinstance(price, str | float | int) else -1.0)
        except ValueError:
            prices.append(-1.0)
    if len(prices) > 2 and prices[2] < 0:
        prices = prices[:2]
    return prices if all(0 <= price < 1e6 for price in prices) else None


def _gemini(item: Json) -> tuple[str, Row]:
    row: Row = {
        "context_window": whole(item, "inputTokenLimit"),
        "max_output": whole(item, "outputTokenLimit"),
        "thinks": False if item.get("thinking") is False else None,
    }
    methods = item.get("supportedGenerationMethods")
    if isinstance(methods, list) and "generateContent" not in methods:
        return "", row
    return text(item, "name").removeprefix("models/"), row


def _openai(item: Json) -> tuple[str, Row]:
    """Read an item: OpenAI sends the id only; llama.cpp, vLLM, Groq and others add the context window."""
    window = (
        whole(item, "meta", "n_ctx")
        or whole(item, "loaded_context_length")
        or whole(item, "max_model_len")
        or whole(item, "context_window")
        or whole(item, "context_length")
        or whole(item, "max_context_length")
        or _launched_window(item)
    )
    tokenizer = tokenizer_of_vocabulary(whole(item, "meta", "n_vocab")) or None
    inputs = child(item, "architecture").get("input_modalities")
    row: Row = {
        "context_window": window,
        "max_output": whole(item, "max_completion_tokens"),
        "tokenizer": tokenizer,
        "inputs": [word for word in ("text", "image") if word in inputs] if isinstance(inputs, list) else None,
    }
    return text(item, "id"), row


def _launched_window(item: Json) -> int | None:
    """The window that llama.cpp will load a model with, from the arguments of its own command line."""
    arguments = child(item, "status").get("args")
    if not isinstance(arguments, list):
        return None
    sizes = (size for name, size in pairwise(arguments) if name in ("--ctx-size", "-c"))
    return next((int(size) for size in sizes if isinstance(size, str) and re.fullmatch(r"[1-9]\d{0,8}", size)), None)


def _ollama(item: Json) -> tuple[str, Row]:
    return text(item, "name") or text(item, "model"), {}


def ollama_row(shown: object) -> Row:
    """Return the row of one model from Ollama's ``/api/show``."""
    abilities = shown.get("capabilities") if isinstance(shown, dict) else None
    info = child(shown, "model_info")
    windows = [whole(info, name) for name in info if name.endswith(".context_length")]
    row: Row = {"context_window": windows[0] if windows else None}
    if isinstance(abilities, list):
        row["thinks"] = "thinking" in abilities
        row["tools"] = "tools" in abilities
        row["inputs"] = ["text", "image"] if "vision" in abilities else ["text"]
    return checked_row(row)


READERS: Mapping[str, Callable[[Json], tuple[str, Row]]] = {
    "anthropic": _anthropic,
    "openai": _openai,
    "openrouter": _openrouter,
    "gemini": _gemini,
    "ollama": _ollama,
}
"""Readers by a provider's ``discovery`` value."""

MODELS_DEV_NAMES = {"moonshotai": "moonshot", "alibaba": "alibaba", "z-ai": "zai"}
"""Provider ids of models.dev that differ from ours, and ours."""


def models_dev_rows(body: object, providers: frozenset[str]) -> dict[str, Rows]:
    """Return the rows of the models.dev catalogue for these providers."""
    found: dict[str, Rows] = {}
    for name in body if isinstance(body, dict) else ():
        ours = MODELS_DEV_NAMES.get(name, name)
        if ours not in providers:
            continue
        models = child(body, name, "models")
        rows = {id_: checked_row(_models_dev(child(models, id_))) for id_ in list(models)[:MOST_MODELS] if fit_id(id_)}
        if rows:
            found[ours] = rows
    return found


def _models_dev(item: Json) -> Row:
    inputs = child(item, "modalities").get("input")
    cost = [number(item, "cost", name) for name in ("input", "output", "cache_read", "cache_write")]
    while cost and cost[-1] is None:
        cost.pop()
    return {
        "context_window": whole(item, "limit", "context") or None,
        "max_output": whole(item, "limit", "output") or None,
        "inputs": [word for word in ("text", "image") if word in inputs] if isinstance(inputs, list) else None,
        "tools": item.get("tool_call"),
        "thinks": False if item.get("reasoning") is False else None,
        "price": cost if len(cost) >= 2 and None not in cost else None,
    }


FORMAT = 1
LARGEST_FILE = 16 * 1024 * 1024
MOST_LISTS = 1_000
LAST_DATE = 1e11
"""Seconds since the epoch; a later time is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelList:
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

    def read(self, source: str) -> ModelList | None:
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
            provider: {id_: checked_row(dict(child(models, id_))) for id_ in list(models)[:MOST_MODELS] if fit_id(id_)}
            for provider in child(value, "rows")
            if (models := child(value, "rows", provider))
        }
        return ModelList(source=source, at=at, rows=rows)

    def save(self, listing: ModelList) -> None:
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


def merge_model_lists(catalog: Catalog, listings: Iterable[ModelList]) -> Catalog:
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
