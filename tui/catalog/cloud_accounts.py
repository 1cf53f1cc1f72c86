"""Fills the addresses of clouds: ``{region}``, ``{project}`` and the like in the base URLs of their providers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlsplit

from tui.catalog.facts import Cloud, ProviderFacts
from tui.domain.lazy_regex import lazy_regex

_PLACEHOLDER = lazy_regex(r"\{([a-z]+)\}")
_VALUE = lazy_regex(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,99}")
"""What may be put into an address: a value with a slash or ``@`` would name another host."""
_AZURE_HOSTS = (".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com")
_MULTI_REGIONS = ("us", "eu")


def account_from_environment(provider: ProviderFacts, environment: Mapping[str, str]) -> ProviderFacts:
    """Return the provider with what its variables say about the account; the user's settings win."""
    found = {
        name: value
        for name, variables in provider.account_env.items()
        if (value := next((environment[variable] for variable in variables if environment.get(variable)), ""))
    }
    return with_account(provider, {**found, **provider.account})


def with_account(provider: ProviderFacts, account: Mapping[str, str]) -> ProviderFacts:
    """Return the provider with this account, and as much of its addresses as it fills."""
    values = {name: _in_address(provider, value) for name, value in account.items()}
    if provider.cloud is Cloud.GOOGLE:
        location = values.setdefault("location", "global")
        values["endpoint"] = _google_host(location) if _VALUE.fullmatch(location) else ""
    return replace(
        provider,
        account=dict(account),
        base_url=_filled(provider.base_url, values),
        bases={wire: _filled(url, values) for wire, url in provider.bases.items()},
    )


def unfilled(url: str) -> tuple[str, ...]:
    """Return the names that an address still lacks."""
    return tuple(dict.fromkeys(_PLACEHOLDER.findall(url)))


def _filled(url: str, values: Mapping[str, str]) -> str:
    def value(found: re.Match[str]) -> str:
        given = values.get(found[1], "")
        return given if _VALUE.fullmatch(given) else found[0]

    return _PLACEHOLDER.sub(value, url)


def _in_address(provider: ProviderFacts, value: str) -> str:
    """The name of an Azure resource may be given as its address, as the portal shows it."""
    value = value.strip()
    if provider.cloud is not Cloud.AZURE or "://" not in value:
        return value
    host = urlsplit(value).hostname or ""
    ending = next((ending for ending in _AZURE_HOSTS if host.endswith(ending)), None)
    return "" if ending is None else host.removesuffix(ending)


def _google_host(location: str) -> str:
    if location == "global":
        return "aiplatform.googleapis.com"
    if location in _MULTI_REGIONS:
        return f"aiplatform.{location}.rep.googleapis.com"
    return f"{location}-aiplatform.googleapis.com"
