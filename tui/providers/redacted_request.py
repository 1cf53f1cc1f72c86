"""A request as it may be seen: masked where the names in it, or values that are known, say that it holds a secret.

Whatever shows or exports a request does so through ``shown_request``, whatever shows an address through ``shown_url``.
"""

from __future__ import annotations

from collections.abc import Mapping

from tui.catalog.facts import AuthStyle, ProviderFacts
from tui.providers.keys.secret import Secret
from tui.providers.redaction import Redactor, config_secrets, holds_secret, parameter_holds_secret, url_parts

MASK = "***"


def shown_request(
    provider: ProviderFacts,
    *,
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: Mapping[str, object],
    redactor: Redactor | None = None,
) -> dict[str, object]:
    """``headers`` without the key's: that one is named here, with nothing in it."""
    secrets = [Secret(value) for value in config_secrets(provider)]
    known = Redactor(secrets)
    seen = {name: MASK if holds_secret(name) else value for name, value in headers.items()}
    if provider.auth is AuthStyle.BEARER:
        seen["authorization"] = f"Bearer {MASK}"
    elif provider.auth is not AuthStyle.NONE:
        seen[provider.auth.value] = MASK

    def clean(value: object) -> object:
        if isinstance(value, str):
            value = known.clean_known(value)
            return redactor.clean_known(value) if redactor is not None else value
        if isinstance(value, Mapping):
            return {name: clean(item) for name, item in value.items()}
        return [clean(item) for item in value] if isinstance(value, list | tuple) else value

    return {
        "method": method,
        "url": clean(shown_url(url)),
        "headers": clean(seen),
        "body": clean(_without_set_secrets(body, provider.extra_body)),
    }


def shown_url(url: str) -> str:
    """An address without user and password, and without what its parameters hold of secrets."""
    start, user, place, query = url_parts(url)
    parameters = [
        f"{name}={MASK}" if parameter_holds_secret(name) and value else name + ("=" + value if value else "")
        for name, _, value in (parameter.partition("=") for parameter in query.split("&"))
    ]
    return start + (f"{MASK}@" if user else "") + place + ("?" + "&".join(parameters) if query else "")


def _without_set_secrets(body: Mapping[str, object], extra: Mapping[str, object]) -> dict[str, object]:
    """The body, masked where the user's own ``extra_body`` put something secret; words of a chat are left alone."""
    seen = dict(body)
    for name, own in extra.items():
        if name in seen:
            seen[name] = _masked_like(name, seen[name], own)
    return seen


def _masked_like(name: str, value: object, own: object) -> object:
    if isinstance(value, Mapping) and isinstance(own, Mapping):
        return _without_set_secrets(value, own)
    if isinstance(value, list | tuple):
        return [_masked_like(name, item, item) for item in value]
    return MASK if holds_secret(name) and isinstance(value, str) else value
