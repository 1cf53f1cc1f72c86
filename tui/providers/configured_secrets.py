"""Finds the secrets in the user's configuration, so that the redactor knows them before anything is shown or logged."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from urllib.parse import unquote_plus

from tui.catalog.facts import Cloud, ProviderFacts
from tui.domain.errors import PonderError
from tui.providers.keys import Keys
from tui.providers.redaction import (
    SHORTEST_LITERAL,
    Redactor,
    Secret,
    config_secrets,
    holds_secret,
    parameter_holds_secret,
    url_parts,
)

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_NAMED = re.compile(r"-{0,2}([\w.-]+)\s*[:=]\s*(.+)", re.DOTALL)
"""``--token=abc``, ``TOKEN=abc``, ``Authorization: Bearer abc``."""


CLOUD_SECRETS: Mapping[Cloud | None, tuple[str, ...]] = {
    Cloud.AWS: ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN"),
    Cloud.AZURE: ("AZURE_CLIENT_SECRET", "AZURE_CLIENT_CERTIFICATE_PASSWORD", "AZURE_PASSWORD", "IDENTITY_HEADER"),
}
"""Variables of cloud logins that are secret themselves."""


def learn_all_keys(keys: Keys, providers: Iterable[ProviderFacts]) -> None:
    """Register the keys of all providers from environment, keyring and credentials file. Blocking."""
    for provider in providers:
        with suppress(PonderError):  # a key that cannot be read was never used
            keys.find(provider)


def learn_environment(redactor: Redactor, providers: Iterable[ProviderFacts], environment: Mapping[str, str]) -> None:
    """Register the keys of all providers in the environment, also of those that nothing was asked of."""
    for provider in providers:
        for name in (*provider.key_env, *CLOUD_SECRETS.get(provider.cloud, ())):
            redactor.remember(Secret(environment.get(name, "").strip()))


def learn_variables(redactor: Redactor, environment: Mapping[str, str]) -> None:
    """Register every variable that is secret by its name, and those of cloud logins.

    Commands that print a key and the packages of clouds get the whole environment, and log and quote what they like.
    """
    named = {name for names in CLOUD_SECRETS.values() for name in names}
    for name, value in environment.items():
        if name in named or holds_secret(name):
            redactor.remember(Secret(value.strip()))


def learn_configured(
    redactor: Redactor,
    providers: Iterable[ProviderFacts],
    mcp: Mapping[str, object],
    environment: Mapping[str, str],
) -> None:
    """Register the secrets of the user's providers and MCP servers, including the values of ``${NAME}`` in them."""
    for provider in providers:
        for value in (*config_secrets(provider), *_brought_in(provider.headers.values(), environment)):
            redactor.remember(Secret(value))
    servers = mcp.get("servers")
    for server in servers.values() if isinstance(servers, Mapping) else ():
        if isinstance(server, Mapping):
            for value in server_secrets(server, environment):
                redactor.remember(Secret(value))


def server_secrets(server: Mapping[str, object], environment: Mapping[str, str]) -> set[str]:
    """Return the secrets in an MCP server's variables, headers, client, arguments and URL."""
    found: set[str] = set()
    for key in ("env", "headers", "oauth"):
        table = server.get(key)
        items = table.items() if isinstance(table, Mapping) else ()
        rows = {str(name): value for name, value in items if isinstance(value, str)}
        found.update(_brought_in(rows.values(), environment))
        for name, value in rows.items():
            if holds_secret(name):
                found.update(_with_last_word(_expanded(value, environment)))
            else:
                found.update(_in_word(value))
    arguments = server.get("args")
    texts = [word for word in arguments if isinstance(word, str)] if isinstance(arguments, list | tuple) else []
    for before, word in zip(("", *texts), texts, strict=False):
        if before.startswith("-") and "=" not in before and holds_secret(before):
            found.update(_with_last_word(word))
        found.update(_in_word(word))
    url = server.get("url")
    found.update(_in_word(url) if isinstance(url, str) else ())
    return {value for value in found if len(value) >= SHORTEST_LITERAL}


def _in_word(word: str) -> Iterator[str]:
    """Yield the secrets in one argument or value, recognised by the names in it."""
    named = _NAMED.fullmatch(word)
    if named is not None and holds_secret(named[1]):
        yield from _with_last_word(named[2])
    if "://" in word:
        _, user, _, query = url_parts(word)
        yield from (user, user.partition(":")[2])
        for parameter in query.split("&"):
            name, _, value = parameter.partition("=")
            if parameter_holds_secret(name):
                yield from (value, unquote_plus(value))


def _with_last_word(value: str) -> tuple[str, str]:
    """Return ``Bearer abc`` and ``abc``."""
    return value, value.split(" ")[-1]


def _brought_in(values: Iterable[str], environment: Mapping[str, str]) -> Iterator[str]:
    for value in values:
        yield from (environment.get(name, "") for name in _VARIABLE.findall(value))


def _expanded(value: str, environment: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda found: environment.get(found[1], ""), value)
