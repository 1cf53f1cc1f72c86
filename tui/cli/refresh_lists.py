"""``ponder models --refresh``: asks all providers for their models at the same time and stores the lists.

Apart from ``models`` because it imports the HTTP client, which a listing does not need.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence

from tui.catalog.catalog import Catalog
from tui.catalog.facts import AuthStyle, ProviderFacts
from tui.cli.user_catalog import print_messages
from tui.domain.errors import PonderError, ProviderError
from tui.providers.backend import transport_maker
from tui.providers.http.deadlines import RequestLimits
from tui.providers.keys import Keys
from tui.providers.model_discovery import Discovery
from tui.providers.model_lists import MODELS_DEV, ListCache, ModelList
from tui.settings.paths import find_paths

EVERYTHING = "all"
WORDS = (EVERYTHING, MODELS_DEV)
"""Sources that are accepted in place of a provider. models.dev is only fetched by these names."""


def refresh_lists(catalog: Catalog, asked: str, *, allow_http: bool = False) -> bool:
    """Refresh one provider, or ("") all that can be asked; prints the outcome on stderr. True if any list arrived."""
    return asyncio.run(_refresh(catalog, asked, RequestLimits(allow_http=allow_http)))


async def _refresh(catalog: Catalog, asked: str, limits: RequestLimits) -> bool:
    paths = find_paths(os.environ)
    keys, cache = Keys(paths.credentials_file), ListCache(paths.cache)
    make_transport = transport_maker(limits=limits, environ=os.environ)
    discovery = Discovery(keys, make_transport, cache, time.time)
    providers: Sequence[ProviderFacts] = []
    if asked not in WORDS and asked:
        providers = [catalog.provider(asked)]
    elif asked != MODELS_DEV:
        providers = await asyncio.to_thread(_askable, catalog, keys)
    found: dict[str, ModelList | PonderError] = {}
    if asked in WORDS:
        found[MODELS_DEV] = await _models_dev(catalog, cache)
    for provider in providers:
        if provider.discovery is None:
            found[provider.id] = PonderError(f"{provider.title} has no model list to request.")
    found |= await discovery.ask_all(providers)
    named = asked and asked not in WORDS
    _tell(found, () if named else frozenset(provider.id for provider in providers if provider.key_optional))
    return any(isinstance(answer, ModelList) for answer in found.values())


async def _models_dev(catalog: Catalog, cache: ListCache) -> ModelList | PonderError:
    from tui.providers.model_discovery import refresh_models_dev

    transport = transport_maker(environ=os.environ)()
    try:
        return await refresh_models_dev(transport, cache, frozenset(catalog.providers()), time.time)
    except PonderError as error:
        return error
    finally:
        await transport.aclose()


def _askable(catalog: Catalog, keys: Keys) -> list[ProviderFacts]:
    """Providers that have a model list, and a key unless they need none."""
    return [provider for provider in catalog.providers().values() if provider.discovery and _is_open(provider, keys)]


def _is_open(provider: ProviderFacts, keys: Keys) -> bool:
    if provider.auth is AuthStyle.NONE or provider.key_optional:
        return True
    try:
        return bool(keys.source(provider))
    except PonderError:
        return False


def _tell(found: Mapping[str, ModelList | PonderError], quiet: Iterable[str]) -> None:
    """One line per provider; a local server that is not running is only mentioned if it was named."""
    for source, answer in found.items():
        if isinstance(answer, ModelList):
            count = sum(map(len, answer.rows.values()))
            print(f"{source}: {count} {'model' if count == 1 else 'models'}", file=sys.stderr)
        elif source not in quiet:
            print_messages(f"{source}: {answer.message} {answer.advice}".rstrip())
    if not any(isinstance(answer, ModelList) for answer in found.values()):
        why = "" if any(map(_answered, found.values())) else ": no key works, and no server on this machine responds"
        print(f"No model list was received{why}.", file=sys.stderr)


def _answered(answer: ModelList | PonderError) -> bool:
    """The server answered with an error."""
    return isinstance(answer, ProviderError) and answer.status is not None
