"""Translates connection errors into ProviderErrors with own sentences; library messages are not quoted."""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Iterator

from tui.domain.errors import ErrorKind, ProviderError
from tui.providers.http.connection import Route
from tui.providers.http.httpx_import import httpx

_UNREACHABLE = {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN}


def translate_error(fault: BaseException, route: Route, *, progress: str) -> ProviderError:
    """Return the ProviderError for one of ``transport_errors()``; ``progress`` says when it happened."""
    if isinstance(fault, httpx.RemoteProtocolError):
        return _not_http(fault, route, progress)
    if isinstance(fault, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError):
        return _not_connected(fault, route)
    for known, kind, sentence in _BROKEN:
        if isinstance(fault, known):
            return ProviderError(kind, sentence.format(server=route.server, progress=progress))
    if isinstance(fault, ImportError):
        return _not_sendable(route, "this kind of proxy is not supported; use an http:// proxy")
    if isinstance(fault, ExceptionGroup | OSError):
        return _not_connected(fault, route)
    return _not_sendable(route, "address or headers have something that HTTP cannot carry")


_BROKEN: tuple[tuple[type[BaseException], ErrorKind, str], ...] = (
    (httpx.PoolTimeout, ErrorKind.NETWORK, "There is no free connection to {server}."),
    (httpx.WriteTimeout, ErrorKind.TIMEOUT, "{server} stopped taking the request in."),
    (httpx.ReadTimeout, ErrorKind.TIMEOUT, "{server} did not answer in time."),
    (httpx.NetworkError, ErrorKind.NETWORK, "The connection to {server} was reset {progress}."),
)


def _not_sendable(route: Route, why: str) -> ProviderError:
    return ProviderError(
        ErrorKind.INVALID_REQUEST,
        f"The request to {route.server} could not be sent: {why}.",
        advice="Check `base_url`, `headers` and the proxy of this provider.",
    )


def _not_http(fault: BaseException, route: Route, progress: str) -> ProviderError:
    if "buffer" in str(fault).lower() or "too long" in str(fault).lower():
        return ProviderError(ErrorKind.TOO_LARGE, f"{route.server} sent headers of an absurd size.")
    return ProviderError(ErrorKind.NETWORK, f"{route.server} broke off {progress}.")


def _not_connected(fault: BaseException, route: Route) -> ProviderError:
    for cause in _causes(fault):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return _not_trusted(cause, route)
    return ProviderError(ErrorKind.CONNECT, _why_not(fault, route), advice=route.advice)


def _why_not(fault: BaseException, route: Route) -> str:
    if isinstance(fault, httpx.ConnectTimeout):
        return f"No connection to {route.server} in time."
    for cause in _causes(fault):
        if isinstance(cause, ssl.SSLError):
            return f"{route.server} does not agree on a secure connection."
        if isinstance(cause, socket.gaierror):
            return f"No address is known for `{route.proxy or route.address.host}`."
        if isinstance(cause, ConnectionRefusedError):
            return f"{route.server} refused the connection."
        if isinstance(cause, OSError) and cause.errno in _UNREACHABLE:
            return f"There is no route to {route.server}."
    return f"No connection to {route.server}."


def _not_trusted(fault: ssl.SSLCertVerificationError, route: Route) -> ProviderError:
    # OpenSSL's short phrase, such as "certificate has expired"; it contains no user data.
    reason = fault.verify_message or "its certificate is not trusted"
    return ProviderError(
        ErrorKind.TLS,
        f"No trusted connection to {route.server}: {reason}.",
        advice="If your company or network puts its own certificate in between, point SSL_CERT_FILE to its CA bundle.",
    )


def _causes(fault: BaseException) -> Iterator[BaseException]:
    """Yield an exception and all its causes, including members of groups."""
    waiting, seen = [fault], set[int]()
    while waiting:
        cause = waiting.pop(0)
        if id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        waiting += [before for before in (cause.__cause__, cause.__context__) if before is not None]
        if isinstance(cause, BaseExceptionGroup):
            waiting += cause.exceptions
