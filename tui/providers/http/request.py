"""Builds HTTP requests from encoded requests: URL, headers, key, and the provider's limits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field, replace

from tui import __version__
from tui.catalog.facts import AuthStyle, ProviderFacts
from tui.domain.assemble import whole_text
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import WireName
from tui.providers.http.address import join_url
from tui.providers.http.deadlines import RequestLimits
from tui.providers.keys import FoundKey, KeyLocation
from tui.wires.json_text import dumps
from tui.wires.wire import EncodedRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """A complete HTTP request."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    method: str = "POST"


def http_request(
    provider: ProviderFacts, encoded: EncodedRequest, key: FoundKey | None, *, path: str = "chat"
) -> HttpRequest:
    """Return the HTTP request; ``path`` is the key in ``provider.paths`` of a path that replaces the wire's."""
    url = join_url(provider.base_url, provider.paths.get(path, encoded.path))
    headers, body = public_headers(provider, encoded), _body(encoded.body)
    if key is not None and key.signer is not None:
        headers |= key.signer.headers(encoded.method, url, headers, body)
    else:
        headers |= _key_header(provider, key)
    return HttpRequest(url=url, headers=headers, body=body, method=encoded.method)


def public_headers(provider: ProviderFacts, encoded: EncodedRequest | None = None) -> dict[str, str]:
    """Return all headers except the key's; beta lists of provider and wire are joined."""
    headers = {
        "user-agent": f"ponder/{__version__}",
        "accept": "text/event-stream, application/json",
        "content-type": "application/json",
    }
    for source in (encoded.headers if encoded else {}, provider.headers):
        for name, value in source.items():
            _put(headers, name.lower(), value)
    return headers


def _put(headers: dict[str, str], name: str, value: str) -> None:
    if not name.isascii() or not value.isascii() or not (name + value).isprintable():
        raise ProviderError(
            ErrorKind.INVALID_REQUEST,
            f"The header `{name[:60]}` has a character that is not allowed in headers.",
            advice="Correct `headers` of this provider in `config.toml`.",
        )
    if name == "anthropic-beta" and headers.get(name):
        value = ",".join(dict.fromkeys([*headers[name].split(","), *value.split(",")]))
    headers[name] = value


def _key_header(provider: ProviderFacts, key: FoundKey | None) -> dict[str, str]:
    if key is None:
        return {}
    if key.location is KeyLocation.CLOUD:
        return {"authorization": f"Bearer {key.secret.reveal()}", **key.headers}
    match provider.auth:
        case AuthStyle.BEARER:
            return {"authorization": f"Bearer {key.secret.reveal()}"}
        case AuthStyle.X_API_KEY | AuthStyle.X_GOOG_API_KEY:
            return {provider.auth.value: key.secret.reveal()}
        case AuthStyle.API_KEY:
            return {"api-key": key.secret.reveal(), "x-api-key": key.secret.reveal()}
        case AuthStyle.NONE:
            return {}


def _body(body: Mapping[str, object]) -> bytes:
    """Return JSON as bytes; a lone surrogate becomes U+FFFD. Raises ProviderError for values JSON cannot express."""
    try:
        return whole_text([dumps(body)]).encode()
    except (ValueError, TypeError, RecursionError):
        raise ProviderError(
            ErrorKind.INVALID_REQUEST,
            "The request cannot be written as JSON: a number is not finite, or a value is of no JSON type.",
            advice="Check temperature, top_p and `extra_body` of this provider.",
        ) from None


_VERSIONS = {WireName.OPENAI_CHAT: "/v1", WireName.OPENAI_RESPONSES: "/v1", WireName.GEMINI: "/v1beta"}
"""The usual end of base URLs for these wires, which users often forget."""


def with_version(provider: ProviderFacts) -> ProviderFacts | None:
    """Return the provider with the version added to its base URL, or None if it has one or needs none."""
    version = _VERSIONS.get(provider.wire)
    if version is None or re.search(r"/v\d", provider.base_url) or "chat" in provider.paths:
        return None
    return replace(provider, base_url=join_url(provider.base_url, version))


def other_header(provider: ProviderFacts) -> ProviderFacts | None:
    """Return the provider with the key in the other usual header; None for packaged providers."""
    if provider.source.startswith("packaged"):
        return None
    if provider.auth is AuthStyle.BEARER:
        own = {WireName.ANTHROPIC: AuthStyle.X_API_KEY, WireName.GEMINI: AuthStyle.X_GOOG_API_KEY}.get(provider.wire)
        return None if own is None else replace(provider, auth=own)
    return None if provider.auth is AuthStyle.NONE else replace(provider, auth=AuthStyle.BEARER)


def limits_for(provider: ProviderFacts, limits: RequestLimits) -> RequestLimits:
    """Return the limits for a provider: its own timeouts, if it has any, replace the general ones."""
    if provider.idle_timeout_s is not None:
        limits = replace(
            limits, idle_s=provider.idle_timeout_s, meaning_s=max(limits.meaning_s, provider.idle_timeout_s)
        )
    if provider.header_timeout_s is not None:
        limits = replace(limits, header_s=provider.header_timeout_s, private_header_s=provider.header_timeout_s)
    return limits
