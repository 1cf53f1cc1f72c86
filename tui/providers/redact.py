"""Takes keys out of text: by the name of the field, by the value of every key we loaded, by the shape of known keys."""

from __future__ import annotations

import base64
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus, unquote_plus

from tui.domain.errors import PonderError
from tui.domain.late_pattern import late_pattern
from tui.providers.secret import Secret, masked

if TYPE_CHECKING:
    from tui.catalog.facts import ProviderFacts

SHORTEST_LITERAL = 6
"""Shorter values would take ordinary words out of ordinary text."""

_NAMES = (
    r"authorization|proxy-authorization|x-api-key|x-goog-api-key|api[-_]?key|apikey|access[-_]?token|refresh[-_]?token"
    r"|auth[-_]?token|client[-_]?secret|secret|password|passwd|cookie|set-cookie|token|key"
)
_FIELD_NAME = late_pattern(rf"(?:{_NAMES})\Z", re.IGNORECASE)
_ENDS_SECRETIVE = late_pattern(
    r"(?:(?:\A|[-_.])(?i:key|token|secret|auth|authorization|password|passphrase|cookie|credentials?|signature)"
    r"|[a-z](?:Key|Token|Secret|Password))\Z"
)
_JSON_FIELD = late_pattern(rf'("(?:{_NAMES})"\s*:\s*")((?:[^"\\]|\\.)+)(")', re.IGNORECASE)
_HEADER_LINE = late_pattern(
    r"((?:authorization|x-api-key|x-goog-api-key|proxy-authorization|set-cookie|cookie)['\"]?\s*[:=]\s*b?['\"]?)"
    r"((?:(?:bearer|basic)\s+)?[^\s'\",]+)",
    re.IGNORECASE,
)
_PARAMETER = late_pattern(rf"([?&](?:{_NAMES})=)([^&#\s\"']+)", re.IGNORECASE)
_SHAPES = late_pattern(
    r"sk-[A-Za-z0-9_-]{20,}|AIza[0-9A-Za-z_-]{35}|AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{16,}"
    r"|xox[abpr]-[A-Za-z0-9-]{10,}|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
)
_BEARER = late_pattern(r"(Bearer )(\S{16,})")
_USER_PASSWORD = late_pattern(r"(://)([^/\s:@]+:[^/\s@]+)(@)")


def is_secret_name(name: str) -> bool:
    """Whether a header, field or parameter of this name holds a secret."""
    return _FIELD_NAME.match(name) is not None


def holds_secret(name: str) -> bool:
    """The same for names that users choose in their configuration: ``X-Proxy-Token``, ``subscriptionKey``."""
    return is_secret_name(name) or _ENDS_SECRETIVE.search(name) is not None


def config_secrets(provider: ProviderFacts) -> set[str]:
    """What a provider's row holds of secrets: in headers, in its addresses, in extra fields of the body."""
    found = {
        word for name, value in provider.headers.items() if holds_secret(name) for word in (value, value.split(" ")[-1])
    }
    for url in (provider.base_url, *provider.bases.values()):
        _, user, _, query = url_parts(url)
        found.update((user, user.partition(":")[2]))
        for parameter in query.split("&"):
            name, _, value = parameter.partition("=")
            if holds_secret(name):
                found.update((value, unquote_plus(value)))
    found.update(_secrets_in("", provider.extra_body))
    return {value for value in found if len(value) >= SHORTEST_LITERAL}


def _secrets_in(name: str, value: object) -> Iterator[str]:
    if isinstance(value, str) and holds_secret(name):
        yield value
    elif isinstance(value, Mapping):
        for inner, item in value.items():
            yield from _secrets_in(str(inner), item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _secrets_in(name, item)


def url_parts(url: str) -> tuple[str, str, str, str]:
    """Scheme with its slashes, user and password, host with path, query; the fragment is dropped."""
    scheme, mark, rest = url.partition("#")[0].partition("://")
    if not mark:
        scheme, rest = "", scheme
    rest, _, query = rest.partition("?")
    place, slash, path = rest.partition("/")
    user, _, host = place.rpartition("@")
    return scheme + mark, user, host + slash + path, query


class Redactor:
    """Knows the keys in use and cleans text of them."""

    def __init__(self, secrets: Iterable[Secret] = ()) -> None:
        self._spellings: dict[str, str] = {}
        self._literals: re.Pattern[str] | None = None
        for secret in secrets:
            self.remember(secret)

    def remember(self, secret: Secret) -> None:
        """From now on this value never gets through, however it is spelled."""
        value = secret.reveal()
        if len(value) < SHORTEST_LITERAL or value in self._spellings:
            return
        coded = base64.b64encode(value.encode()).decode()
        url_coded = base64.urlsafe_b64encode(value.encode()).decode()
        for spelling in (value, quote(value, safe=""), quote_plus(value), coded, coded.rstrip("="), url_coded):
            self._spellings[spelling] = masked(value)
        longest_first = sorted(self._spellings, key=len, reverse=True)
        self._literals = re.compile("|".join(map(re.escape, longest_first)))

    def clean(self, text: str) -> str:
        """Text without keys: loaded values first, then by name, then by shape."""
        text = self.clean_known(text)
        for pattern in (_JSON_FIELD, _HEADER_LINE, _PARAMETER, _BEARER, _USER_PASSWORD):
            text = pattern.sub(_masked_middle, text)
        return _SHAPES.sub("***", text)

    def clean_known(self, text: str) -> str:
        """Text without the values that are known."""
        if self._literals is None:
            return text
        return self._literals.sub(lambda match: self._spellings[match[0]], text)

    def clean_content(self, text: str) -> str:
        """A file or a page without keys, by value and by shape.

        Not by name: every ``"key": "…"`` of the user's own data would come to the model as stars, and go back into
        the file as such.
        """
        return _SHAPES.sub("***", _BEARER.sub(_masked_middle, self.clean_known(text)))

    def clean_fields(self, value: object) -> object:
        """A JSON value without keys, by field name and by value."""
        if isinstance(value, str):
            return self.clean(value)
        if isinstance(value, Mapping):
            return {
                name: masked(item) if isinstance(item, str) and is_secret_name(str(name)) else self.clean_fields(item)
                for name, item in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.clean_fields(item) for item in value]
        return value

    def clean_error(self, error: PonderError) -> None:
        """Clean an error's sentences in place."""
        error.message, error.advice = self.clean(error.message), self.clean(error.advice)
        error.args = (error.message,)


def _masked_middle(match: re.Match[str]) -> str:
    if match[2].startswith("***"):
        return match[0]
    return match[1] + masked(match[2]) + (match[3] if match.re.groups > 2 else "")


def quiet_http_loggers() -> None:
    """The HTTP libraries print whole URLs and headers below WARNING."""
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.WARNING)
