"""Classifies a provider's error: its kind, whether a retry can help, and a sentence of advice.

An unambiguous code or type decides first, then an unambiguous status, then the text of the message. Phrases for a
rate limit are searched before phrases for a full context window, because "too many tokens" is used for both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from tui.domain.errors import RETRYABLE_KINDS, ErrorKind, ProviderError
from tui.domain.lazy_regex import lazy_regex
from tui.wires.errors.body import ErrorParts, page_title, read_error
from tui.wires.errors.phrases import (
    BILLING,
    CONTENT_FILTER,
    CONTEXT_OVERFLOW,
    INVALID_SIGNATURE,
    KIND_OF_CODE,
    NO_KEY_OR_WRONG,
    NO_SUCH_MODEL,
    NOT_TAKEN,
    OVERLOADED,
    RATE_LIMIT,
    THINKING_MISSING,
    TIMED_OUT,
    refused_parameter,
)
from tui.wires.json_text import child, children, text
from tui.wires.wire import ErrorResponse

CAP = 500
"""Longest error text shown, in characters."""
READ_AT_MOST = 8000
"""Characters of a text that are examined, so that a huge one costs little."""

_ESCAPES = lazy_regex(r"\x1b\[[0-?]{0,32}[ -/]{0,8}[@-~]|\x1b\][^\x07\x1b]{0,512}(?:\x07|\x1b\\)?|\x1b.")
_CONTROLS = lazy_regex(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]+"
)
_SPACES = lazy_regex(r"\s{2,}")
_SECRETS = lazy_regex(
    r"""
      \b(?:sk|pk|rk)-[A-Za-z0-9_*-]{8,}            # OpenAI, Anthropic, OpenRouter …
    | \b(?:gsk|csk|hf|xai|nvapi|pplx|r8|fw|tgp_v1)[_-][A-Za-z0-9_*-]{8,}
    | \bAIza[0-9A-Za-z_*-]{20,}
    | \bAKIA[0-9A-Z]{16}
    | \bgh[pousr]_[A-Za-z0-9]{8,}
    | \bgithub_pat_[A-Za-z0-9_]{8,}
    | \bxox[abprs]-[A-Za-z0-9-]{8,}
    | \beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_.-]{10,}
    | -----BEGIN\ [A-Z ]{0,40}PRIVATE\ KEY-----[^-]{0,6000}(?:-----END[A-Z -]{0,48})?
    """,
    re.X,
)
_AFTER_A_WORD = lazy_regex(
    r"((?:bearer|authorization:?|x-api-key:?|api[_ -]?key(?: provided)?[=:]|[?&](?:api[_-]?)?key=|token=)\s{0,3}[\"']?)"
    r"(?!bearer\b|is\b|not\b|was\b|http)([^\s\"'&,;]{6,})",
    re.I,
)
_IN_A_URL = lazy_regex(r"(://[^\s:/@]{1,256}):[^\s:/@]{1,256}@")


def printable_error(text: str) -> str:
    """Return the text on one line, without control characters and keys, at most ``CAP`` characters long."""
    text = _ESCAPES.sub("", text[:READ_AT_MOST])
    text = without_secrets(_SPACES.sub(" ", _CONTROLS.sub(" ", text)).strip())
    return text if len(text) <= CAP else text[: CAP - 1] + "…"


def without_secrets(text: str) -> str:
    """Return ``text`` with everything that looks like a key replaced by stars."""
    text = _SECRETS.sub(_starred, text)
    text = _IN_A_URL.sub(r"\1:***@", text)
    return _AFTER_A_WORD.sub(lambda found: found[1] + _masked(found[2]), text)


def _starred(found: re.Match[str]) -> str:
    return _masked(found[0])


def _masked(word: str) -> str:
    """Replace a word by stars, unless the provider has masked it already."""
    return word if "**" in word else "***"


SET_A_KEY = "`ponder auth set NAME`"
"""``NAME`` is replaced by the provider's id where it is known."""
ADVICE = {
    ErrorKind.AUTH: f"The key was refused: {SET_A_KEY} sets another.",
    ErrorKind.NO_KEY: f"Set a key with {SET_A_KEY}.",
    ErrorKind.PERMISSION: "This account, region or network may not use it: choose another model or check the account.",
    ErrorKind.BILLING: "The account has no quota or credit left: waiting will not help; check its billing page.",
    ErrorKind.RATE_LIMIT: "Too many requests or tokens for now: wait a little, or choose another model.",
    ErrorKind.OVERLOADED: "The provider is overloaded: try again shortly, or choose another model.",
    ErrorKind.SERVER: "Server error at the provider: try again.",
    ErrorKind.TIMEOUT: "The provider took too long: try again.",
    ErrorKind.CONFLICT: "The provider is still processing the same request: try again.",
    ErrorKind.NOT_FOUND: "Check the model's name with `ponder models`, and the provider's base URL.",
    ErrorKind.INVALID_REQUEST: "The provider rejected the request; `/context` shows what was sent.",
    ErrorKind.UNSUPPORTED: "The model does not accept this parameter: change or unset its setting.",
    ErrorKind.INVALID_SIGNATURE: "The provider refused the thinking of earlier answers.",
    ErrorKind.THINKING_MISSING: (
        "The model requires its earlier thinking: `/set reasoning.includeInContext auto` and "
        "`/set reasoning.stripFromContext none` send it."
    ),
    ErrorKind.CONTEXT_OVERFLOW: "The conversation is too long for this model: `/compress` it.",
    ErrorKind.TOO_LARGE: "The request has too many bytes: remove images or long tool results.",
    ErrorKind.CONTENT_FILTER: "The provider's content filter stopped this: reword it.",
    ErrorKind.NOT_A_STREAM: "This is not the provider's answer: check the base URL, proxy and network.",
    ErrorKind.BAD_FRAME: "The server sent invalid data: try again.",
}
"""What the user can do, by kind; shown below the message."""

NEVER_AGAIN = frozenset({400, 401, 402, 403, 404, 405, 413, 422})
"""Statuses that are not retried, whatever the text says: the same request would fail again."""

_KIND_OF_STATUS = {
    401: ErrorKind.AUTH,
    402: ErrorKind.BILLING,
    408: ErrorKind.TIMEOUT,
    409: ErrorKind.CONFLICT,
    425: ErrorKind.CONFLICT,
    504: ErrorKind.TIMEOUT,
    522: ErrorKind.TIMEOUT,
    524: ErrorKind.TIMEOUT,
    529: ErrorKind.OVERLOADED,
}
_LAST_RESORT = {
    403: ErrorKind.PERMISSION,
    404: ErrorKind.NOT_FOUND,
    405: ErrorKind.NOT_FOUND,
    413: ErrorKind.TOO_LARGE,
    429: ErrorKind.RATE_LIMIT,
    503: ErrorKind.OVERLOADED,
}
_MAY_BE_ABOUT_OUTPUT = frozenset(
    {ErrorKind.CONTEXT_OVERFLOW, ErrorKind.INVALID_REQUEST, ErrorKind.UNSUPPORTED, ErrorKind.TOO_LARGE}
)
"""Kinds that an error about the output limit may be classified as."""
_REQUEST_IDS = ("x-request-id", "request-id", "x-generation-id", "x-oneapi-request-id", "cf-ray")
_NO_HEADERS: Mapping[str, str] = {}
_TEXT_RULES: tuple[tuple[re.Pattern[str], ErrorKind], ...] = (
    (BILLING, ErrorKind.BILLING),
    (THINKING_MISSING, ErrorKind.THINKING_MISSING),
    (INVALID_SIGNATURE, ErrorKind.INVALID_SIGNATURE),
    (RATE_LIMIT, ErrorKind.RATE_LIMIT),
    (CONTEXT_OVERFLOW, ErrorKind.CONTEXT_OVERFLOW),
    (CONTENT_FILTER, ErrorKind.CONTENT_FILTER),
    (OVERLOADED, ErrorKind.OVERLOADED),
    (NOT_TAKEN, ErrorKind.UNSUPPORTED),
    (NO_KEY_OR_WRONG, ErrorKind.AUTH),
    (NO_SUCH_MODEL, ErrorKind.NOT_FOUND),
    (TIMED_OUT, ErrorKind.TIMEOUT),
)


def _retry_hint(
    headers: Mapping[str, str], body: object = None, message: str = "", *, status: int | None = None
) -> float | None:
    from tui.wires.errors.retry_after import retry_hint  # needed for errors only

    return retry_hint(headers, body, message, status=status)


def provider_error(  # noqa: PLR0913 - each is an independent fact of a refusal, all by name
    *,
    status: int | None,
    message: str,
    code: str | None = None,
    type_: str | None = None,
    param: str | None = None,
    headers: Mapping[str, str] = _NO_HEADERS,
    retry_after_s: float | None = None,
    request_id: str | None = None,
) -> ProviderError:
    """Return the error for a provider's message; ``status`` is None if it was reported inside a stream."""
    status = _status(status, code)
    kind = error_kind(status=status, message=message, code=code, type_=type_)
    room = None
    if kind in _MAY_BE_ABOUT_OUTPUT:
        from tui.wires.errors.phrases import output_room  # needed for errors only

        room = output_room(message)
    if kind is ErrorKind.UNSUPPORTED:
        param = param or refused_parameter(message[:2000])
    if retry_after_s is None:
        retry_after_s = _retry_hint(headers, None, message, status=status)
    if request_id is None:
        request_id = next((headers[name] for name in _REQUEST_IDS if headers.get(name)), None)
    return ProviderError(
        kind,
        printable_error(message) or _no_message(status, code or type_),
        status=status,
        code=printable_error(code or type_ or "") or None,
        param=printable_error(param) if param else None,
        retryable=_retryable(kind, status, headers),
        retry_after_s=retry_after_s,
        request_id=printable_error(request_id) if request_id else None,
        output_room=room,
        advice=ADVICE.get(kind, ""),
    )


def reported_error(parts: ErrorParts) -> ProviderError:
    """Return the error for one that was reported inside a stream."""
    hint = _retry_hint(_NO_HEADERS, parts.body, parts.message)
    return provider_error(
        status=None,
        message=parts.message,
        code=parts.code,
        type_=parts.type,
        param=parts.param,
        retry_after_s=hint,
    )


def refusal_of(reply: ErrorResponse) -> ProviderError:
    """Return the error for an HTTP error response: JSON of any shape, an HTML page, plain text, or an empty body."""
    parts = read_error(reply.body)
    if parts is None:
        title = page_title(reply.body)
        if title is not None:
            return _page(reply, title)
        parts = ErrorParts(message=_plain_words(reply))
    if parts.body is not None and _per_day_quota(parts.body):
        parts = replace(parts, type="insufficient_quota", code="insufficient_quota")
    return provider_error(
        status=reply.status,
        message=parts.message,
        code=parts.code,
        type_=parts.type,
        param=parts.param,
        headers=reply.headers,
        retry_after_s=_retry_hint(reply.headers, parts.body, parts.message, status=reply.status),
    )


def _plain_words(reply: ErrorResponse) -> str:
    searched = reply.body[:2000].decode("utf-8", "replace").strip()
    return searched if "\ufffd" not in searched else ""


def _page(reply: ErrorResponse, title: str) -> ProviderError:
    kind = ErrorKind.PERMISSION if reply.status == 403 else ErrorKind.NOT_A_STREAM
    retryable = reply.status >= 500
    named = printable_error(title)
    return ProviderError(
        kind,
        f"The server sent an HTML page instead of an answer (HTTP {reply.status}){': ' + named if named else ''}",
        status=reply.status,
        retryable=retryable,
        retry_after_s=_retry_hint(reply.headers, status=reply.status) if retryable else None,
        advice=ADVICE[ErrorKind.NOT_A_STREAM],
    )


def _per_day_quota(body: object) -> bool:
    """Whether the exceeded Google quota is counted per day, so that waiting does not help."""
    if isinstance(body, list):
        body = body[0] if body else None
    for detail in children(child(body, "error"), "details"):
        if text(detail, "@type").endswith("QuotaFailure"):
            for violation in children(detail, "violations"):
                if "PerDay" in text(violation, "quotaId") or violation.get("quotaValue") in ("0", 0):
                    return True
    return False


def error_kind(*, status: int | None, message: str, code: str | None = None, type_: str | None = None) -> ErrorKind:
    """Return the kind of error. See the module's docstring for the order of the rules."""
    searched = message[:8000]
    by_code = _by_code(code, type_)
    if by_code is not None and not _says_less(by_code, status):
        return by_code
    if status in _KIND_OF_STATUS:
        return _KIND_OF_STATUS[status]
    by_text = _by_text(status, searched)
    return by_text or by_code or _by_status(status)


def _status(status: int | None, code: str | None) -> int | None:
    """Return the HTTP status; errors inside a stream often have it as their code."""
    if status is not None and status >= 300:
        return status
    return int(code) if code and code.isascii() and code.isdigit() and 400 <= int(code[:6]) <= 599 else None


def _by_code(code: str | None, type_: str | None) -> ErrorKind | None:
    for word in (code, type_):
        kind = KIND_OF_CODE.get(word.strip().lower()) if word else None
        if kind is not None:
            return kind
    return None


_VAGUE = frozenset(
    {
        ErrorKind.INVALID_REQUEST,
        ErrorKind.RATE_LIMIT,
        ErrorKind.SERVER,
        ErrorKind.PERMISSION,
        ErrorKind.NOT_FOUND,
        ErrorKind.TOO_LARGE,
    }
)
"""Kinds whose codes providers also use for more specific errors, so the text is examined before the code counts."""


def _says_less(kind: ErrorKind, status: int | None) -> bool:
    return kind in _VAGUE or (kind is ErrorKind.AUTH and status not in (None, 401))


def _by_text(status: int | None, searched: str) -> ErrorKind | None:
    for phrase, kind in _TEXT_RULES:
        if phrase.search(searched) and _plausible(kind, status):
            return kind
    return None


def _plausible(kind: ErrorKind, status: int | None) -> bool:
    """Whether a kind found in the text is possible with this status."""
    if status is None or status in (400, 422):
        return True
    if status >= 500:
        return kind in (
            ErrorKind.CONTEXT_OVERFLOW,
            ErrorKind.OVERLOADED,
            ErrorKind.RATE_LIMIT,
            ErrorKind.INVALID_SIGNATURE,
        )
    if status == 404:
        return kind is ErrorKind.INVALID_SIGNATURE
    if status == 403:
        return kind in (ErrorKind.BILLING, ErrorKind.CONTENT_FILTER, ErrorKind.AUTH)
    return kind not in (ErrorKind.NOT_FOUND, ErrorKind.AUTH, ErrorKind.UNSUPPORTED, ErrorKind.TIMEOUT)


def _by_status(status: int | None) -> ErrorKind:
    if status is None:
        return ErrorKind.OTHER
    if status in _LAST_RESORT:
        return _LAST_RESORT[status]
    if status >= 500:
        return ErrorKind.SERVER
    return ErrorKind.REDIRECT if status < 400 else ErrorKind.INVALID_REQUEST


def _retryable(kind: ErrorKind, status: int | None, headers: Mapping[str, str]) -> bool:
    asked = headers.get("x-should-retry", "").strip().lower()
    if asked in ("true", "false"):
        return asked == "true"
    return kind in RETRYABLE_KINDS and status not in NEVER_AGAIN


def _no_message(status: int | None, code: str | None) -> str:
    known = f"HTTP status {status}" if status else "no status"
    return f"The provider gave no reason ({known}{', ' + printable_error(code) if code else ''})"
