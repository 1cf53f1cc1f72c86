"""Dynamic words for shell completion: models, providers, profiles, sessions, setting values.

Reads only local files, without network access. Errors in them are ignored: a completing shell has no place to show
them.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from tui.catalog.catalog import Catalog
from tui.catalog.facts import Lifecycle
from tui.cli.user_catalog import user_catalog
from tui.domain.errors import PonderError, UnknownModel
from tui.domain.thinking import ThinkingLevel
from tui.settings.paths import Paths, find_paths
from tui.settings.user_files import may_exist

MODEL_SETTINGS = ("model", "favourites", "context.compressionModel")
MOST_SESSIONS = 50
PLAIN = re.compile(r"[\w.:/@=+,-]+", re.ASCII)


def words(kind: str, typed: str) -> list[str]:
    """Words of a kind with this prefix. Only plain words are returned, because shells expand them."""
    try:
        found = dict.fromkeys(_KINDS[kind](typed))
        return [word for word in found if word.startswith(typed) and PLAIN.fullmatch(word)]
    except (PonderError, OSError):
        return []


def _catalog() -> Catalog:
    with contextlib.redirect_stderr(io.StringIO()):
        return user_catalog(os.environ).catalog


def _models(typed: str) -> Iterator[str]:
    """Model names with their provider; names alone once something is typed; levels once the name is complete."""
    catalog = _catalog()
    makers = {file.name for file in catalog.makers()}
    for provider in catalog.providers():
        for facts in catalog.models(provider):
            if facts.lifecycle is not Lifecycle.RETIRED:
                yield f"{provider}/{facts.id}"
                if typed and provider in makers:
                    yield facts.id
    head = typed.rpartition("/")[0]
    if head and _is_model(head, catalog):
        yield from (f"{head}/{level}" for level in ThinkingLevel)


def _is_model(name: str, catalog: Catalog) -> bool:
    from tui.catalog.model_spec import parse_spec

    try:
        spec = parse_spec(name, catalog)
    except UnknownModel:
        return False
    return spec.asked is None and catalog.find(spec.provider, spec.model).known


def _providers(_: str) -> Iterable[str]:
    return _catalog().providers()


def _profiles(_: str) -> Iterable[str]:
    from tui.settings.profiles import profile_names

    return profile_names(_paths().profiles)


def _settings(typed: str) -> Iterator[str]:
    from tui.settings.schema import keys

    key, equals, value = typed.partition("=")
    if not equals:
        yield from (f"{name}=" for name in keys())
    elif key in MODEL_SETTINGS:
        yield from (f"{key}={name}" for name in _models(value))
    elif key == "ui.theme":
        from tui.ui.theme.theme_files import read_themes  # imports Textual's colours

        yield from (f"{key}={name}" for name in ("auto", *read_themes(_paths().themes)[0]))
    elif key in keys():
        yield from (f"{key}={choice}" for choice in keys()[key].choices)


def _sessions(_: str) -> Iterable[str]:
    """Ids of the latest sessions; does not create a store."""
    if not may_exist(_paths().database):
        return ()
    import time

    from tui.app.ids import new_id
    from tui.store.database import Database
    from tui.store.leases import this_process
    from tui.store.library import StoredLibrary
    from tui.store.store_context import StoreContext

    database = Database(_paths().database)
    try:
        library = StoredLibrary(database, StoreContext(holder=this_process(new_id()), now=time.time, new_id=new_id))
        return [row.id for row in asyncio.run(library.sessions("", MOST_SESSIONS))]
    finally:
        database.close()


def _paths() -> Paths:
    return find_paths(os.environ)


_KINDS: Mapping[str, Callable[[str], Iterable[str]]] = {
    "models": _models,
    "profiles": _profiles,
    "providers": _providers,
    "sessions": _sessions,
    "settings": _settings,
}
