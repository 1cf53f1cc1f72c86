"""Which providers can be used: those with a key in environment, keyring or file, and model servers on this machine."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tui.app.engine_settings import network_limits
from tui.app.program import Program
from tui.catalog.facts import AuthStyle, Lifecycle, ProviderFacts
from tui.catalog.model_spec import LOCAL
from tui.domain.errors import PonderError
from tui.domain.format_numbers import count
from tui.domain.thinking import ModelSpec

if TYPE_CHECKING:
    from tui.domain.listing import ProviderInfo

LOCAL_WITHIN_S = 3.0
"""After this time no more model files are opened; the facts of those that were are kept for the next start."""
NO_KEY = "no key"
FIRST = ("anthropic", "openai", "google", "openrouter")
"""Providers always listed on the first screen."""


class ProviderAvailability:
    """Keys and local servers found so far. Searched at the start and again after a key is saved."""

    def __init__(self, program: Program, *, set_key_command: str = "/key") -> None:
        """``set_key_command`` is the command that messages name for setting a key."""
        self._program = program
        self._set_key_command = set_key_command
        self._sources: dict[str, str] = {}
        self._logins: dict[str, str] = {}
        """Cloud providers with signs of a login. None is chosen automatically: most such logins are for other uses."""
        self._problems: dict[str, str] = {}
        self._servers: dict[str, tuple[str, ...]] = {}
        self._local: tuple[str, ...] = ()
        """Models that ponder can run itself, the most suitable one first."""
        self._no_local = ""
        """Why it cannot run any."""

    def look_for_keys(self, *, stored: bool) -> None:
        """Search the environment for keys; with ``stored`` also for recorded ones (slow: call it in a thread).

        Recorded keys are listed in the credentials file. The keyring is not searched for others: its library takes 7 MB
        and 60 ms, and a request finds them.
        """
        for provider in self._program.catalog.providers().values():
            if provider.auth is AuthStyle.NONE or provider.id == "demo":
                continue
            at_hand = provider.key_command or any(self._program.environment.get(name) for name in provider.key_env)
            if not stored and not at_hand:
                continue
            self.look_for_key(provider, recorded_only=True)

    def look_for_saved_keys(self) -> None:
        """Look up only keys recorded as saved: this does not search the keyring for others."""
        try:
            rows = self._program.keys.saved()
        except PonderError:
            return  # reported when a key is needed
        providers = self._program.catalog.providers()
        for row in rows:
            if row.provider in providers:
                self.look_for_key(providers[row.provider])

    def look_for_key(self, provider: ProviderFacts, *, recorded_only: bool = False) -> None:
        """Look up the key of one provider (slow: call it in a thread)."""
        try:
            source = self._program.keys.source(provider, recorded_only=recorded_only)
        except PonderError as problem:
            self._problems[provider.id] = problem.message
            return
        if source:
            self._sources[provider.id] = source
        elif provider.cloud is not None and (login := self._program.keys.login_source(provider)):
            self._logins[provider.id] = login

    def has_unasked_server(self, spec: ModelSpec) -> bool:
        """Whether the model's server is on this machine, so that asking it takes no time, and was not asked yet."""
        from tui.providers.http.address import checked_url

        provider = self._program.catalog.provider(spec.provider)
        if provider.id in self._servers or provider.starts_models or provider.discovery not in ("openai", "ollama"):
            return False
        try:
            return checked_url(provider.base_url).loopback
        except PonderError:  # a wrong address, which the request will report
            return False

    async def look_for_servers(self, *only: str) -> None:
        """Search for model servers on this machine, or for these providers only."""
        from tui.providers.model_lists import with_local_rows
        from tui.providers.running_servers import running_servers

        providers = self._program.catalog.providers()
        for server in await running_servers(providers[name] for name in only or providers):
            self._servers[server.provider] = server.models
            add = partial(with_local_rows, provider=server.provider, rows=server.rows)
            self._program.planner.change_catalog(add)

    def look_for_local_models(self) -> None:
        """Search for models in files (slow: call it in a thread)."""
        models = self._program.local_models
        self._local = tuple(models.learn_all(within_s=LOCAL_WITHIN_S))
        self._no_local = models.obstacle() or ("" if self._local else "no models: ponder local get NAME")

    async def discover(self) -> None:
        """The slow searches: keyring, file, local servers and models. Called after the screen is shown."""
        await asyncio.to_thread(self.merge_cached_lists)
        await asyncio.gather(
            asyncio.to_thread(self.look_for_keys, stored=True),
            asyncio.to_thread(self.look_for_local_models),
            self.look_for_servers(),
        )

    def reason(self, provider: ProviderFacts) -> str:
        """Why the provider cannot be used; "" if it can."""
        if provider.id == "demo" or provider.id in self._sources or provider.id in self._servers:
            return ""
        if provider.id in self._problems:
            return self._problems[provider.id]
        if provider.cloud is not None:
            return self._no_login(provider)
        if provider.local or provider.starts_models:
            return "not running" if provider.local else self._no_local
        if provider.auth is AuthStyle.NONE or provider.key_optional:
            return ""
        return f"{NO_KEY}: {self._set_key_command} {provider.id}"

    def _no_login(self, provider: ProviderFacts) -> str:
        from tui.providers.clouds.failures import log_in_command

        return "" if provider.id in self._logins else f"no login: {log_in_command(provider)}"

    def with_keys(self) -> list[ProviderFacts]:
        """Providers with a key."""
        return [self._program.catalog.provider(provider) for provider in self._sources]

    def ready(self) -> list[ModelSpec]:
        """One start model for each available provider: with keys, then local servers, then what ponder runs itself."""
        found: list[ModelSpec] = []
        for provider in self._sources:
            model = self._first_model(provider)
            if model:
                found.append(ModelSpec(provider=provider, model=model))
        for provider, models in self._servers.items():
            if models:
                start = self._program.catalog.provider(provider).start
                found.append(ModelSpec(provider=provider, model=start if start in models else models[0]))
        if self._local and not self._no_local:
            found.append(ModelSpec(provider=LOCAL, model=self._local[0]))
        return found

    def without_models(self) -> list[str]:
        """Providers with a key but without a known model."""
        return [provider for provider in self._sources if not self._first_model(provider)]

    def _first_model(self, provider: str) -> str:
        """The start model of a provider; "" if none is known."""
        start = self._program.catalog.provider(provider).start
        if start:
            return start
        listed = self._program.catalog.models(provider)
        return next((facts.id for facts in listed if facts.lifecycle is not Lifecycle.RETIRED), "")

    def rows(self, *, every: bool = False) -> Sequence[ProviderInfo]:
        """Rows for the first screen; with ``every``, also one for each provider without a key."""
        ready = {spec.provider: spec for spec in self.ready()}
        found: list[ProviderInfo] = []
        for provider in self._program.catalog.providers().values():
            spec = ready.get(provider.id)
            if provider.id in self._sources:
                detail = _key_found(self._sources[provider.id])
                found.append(_row(provider, detail, spec))
            elif provider.id in self._servers:
                from tui.providers.redacted_request import shown_url

                where = f"{count(len(self._servers[provider.id]), 'model')} at {shown_url(provider.base_url)}"
                found.append(_row(provider, where, spec))
            elif provider.starts_models and self._local:
                found.append(_row(provider, self._no_local or count(len(self._local), "model"), spec))
            elif provider.id in self._logins:
                detail = f"{self._logins[provider.id]} found: used if you choose one of its models"
                found.append(_row(provider, detail, None))
            elif provider.id in self._problems:
                detail = self._problems[provider.id]
                if all(row.detail != detail for row in found):  # an unreadable file is listed once, not per provider
                    found.append(_row(provider, detail, None))
            elif provider.id in FIRST or (every and self._lacks_key(provider)):
                found.append(_row(provider, f"{NO_KEY}: {self._set_key_command} {provider.id}", None))
        return sorted(found, key=lambda row: not row.ready)

    def key_rows(self) -> Sequence[ProviderInfo]:
        """A row for each provider that takes a key, those with one first."""
        found: list[ProviderInfo] = []
        for provider in self._program.catalog.providers().values():
            source = self._sources.get(provider.id, "")
            takes_one = provider.auth is not AuthStyle.NONE and (provider.cloud is None or bool(provider.key_env))
            if source or (takes_one and provider.id != "demo" and not provider.local and not provider.starts_models):
                state = self.reason(provider).partition(": /")[0] or "works without a key"
                detail = _key_found(source) if source else state
                found.append(_row(provider, detail, None, ready=bool(source)))
        return sorted(found, key=lambda row: not row.ready)

    def _lacks_key(self, provider: ProviderFacts) -> bool:
        return self.reason(provider).startswith(NO_KEY)

    def without_key(self) -> int:
        """The number of providers that could be used with a key."""
        return sum(map(self._lacks_key, self._program.catalog.providers().values()))

    def others(self) -> dict[str, list[str]]:
        """Titles of providers not in ``rows``, by the reason they cannot be used ("" if they can)."""
        named = {row.provider for row in self.rows()}
        found: dict[str, list[str]] = {}
        for provider in self._program.catalog.providers().values():
            if provider.id not in {*named, *self._problems, "demo"}:
                found.setdefault(self.reason(provider).partition(":")[0], []).append(provider.title)
        return found

    def merge_cached_lists(self, *providers: str) -> None:
        """Add cached model lists to the catalogue. Reads files: before the screen is shown only if it must be."""
        from tui.providers.model_lists import ListCache, merge_cached_lists

        lists = ListCache(self._program.paths.cache)
        self._program.planner.change_catalog(lambda catalog: merge_cached_lists(catalog, lists, providers or None))

    async def refresh(self, provider: ProviderFacts) -> int:
        """Fetch a provider's model list; returns the number of models."""
        if provider.starts_models:
            await asyncio.to_thread(self.look_for_local_models)
            return len(self._local)
        from tui.providers.backend import transport_maker
        from tui.providers.model_discovery import Discovery
        from tui.providers.model_lists import ListCache, merge_model_lists

        transport = transport_maker(limits=network_limits(self._program.layers), environ=self._program.environment)
        discovery = Discovery(self._program.keys, transport, ListCache(self._program.paths.cache), time.time)
        listing = await asyncio.wrap_future(self._program.engine.call(discovery.ask(provider)))
        self._program.planner.change_catalog(lambda catalog: merge_model_lists(catalog, [listing]))
        return sum(len(models) for models in listing.rows.values())


def _key_found(source: str) -> str:
    """``ANTHROPIC_API_KEY found``, ``credentials.toml found``; the doctor prints the whole path."""
    where = Path(source).name if Path(source).is_absolute() else source.removeprefix("environment ")
    return f"{where} found"


def _row(provider: ProviderFacts, detail: str, spec: ModelSpec | None, *, ready: bool | None = None) -> ProviderInfo:
    from tui.domain.listing import ProviderInfo

    ready = spec is not None if ready is None else ready
    return ProviderInfo(provider=provider.id, title=provider.title, ready=ready, detail=detail, spec=spec)
