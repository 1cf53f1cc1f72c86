"""The user's catalogue and settings for commands without a session: packaged rows, config.toml, environment.

Also the messages of these commands on stderr, and the keys that their output must not contain.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tui.catalog.catalog import Catalog, packaged_catalog, users_catalog
from tui.catalog.facts import ModelFacts
from tui.domain.errors import ConfigError, PonderError, UsageError
from tui.domain.printable import printable
from tui.domain.thinking import ModelSpec
from tui.providers.configured_secrets import learn_all_keys, learn_configured
from tui.providers.keys import Keys
from tui.providers.mcp_logins import learn_logins
from tui.providers.redaction import Redactor
from tui.settings.config_file import located, read_config
from tui.settings.layers import Layer, Layers
from tui.settings.paths import find_paths
from tui.settings.schema import parse
from tui.settings.user_files import MOST_ENTRIES, list_user_files, may_exist


@dataclass(frozen=True, slots=True, kw_only=True)
class UserCatalog:
    """A catalogue, and the settings that were read for it."""

    catalog: Catalog
    values: Mapping[str, object] = field(default_factory=dict)
    """Settings of config.toml by dotted key, validated."""
    assignments: Mapping[str, object] = field(default_factory=dict)
    """Settings of the command line."""
    mcp: Mapping[str, object] = field(default_factory=dict)
    """``[mcp]`` of config.toml."""
    problems: tuple[PonderError, ...] = ()
    """Problems with rows of config.toml; already reported, and the rows are not in the catalogue."""

    def layers_for(self, facts: ModelFacts, *, level_chosen: bool) -> Layers:
        """The settings for a model: config.toml, then the model's recommended values, then the command line."""
        layers = (
            Layers()
            .with_layer(Layer.CONFIG, self.values)
            .with_layer(Layer.MODEL, facts.recommended, facts.id)
            .with_layer(Layer.COMMAND_LINE, self.assignments)
        )
        return replace(layers, level_at=Layer.COMMAND_LINE) if level_chosen else layers

    def require_right_rows(self, spec: ModelSpec) -> None:
        """Raise the problem with this model's row, because any output would not describe what the user wrote."""
        own = (f"providers.{spec.provider}", f"models.{spec.provider}/{spec.model}")
        for problem in self.problems:
            key = problem.key or "" if isinstance(problem, ConfigError) else ""
            if any(key == name or key.startswith(f"{name}.") for name in own):
                raise problem

    def knowing(self, spec: ModelSpec, environment: Mapping[str, str]) -> UserCatalog:
        """A copy that knows the model of a file."""
        if not self.catalog.provider(spec.provider).starts_models:
            return self
        from tui.app.local_models import with_local_models

        return replace(self, catalog=with_local_models(self.catalog, environment, spec.model))

    def assigned(self, assignments: Sequence[str]) -> UserCatalog:
        """A copy with ``KEY=VALUE`` settings of the command line."""
        if not assignments:
            return self
        values = dict(self.assignments)
        for words in assignments:
            key, equals, value = words.partition("=")
            if not equals:
                raise UsageError(f"`--set {words}` needs KEY=VALUE.")
            name, meant = parse(key, value)
            values[name] = meant
        return replace(self, assignments=values)


def user_catalog(environment: Mapping[str, str]) -> UserCatalog:
    """Load the user's catalogue. Errors in config.toml are reported on stderr and skipped."""
    paths = find_paths(environment)
    catalog = _with_lists(packaged_catalog(), paths.cache)
    values: Mapping[str, object] = {}
    tables: Mapping[str, Mapping[str, object]] = {}
    path = paths.config_file
    if may_exist(path):
        config = read_config(path)
        for problem in config.problems:
            print_problem(problem)
        values, tables = config.values, config.tables
    catalog, problems = users_catalog(catalog, tables, environment, file=path.name)
    if problems:
        problems = [located(path, problem) for problem in problems]
    for row_problem in problems:
        print_problem(row_problem)
    return UserCatalog(catalog=catalog, values=values, mcp=tables.get("mcp", {}), problems=tuple(problems))


def _with_lists(catalog: Catalog, folder: Path) -> Catalog:
    if not _has_lists(folder):
        return catalog
    from tui.providers.model_lists import (
        ListCache,
        merge_cached_lists,  # only after a refresh
    )

    return merge_cached_lists(catalog, ListCache(folder))


def _has_lists(folder: Path) -> bool:
    try:
        return any(path.name.startswith("models-") for path in list_user_files(folder, ".json", MOST_ENTRIES))
    except OSError:
        return False


def print_problem(problem: PonderError) -> None:
    """Print a problem in one or two lines on stderr."""
    print_messages(f"ponder: {problem.message}", problem.advice)


def print_messages(*lines: str) -> None:
    """Print each message on its own line, omitting empty ones. They may contain file and model names."""
    for line in filter(None, lines):
        # A closed stderr is None, which print ignores.
        print(printable(line), file=sys.stderr)


def known_keys(user: UserCatalog, environment: Mapping[str, str]) -> Redactor:
    """Knows all keys that can be found, including those in the keyring and the configuration."""
    keys = Keys(find_paths(environment).credentials_file, environ=environment)
    learn_configured(keys.redactor, user.catalog.own_providers.values(), user.mcp, environment)
    learn_all_keys(keys, user.catalog.providers().values())
    learn_logins(find_paths(environment).credentials_file, keys.redactor)
    return keys.redactor
