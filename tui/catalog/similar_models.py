"""Suggests names similar to an unknown model name. Imported only for that error."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches

from tui.catalog.catalog import Catalog
from tui.catalog.facts import Lifecycle
from tui.catalog.model_rows import ModelFile, model_file, packaged_files
from tui.catalog.name_matching import normalized_name
from tui.catalog.toml_values import nearest

SHORTEST_WORD = 3
"""Shorter words are the beginning of too many names."""


def nearest_models(name: str, catalog: Catalog, count: int = 3) -> tuple[str, ...]:
    """Return the most similar names: those with a word that starts like this one, then those of similar spelling."""
    homes = _suggested_providers(catalog)
    found = _similar(name, catalog, homes, count)
    if not found:  # the name may be one misspelled word of a model name
        words = {word for id_ in homes for word in _last(id_).split("-") if len(word) > SHORTEST_WORD}
        found = [
            full
            for word in get_close_matches(normalized_name(name), words, n=1, cutoff=0.8)
            for full in _similar(word, catalog, homes, count)
        ]
    return tuple(dict.fromkeys(found))[:count]


def _similar(name: str, catalog: Catalog, homes: Mapping[str, str], count: int) -> list[str]:
    retired = _retired()
    word = normalized_name(name.rpartition("/")[2])
    meant = [id_ for id_ in homes if len(word) >= SHORTEST_WORD and _has_word(id_, word)]
    starts = {provider.start for provider in map(catalog.provider, dict.fromkeys(homes[id_] for id_ in meant))}
    meant.sort(
        key=lambda id_: (
            _letters(_last(id_)) != _letters(word),
            f"{homes[id_]}/{id_}" in retired,
            not _begins(id_, word),
            id_ not in starts,
        )
    )
    by_full = {f"{provider}/{id_}": id_ for id_, provider in homes.items()}
    close = [f"{homes[id_]}/{id_}" for id_ in nearest(name, homes, 2 * count)] or nearest(name, by_full, 2 * count)
    close = [full for full in close if _last(by_full[full])[:1] == word[:1]]
    return [*(f"{homes[id_]}/{id_}" for id_ in meant), *sorted(close, key=retired.__contains__)]


def _suggested_providers(catalog: Catalog) -> dict[str, str]:
    """Return every listed model with the provider to suggest: its maker, else another provider that has it."""
    homes: dict[str, str] = {}
    for file in _files():
        homes.update({id_: file.name for id_ in file.listed() if id_ not in homes})
    for layer in catalog.layers:
        for provider, rows in layer.rows.items():
            homes.update({id_: provider for id_ in rows if id_ not in homes})
    return homes


def _last(id_: str) -> str:
    return normalized_name(id_.rpartition("/")[2])


def _begins(id_: str, word: str) -> bool:
    return _letters(_last(id_)).startswith(_letters(word))


def _has_word(id_: str, word: str) -> bool:
    """Return whether the name, from one of its words on, starts with ``word``."""
    words = _last(id_).split("-")
    return any(_letters("".join(words[place:])).startswith(_letters(word)) for place in range(len(words)))


def _letters(name: str) -> str:
    """Return a name without hyphens and dots, so that gpt5 and gpt-5 are equal."""
    return re.sub(r"\W", "", name)


def _retired() -> frozenset[str]:
    rows = ((f"{file.name}/{id_}", row) for file in _files() for id_, row in file.rows.items())
    return frozenset(full for full, row in rows if row.get("lifecycle") == Lifecycle.RETIRED)


def _files() -> list[ModelFile]:
    """Makers' first."""
    files = [model_file(name) for name in packaged_files() if name != "open_weights"]
    return sorted(files, key=lambda file: not file.maker)
