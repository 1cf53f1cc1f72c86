"""``ponder models [--refresh [PROVIDER]] [FILTER]``: the models in the catalogue with their features and prices."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator

from tui.app.local_models import with_local_models
from tui.catalog.catalog import Catalog
from tui.catalog.facts import Lifecycle, ModelFacts
from tui.catalog.prices import current_rates
from tui.catalog.toml_values import nearest
from tui.cli.user_catalog import print_problem, user_catalog
from tui.domain.errors import ConfigError, UnknownModel
from tui.domain.format_numbers import count
from tui.domain.printable import json_escaped, printable
from tui.providers.model_lists import ListCache, merge_cached_lists
from tui.settings.paths import find_paths

EXIT_FAILURE = 1

_COLUMNS = ("model", "context", "output", "thinking", "$ in/out", "state")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare arguments and options."""
    parser.add_argument("filter", nargs="*", metavar="FILTER", help="words that the name must contain")
    parser.add_argument(
        "--refresh",
        nargs="?",
        const="",
        metavar="PROVIDER",
        help="first fetch the model list of PROVIDER (default: every provider); `all` also fetches models.dev",
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object per line, with the source of each fact"
    )


def run(args: argparse.Namespace) -> int:
    """Returns 0 with the list on stdout, 1 if a refresh failed, 2 if nothing matches or the config is wrong."""
    refreshed = True
    try:
        user = user_catalog(os.environ)
        catalog = user.catalog
        words = " ".join(args.filter)
        if args.refresh is not None:
            asked, words = _refresh_of_whom(args.refresh, words, catalog)
            refreshed = _refreshed(catalog, asked, allow_http=user.values.get("network.allowHttp") is True)
        catalog = merge_cached_lists(catalog, ListCache(find_paths(os.environ).cache))
        catalog = with_local_models(catalog, os.environ)
        listed = list(_fitting(catalog, words.lower().split()))
        if not listed:
            if words in catalog.providers():
                raise UnknownModel(f"No models of `{words}` are known yet. `ponder models --refresh {words}` asks it.")
            names = {f"{facts.provider}/{facts.id}" for facts in _fitting(catalog, [])}
            raise UnknownModel(f"No model fits `{words}`.", nearest=nearest(words, [*names, *catalog.providers()]))
    except (ConfigError, UnknownModel) as problem:
        print_problem(problem)
        return 2
    if args.json:
        for facts in listed:
            print(json_escaped(json.dumps(_as_object(facts), ensure_ascii=False)))
    else:
        print(printable(_table([_COLUMNS, *map(_row, listed)])))
    return 0 if refreshed else EXIT_FAILURE


def _refresh_of_whom(word: str, words: str, catalog: Catalog) -> tuple[str, str]:
    """The provider to refresh, and the filter: ``--refresh claude`` names no provider, so ``claude`` is the filter."""
    from tui.cli.refresh_lists import WORDS

    if word in WORDS:
        return word, words
    if word in catalog.providers():
        return word, words or word
    meant = f"{word} {words}".strip()
    near = nearest(word, [*catalog.providers(), *WORDS])
    if near and not any(_fitting(catalog, meant.lower().split())):
        raise UnknownModel(f"`{word}` is no provider, and no model fits it.", nearest=near)
    return "", meant


def _refreshed(catalog: Catalog, asked: str, *, allow_http: bool) -> bool:
    from tui.cli.refresh_lists import refresh_lists  # imports the HTTP client

    return refresh_lists(catalog, asked, allow_http=allow_http)


def _fitting(catalog: Catalog, words: list[str]) -> Iterator[ModelFacts]:
    for provider in catalog.providers():
        for facts in catalog.models(provider):
            name = f"{provider}/{facts.id} {' '.join(facts.aliases)}".lower()
            if all(word in name for word in words):
                yield facts


def _row(facts: ModelFacts) -> tuple[str, ...]:
    rates = current_rates(facts, time.time())
    cost = f"{rates['input']:g}/{rates['output']:g}" if "input" in rates and "output" in rates else ""
    state = "" if facts.lifecycle is Lifecycle.CURRENT else facts.lifecycle.value
    return (
        f"{facts.provider}/{facts.id}",
        _short(facts.context_window),
        _short(facts.max_output),
        thinking_summary(facts),
        cost,
        " ".join(filter(None, (state, facts.retires))),
    )


def thinking_summary(facts: ModelFacts) -> str:
    """The thinking controls of a model in a few words."""
    controls = facts.controls
    if not facts.known:
        return "server default"
    if not controls.thinks:
        return "does not think"
    parts = []
    if controls.efforts:
        parts.append(" ".join(controls.efforts))
    if controls.budget is not None:
        parts.append(f"{controls.budget.min:,}-{count(controls.budget.max, 'token')}")
    if controls.can_disable:
        parts.append("off" if parts else "on, off")
    return ", ".join(parts) or "always on"


def _short(tokens: int | None) -> str:
    if tokens is None:
        return "?"
    return f"{tokens / 1_000_000:.3g}M" if tokens >= 1_000_000 else f"{tokens / 1000:.3g}K"


def _table(rows: list[tuple[str, ...]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def _as_object(facts: ModelFacts) -> dict[str, object]:
    rates = current_rates(facts, time.time())
    return {
        "provider": facts.provider,
        "model": facts.id,
        "aliases": facts.aliases,
        "wire": facts.wire,
        "context_window": facts.context_window,
        "max_output": facts.max_output,
        "thinking": thinking_summary(facts),
        "price": [rates.get("input"), rates.get("output")] if rates else None,
        "lifecycle": facts.lifecycle,
        "retires": facts.retires,
        "successor": facts.successor,
        "notes": facts.notes,
        "provenance": dict(facts.provenance),
    }
