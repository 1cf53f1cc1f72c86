"""Every exception of the program.

PonderError
├─ ProviderError        a provider, or the way to it, failed (``kind`` says how)
├─ UnknownModel         a model name that fits nothing, or too much
├─ ConfigError          a file or value of the user's is wrong (file, line, nearest right one)
├─ StoreError           the session store could not do it
│  ├─ StoreBusy           another program holds it
│  ├─ StoreFull           no room on the disk
│  └─ StoreReadOnly       no permission, read-only file system, newer schema
├─ CompressionError     a summary was of no use; the history is as it was
├─ ToolError            a tool could not do it; the text goes to the model
└─ UsageError           the command line or slash command is wrong

Each carries ``message`` (what happened) and ``advice`` (what to do); neither ever holds a key.
"""

from __future__ import annotations

from enum import StrEnum


class PonderError(Exception):
    """Root of the tree."""

    def __init__(self, message: str, *, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice


class ErrorKind(StrEnum):
    """How a provider, or the way to it, failed."""

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
    """A parameter the model does not take; ``param`` names it where the provider did."""
    BAD_SEAL = "bad_seal"
    """Signature, encrypted content or reasoning sent back was refused."""
    THINKING_MISSING = "thinking_missing"
    """Thinking of an earlier answer was not sent back, and the model requires it."""
    CONTEXT_OVERFLOW = "context_overflow"
    TOO_LARGE = "too_large"
    CONTENT_FILTER = "content_filter"
    CONNECT = "connect"
    TLS = "tls"
    NETWORK = "network"
    """The connection broke while in use."""
    REDIRECT = "redirect"
    NOT_A_STREAM = "not_a_stream"
    """An HTML page or something else that no model server says."""
    TRUNCATED = "truncated"
    """The stream ended without the wire's own end."""
    BAD_FRAME = "bad_frame"
    STALLED = "stalled"
    EMPTY = "empty"
    OTHER = "other"


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
    """A provider, or the way to it, failed. ``message`` is in the provider's words, made printable."""

    def __init__(  # noqa: PLR0913 - each is an independent fact of a refusal, all but the first two by name
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
        """The wire's own word for the end, where the end it told was a failure."""
        self.output_room = output_room
        """The largest output limit the server would have accepted, where it refused a larger one."""

    def __repr__(self) -> str:
        return f"ProviderError({self.kind.value}, {self.message!r}, status={self.status})"


class UnknownModel(PonderError):
    """A name that fits no model, or several; ``nearest`` are the names the user may have meant."""

    def __init__(self, message: str, *, nearest: tuple[str, ...] = ()) -> None:
        super().__init__(message, advice="Did you mean " + ", ".join(nearest) + "?" if nearest else "")
        self.nearest = nearest


class ConfigError(PonderError):
    """Something in a file or a setting of the user's is wrong."""

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
    """The session store could not do it."""


class StoreBusy(StoreError):
    """Another program holds the store."""


class StoreFull(StoreError):
    """There is no room on the disk."""


class StoreReadOnly(StoreError):
    """The store cannot be written: permissions, a read-only file system, or a newer schema."""


class CompressionError(PonderError):
    """A summary was of no use (empty, cut, not smaller); the history is as it was."""


class ToolError(PonderError):
    """A tool could not do it; the message is what the model is told."""


class UsageError(PonderError):
    """The command line or a slash command is wrong."""
