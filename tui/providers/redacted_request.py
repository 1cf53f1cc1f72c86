"""Requests for display, with secrets masked by the names of fields and by known values.

All code that shows or exports a request uses ``shown_request``; for a URL, ``shown_url``.
"""

from __future__ import annotations

from collections.abc import Mapping

from tui.catalog.facts import AuthStyle, Cloud, ProviderFacts
from tui.providers.redaction import Redactor, Secret, config_secrets, holds_secret, parameter_holds_secret, url_parts

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
    """Return the masked request. ``headers`` must not contain the key's header: it is added here, masked."""
    secrets = [Secret(value) for value in config_secrets(provider)]
    known = Redactor(secrets)
    seen = {name: MASK if holds_secret(name) else value for name, value in headers.items()}
    if provider.cloud is Cloud.AWS:
        seen["authorization"] = MASK  # a signature, or a key
    elif provider.auth is AuthStyle.BEARER:
        seen["authorization"] = f"Bearer {MASK}"
    elif provider.auth is AuthStyle.API_KEY:
        seen |= {"api-key": MASK, "x-api-key": MASK}
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
    """Return a URL with user, password and secret parameters masked."""
    start, user, authority, query = url_parts(url)
    parameters = [
        f"{name}={MASK}" if parameter_holds_secret(name) and value else name + ("=" + value if value else "")
        for name, _, value in (parameter.partition("=") for parameter in query.split("&"))
    ]
    return start + (f"{MASK}@" if user else "") + authority + ("?" + "&".join(parameters) if query else "")


def _without_set_secrets(body: Mapping[str, object], extra: Mapping[str, object]) -> dict[str, object]:
    """Mask secrets in the fields that the user's ``extra_body`` added; the conversation is not changed."""
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
