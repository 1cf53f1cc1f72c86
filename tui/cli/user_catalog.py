"""Catalogue and settings of the user for commands that need no session: packaged rows, config.toml, environment."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tui.catalog.facts import ModelFacts
from tui.catalog.load import Catalog, packaged_catalog
from tui.catalog.provider_rows import ollama_base_url
from tui.domain.errors import PonderError, UsageError
from tui.settings.paths import find_paths


@dataclass(frozen=True, slots=True, kw_only=True)
class UserCatalog:
    """A catalogue, and the settings that were read on the way."""

    catalog: Catalog
    values: Mapping[str, object] = field(default_factory=dict)
    """Settings of config.toml by dotted key, validated."""
    assignments: Mapping[str, object] = field(default_factory=dict)
    """Settings of the command line."""

    def settings_for(self, facts: ModelFacts) -> Mapping[str, object]:
        """What holds for a model: config.toml, what its facts recommend, the command line."""
        return {**self.values, **facts.recommended, **self.assignments}

    def assigned(self, assignments: Sequence[str]) -> UserCatalog:
        """The same with ``KEY=VALUE`` words of the command line over it."""
        if not assignments:
            return self
        # Imported here: the settings bring pydantic along, which costs more than all the rest of a plan.
        from tui.settings.assign import parse

        values = dict(self.assignments)
        for words in assignments:
            key, equals, value = words.partition("=")
            if not equals:
                raise UsageError(f"`--set {words}` needs KEY=VALUE.")
            name, meant = parse(key, value)
            values[name] = meant
        return replace(self, assignments=values)


def user_catalog(environment: Mapping[str, str]) -> UserCatalog:
    """What this user has. Wrong settings in config.toml are told on stderr and passed over, wrong rows stop."""
    paths = find_paths(environment)
    catalog = _with_lists(packaged_catalog(), paths.cache)
    values: Mapping[str, object] = {}
    path = paths.config_file
    if path.exists():
        from tui.settings.config_file import read_config  # pydantic again: only for those who have the file

        config = read_config(path)
        for problem in config.problems:
            say(problem)
        values = config.values
        rows = {name: config.tables[name] for name in ("providers", "models") if name in config.tables}
        catalog = catalog.with_overrides(rows, file=path.name)
    host = environment.get("OLLAMA_HOST")
    if host and "ollama" not in catalog.own_providers:
        catalog = catalog.with_base_url("ollama", ollama_base_url(host))
    return UserCatalog(catalog=catalog, values=values)


def _with_lists(catalog: Catalog, folder: Path) -> Catalog:
    if next(folder.glob("models-*.json"), None) is None:
        return catalog
    from tui.providers.laid_lists import with_cached_lists  # only for those who refreshed
    from tui.providers.list_cache import ListCache

    return with_cached_lists(catalog, ListCache(folder))


def say(problem: PonderError) -> None:
    """A problem in one or two lines on stderr."""
    print(f"ponder: {problem.message}", file=sys.stderr)
    if problem.advice:
        print(problem.advice, file=sys.stderr)
