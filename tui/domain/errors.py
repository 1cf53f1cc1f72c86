"""All exceptions of the program.

PonderError
├─ ProviderError        a provider or the connection to it failed (``kind`` says how)
├─ UnknownModel         a model name matches no model, or several
├─ ConfigError          a configuration file or value is invalid (file, line, nearest valid value)
├─ StoreError           an operation of the session store failed
│  ├─ StoreBusy           another process has locked the store
│  ├─ StoreFull           the disk is full
│  └─ StoreReadOnly       no permission, read-only file system, newer schema
├─ CompressionError     a summary cannot be used; the history is unchanged
├─ ToolError            a tool failed; the message is sent to the model
├─ BudgetReached        a request was not sent because of a spending limit
└─ UsageError           the command line or a slash command is invalid

Each has ``message`` (what happened) and ``advice`` (what to do). Neither contains an API key.
"""

from __future__ import annotations

from enum import StrEnum


class PonderError(Exception):
    """Base class of all exceptions of the program."""

    def __init__(self, message: str, *, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice


class ErrorKind(StrEnum):
    """How a provider or the connection to it failed."""

    AUTH = "auth"
    NO_KEY = "no_key"
    PERMISSION = "permission"
    BILLING = "billing"
    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"
    SERVER = "server"
    TIMEOUT = "timeout"
    CONFLICT = "conflict"
    NOT_FOUND = "not_found"
    INVALID_REQUEST = "invalid_request"
    UNSUPPORTED = "unsupported"
    """The model does not accept a parameter; ``param`` is its name if the provider gave it."""
    INVALID_SIGNATURE = "bad_seal"
    """The provider refused a signature, encrypted content or reasoning that was sent back."""
    THINKING_MISSING = "thinking_missing"
    """The model requires thinking of an earlier answer that was not sent back."""
    CONTEXT_OVERFLOW = "context_overflow"
    TOO_LARGE = "too_large"
    CONTENT_FILTER = "content_filter"
    CONNECT = "connect"
    TLS = "tls"
    NETWORK = "network"
    """The connection was lost during a request."""
    REDIRECT = "redirect"
    NOT_A_STREAM = "not_a_stream"
    """The response is an HTML page or something else that is not from a model server."""
    TRUNCATED = "truncated"
    """The stream ended without the wire's end marker."""
    BAD_FRAME = "bad_frame"
    STALLED = "stalled"
    EMPTY = "empty"
    OTHER = "other"


NO_LOGIN = "no_login"
"""Code of an error of the kind NO_KEY that a typed key does not solve: a login at a cloud is missing."""

RETRYABLE_KINDS = frozenset(
    {
        ErrorKind.RATE_LIMIT,
        ErrorKind.OVERLOADED,
        ErrorKind.SERVER,
        ErrorKind.TIMEOUT,
        ErrorKind.CONFLICT,
        ErrorKind.CONNECT,
        ErrorKind.NETWORK,
        ErrorKind.TRUNCATED,
        ErrorKind.STALLED,
    }
)


class ProviderError(PonderError):
    """A provider or the connection to it failed. ``message`` is the provider's text, made printable."""

    def __init__(  # noqa: PLR0913 - independent facts about an error, keyword-only but the first two
        self,
        kind: ErrorKind,
        message: str,
        *,
        status: int | None = None,
        code: str | None = None,
        param: str | None = None,
        retryable: bool | None = None,
        retry_after_s: float | None = None,
        request_id: str | None = None,
        finish_raw: str | None = None,
        output_room: int | None = None,
        advice: str = "",
    ) -> None:
        super().__init__(message, advice=advice)
        self.kind = kind
        self.status = status
        self.code = code
        self.param = param
        self.retryable = kind in RETRYABLE_KINDS if retryable is None else retryable
        self.retry_after_s = retry_after_s
        self.request_id = request_id
        self.finish_raw = finish_raw
        """The finish reason as the wire spelled it, if it reported a failure."""
        self.output_room = output_room
        """The largest output limit that the server accepts, if it refused a larger one."""

    def __repr__(self) -> str:
        return f"ProviderError({self.kind.value}, {self.message!r}, status={self.status})"


class UnknownModel(PonderError):
    """A name matches no model, or several. ``nearest`` are the names the user may have meant."""

    def __init__(self, message: str, *, nearest: tuple[str, ...] = ()) -> None:
        super().__init__(message, advice="Did you mean " + ", ".join(nearest) + "?" if nearest else "")
        self.nearest = nearest


class ConfigError(PonderError):
    """A configuration file or setting is invalid."""

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        key: str | None = None,
        nearest: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message, advice="Did you mean " + ", ".join(nearest) + "?" if nearest else "")
        self.file = file
        self.line = line
        self.column = column
        self.key = key
        self.nearest = nearest


class StoreError(PonderError):
    """An operation of the session store failed."""


class StoreBusy(StoreError):
    """Another process has locked the store."""


class StoreFull(StoreError):
    """The disk is full."""


class StoreReadOnly(StoreError):
    """The store is not writable: permissions, a read-only file system, or a newer schema."""


class CompressionError(PonderError):
    """A summary cannot be used (empty, truncated, not smaller). The history is unchanged."""


class ToolError(PonderError):
    """A tool failed. The message is sent to the model."""


class BudgetReached(PonderError):
    """A request was not sent: it may exceed a spending limit, and the user did not allow it."""

    def __init__(
        self,
        message: str,
        *,
        advice: str = "",
        scope: str | None = None,
        limit: float | None = None,
        spent: float | None = None,
        may_cost: float | None = None,
    ) -> None:
        super().__init__(message, advice=advice)
        self.scope = scope
        """run, turn, session or day."""
        self.limit = limit
        """Dollars."""
        self.spent = spent
        """Dollars, including what running requests may cost at most; None if unknown."""
        self.may_cost = may_cost
        """The most the request may cost, in dollars; None if unknown."""


class SchemaMismatch(PonderError):
    """The answer does not fit the JSON Schema that was asked for."""


class UsageError(PonderError):
    """The command line or a slash command is invalid."""
