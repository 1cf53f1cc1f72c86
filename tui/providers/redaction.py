"""Keeps keys out of text: a string type that cannot be printed, and a redactor.

The redactor removes keys by the name of the field, by the value of every loaded key, and by known key formats.
"""

from __future__ import annotations

import base64
import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Self
from urllib.parse import quote, quote_plus, unquote_plus

from tui.domain.errors import PonderError
from tui.domain.lazy_regex import lazy_regex

if TYPE_CHECKING:
    from tui.catalog.facts import ProviderFacts


SHOWN = 4
"""Characters at the end that stay visible, so that the user can distinguish keys."""
SHORTEST_SHOWN = 12
"""Shorter keys are hidden completely: four characters would reveal too much."""


def masked(value: str) -> str:
    """Return the masked form of a key, the only one that may be shown."""
    return "***" + (value[-SHOWN:] if len(value) >= SHORTEST_SHOWN else "")


class Secret(str):
    """A string that equals its mask in repr, format, json and pickle; ``reveal`` returns the key."""

    __slots__ = ("_value",)
    _value: str

    def __new__(cls, value: str) -> Self:
        self = super().__new__(cls, masked(value))
        object.__setattr__(self, "_value", value)
        return self

    def reveal(self) -> str:
        """Return the key itself, which may be put into a request header only."""
        return self._value

    def __repr__(self) -> str:
        return str.__str__(self)

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str.__str__(self),)

    def __reduce_ex__(self, protocol: object) -> tuple[type[str], tuple[str]]:
        return self.__reduce__()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __eq__(self, other: object) -> bool:
        import hmac

        return isinstance(other, Secret) and hmac.compare_digest(self._value.encode(), other._value.encode())

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(("secret", self._value))


SHORTEST_LITERAL = 6
"""Shortest value that is redacted; shorter ones would match ordinary words."""

SHORTEST_DISGUISED = 12
"""Shortest value that is also found with blanks between its letters or in another letter case."""
_BETWEEN = "\\\"'\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"
"""Signs besides white space that a server may put between the letters of a key."""

_ESCAPE = lazy_regex(r"%[0-9A-F]{2}")
_NOT_PLAIN_IN_JSON = lazy_regex(r"[\"&'+<>`]")
_WORD = lazy_regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SECRETIVE = frozenset(
    (
        "key", "keys", "apikey", "token", "secret", "secrets", "auth", "authorization", "authentication", "password",
        "passwd", "passphrase", "passcode", "pass", "pwd", "pw", "psk", "cookie", "cookies", "credential",
        "credentials", "signature", "sig", "sas", "jwt", "bearer", "otp", "sid", "sessid", "assertion",
    )
)  # fmt: skip
"""Last words of field names that mean a secret."""
_SECRETIVE_ENDS = (
    "apikey", "accesskey", "authkey", "privatekey", "secretkey", "subscriptionkey",
    "accesstoken", "authtoken", "idtoken", "refreshtoken", "sessiontoken", "clientsecret", "password", "passwd",
)  # fmt: skip
_SECRETIVE_PARAMETERS = frozenset({"code", "ticket"})
"""Names that mean a secret only in a URL: in an error's JSON, ``code`` is not secret."""
_JSON_FIELD = lazy_regex(r'("([\w.$-]{1,80})"\s*:\s*")((?:[^"\\]|\\.)+)(")')
_JSON_FIELD_IN_TEXT = lazy_regex(r'(\\{1,7}"([\w.$-]{1,80})\\{1,7}"\s*:\s*\\{1,7}")([^"\\]+)')
_HEADER_LINE = lazy_regex(
    r"""(?<![\w-])(((?:[a-z0-9]+-)+[a-z0-9]+|authorization\w*|cookie|apikey|api_key)['"]?\s*[:=]\s*(?:b(?=['"]))?['"]?)"""
    r"""((?:digest|hawk|signature|negotiate|aws4-hmac-sha256|sharedaccesssignature)\s[^\r\n]+"""
    r"""|(?:(?:basic|bearer|token|apikey)\s+|[a-z]+\s(?=\S{16}))?[^\s'",]+)""",
    re.IGNORECASE,
)
_COOKIES = lazy_regex(r"""((cookie)['"]?\s*[:=]\s*(?:b(?=['"]))?['"]?)([^\r\n'"]+)""", re.IGNORECASE)
_VARIABLE_SET = lazy_regex(r"""(?<![\w])(([A-Za-z]\w{0,80})=['"]?)([^\s'"&]+)""")
_PARAMETER = lazy_regex(r"""([?&;]([\w.%$~-]{1,80})=)([^&#\s"']+)""")
_SHAPES = lazy_regex(
    r"sk-[A-Za-z0-9_-]{20,}|AIza[0-9A-Za-z_-]{35}|AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{16,}"
    r"|xox[abpr]-[A-Za-z0-9-]{10,}|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
)
_BEARER = lazy_regex(r"(Bearer )(\S{16,})")
_USER_PASSWORD = lazy_regex(r"(://)([^/\s:@]+:[^/\s@]+)(@)")


def holds_secret(name: str) -> bool:
    """Whether a header, field or variable of this name is secret, such as ``X-Proxy-Token``, ``subscriptionKey``."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not words:
        return False
    return (
        words[-1] in _SECRETIVE
        or words[-1].endswith(_SECRETIVE_ENDS)
        or words[-2:] == ["session", "id"]
        or any(word.startswith("authoriz") for word in words)
    )


def parameter_holds_secret(name: str) -> bool:
    """Whether a URL parameter of this name is secret."""
    return name.lower() in _SECRETIVE_PARAMETERS or holds_secret(unquote_plus(name))


def config_secrets(provider: ProviderFacts) -> set[str]:
    """Return the secrets in a provider's headers, URLs and extra body fields."""
    found = {
        word for name, value in provider.headers.items() if holds_secret(name) for word in (value, value.split(" ")[-1])
    }
    for url in (provider.base_url, *provider.bases.values()):
        _, user, _, query = url_parts(url)
        found.update((user, user.partition(":")[2]))
        for parameter in query.split("&"):
            name, _, value = parameter.partition("=")
            if parameter_holds_secret(name):
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
    """Split a URL into scheme with slashes, user and password, host with path, and query, without the fragment."""
    scheme, mark, rest = url.partition("#")[0].partition("://")
    if not mark:
        scheme, rest = "", scheme
    rest, _, query = rest.partition("?")
    authority, slash, path = rest.partition("/")
    user, _, host = authority.rpartition("@")
    return scheme + mark, user, host + slash + path, query


class Redactor:
    """Stores the keys in use and removes them from text."""

    def __init__(self, secrets: Iterable[Secret] = ()) -> None:
        self._spellings: dict[str, str] = {}
        self._literals: re.Pattern[str] | None = None
        self._values: list[str] = []
        self._disguised: list[tuple[re.Pattern[str], str]] = []
        for secret in secrets:
            self.remember(secret)

    def remember(self, secret: Secret) -> None:
        """Register a value to be removed from now on, in all its encodings."""
        value = secret.reveal()
        if len(value) < SHORTEST_LITERAL or value in self._spellings:
            return
        if len(value) >= SHORTEST_DISGUISED:
            self._values.append(value)
        for spelling in (value, *_quoted(value), _as_in_html(value), *_coded(value)):
            # Servers quote their input as JSON, and as JSON within JSON.
            shown = masked(value)
            for _ in range(3):
                self._spellings[spelling] = shown
                for escaped in _otherwise_in_json(spelling):
                    self._spellings[escaped] = shown
                spelling, shown = _as_in_json(spelling), _as_in_json(shown)
        longest_first = sorted(self._spellings, key=len, reverse=True)
        self._literals = re.compile("|".join(map(re.escape, longest_first)))

    def clean(self, text: str) -> str:
        """Return the text without keys, found by value, by field name and by format."""
        text = self._clean_disguised(self.clean_known(text))
        for pattern in (_JSON_FIELD, _JSON_FIELD_IN_TEXT, _COOKIES, _HEADER_LINE, _VARIABLE_SET):
            text = pattern.sub(_masked_if_named_so, text)
        text = _PARAMETER.sub(_masked_parameter, text)
        for pattern in (_BEARER, _USER_PASSWORD):
            text = pattern.sub(_masked_middle, text)
        return _SHAPES.sub("***", text)

    def clean_known(self, text: str) -> str:
        """Return the text without registered values."""
        if self._literals is None:
            return text
        return self._literals.sub(lambda match: self._spellings[match[0]], text)

    def _clean_disguised(self, text: str) -> str:
        """Return the text without registered values in another letter case, with blanks or escapes between letters."""
        while self._values:  # compiled late: at start-up nothing is cleaned
            value = self._values.pop()
            self._disguised.append((_disguised(value), masked(value)))
        for pattern, shown in self._disguised:
            text = pattern.sub(lambda _, shown=shown: shown, text)  # type: ignore[misc]  # mypy cannot infer it
        return text

    def clean_content(self, text: str) -> str:
        """Return the content of a file or page without keys, found by value and by format.

        Field names are not used: every ``"key": "…"`` in the user's own data would reach the model as stars, and the
        model would write the stars into the file.
        """
        return _SHAPES.sub("***", _BEARER.sub(_masked_middle, self.clean_known(text)))

    def clean_fields(self, value: object) -> object:
        """Return a JSON value without keys, found by field name and by value."""
        if isinstance(value, str):
            return self.clean(value)
        if isinstance(value, Mapping):
            return {
                name: masked(item) if isinstance(item, str) and holds_secret(str(name)) else self.clean_fields(item)
                for name, item in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.clean_fields(item) for item in value]
        return value

    def clean_error(self, error: PonderError) -> None:
        """Remove keys from an error's message and advice in place."""
        error.message, error.advice = self.clean(error.message), self.clean(error.advice)
        error.args = (error.message,)


def _disguised(value: str) -> re.Pattern[str]:
    between = "".join(re.escape(sign) for sign in _BETWEEN if sign not in value)
    gap = rf"(?:[\s{between}]|\\[nrtfv]|\\u(?:00[01][0-9a-f]|00a[0d]|200[b-f]|2028|2029|feff))*"
    return re.compile(gap.join(map(_spellings, value)), re.IGNORECASE)


def _spellings(character: str) -> str:
    code = ord(character)
    coded = (
        rf"\\u{code:04x}|\\x{code:02x}|%{code:02x}|&\#0*{code};|&\#x0*{code:x};" if code < 0x100 else rf"\\u{code:04x}"
    )
    return rf"(?:{re.escape(character)}|{coded})"


def _quoted(value: str) -> set[str]:
    """Return the URL encodings of a value: whole or as a path, in a form, twice, and with small letters."""
    once = quote(value, safe="")
    found = {once, quote(value), quote_plus(value), quote(once, safe="")}
    return found | {_ESCAPE.sub(lambda escape: escape[0].lower(), text) for text in found}


def _coded(value: str) -> set[str]:
    """Return the value as base64, also as it stands within longer base64 (``user:KEY``)."""
    data = value.encode()
    found: set[str] = set()
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        whole = encode(data).decode()
        found |= {whole, whole.rstrip("=")}
        for before in range(3):
            # Letters at both ends also hold bits of what stands before and behind.
            inner = encode(bytes(before) + data).decode()[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
            found |= {inner} if len(inner) >= SHORTEST_LITERAL else set()
    return found


def _otherwise_in_json(text: str) -> set[str]:
    """Return the text as PHP and .NET write it in JSON."""
    small = _NOT_PLAIN_IN_JSON.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)
    large = _NOT_PLAIN_IN_JSON.sub(lambda sign: f"\\u{ord(sign[0]):04X}", text)
    return {text.replace("/", "\\/"), small, large} - {text}


def _as_in_html(text: str) -> str:
    for sign, name in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#x27;")):
        text = text.replace(sign, name)
    return text


def _as_in_json(text: str) -> str:
    return json.dumps(text)[1:-1]


def _masked_if_named_so(match: re.Match[str]) -> str:
    """Mask a match if its name is secret. Groups: prefix, name in the prefix, value, optional suffix."""
    if match[3].startswith("***") or not holds_secret(match[2]):
        return match[0]
    return match[1] + masked(match[3]) + (match[4] if match.re.groups > 3 else "")


def _masked_parameter(match: re.Match[str]) -> str:
    if match[3].startswith("***") or not parameter_holds_secret(match[2]):
        return match[0]
    return match[1] + masked(match[3])


def _masked_middle(match: re.Match[str]) -> str:
    if match[2].startswith("***"):
        return match[0]
    return match[1] + masked(match[2]) + (match[3] if match.re.groups > 2 else "")


def quiet_http_loggers() -> None:
    """Set the HTTP libraries' loggers to WARNING: below that they log whole URLs and headers."""
    for name in ("httpx", "httpcore", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.WARNING)
