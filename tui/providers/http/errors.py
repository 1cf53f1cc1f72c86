"""Translates connection errors into ProviderErrors with own sentences; library messages are not quoted."""

from __future__ import annotations

import asyncio
import errno
import re
import socket
import ssl
from collections.abc import Iterator
from contextlib import suppress

from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.printable import one_line
from tui.providers.http.connection import Route
from tui.providers.http.httpx_connection import httpx

NEEDS_PASSWORD = 407
INTERNAL_ERROR = 500
_STATUS = re.compile(r"(\d{3})\b")
"""At the beginning of httpx's message when a proxy refuses to connect."""
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
    return _not_sendable(route, "its address or headers have characters that HTTP does not allow")


_BROKEN: tuple[tuple[type[BaseException], ErrorKind, str], ...] = (
    (httpx.PoolTimeout, ErrorKind.NETWORK, "There is no free connection to {server}."),
    (httpx.WriteTimeout, ErrorKind.TIMEOUT, "{server} stopped reading the request."),
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
        return ProviderError(ErrorKind.TOO_LARGE, f"{route.server} sent headers that are too large.")
    return ProviderError(ErrorKind.NETWORK, f"{route.server} broke off {progress}.")


def _not_connected(fault: BaseException, route: Route) -> ProviderError:
    for cause in _causes(fault):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return _not_trusted(cause, route)
    if isinstance(fault, httpx.ProxyError) and (status := _STATUS.match(str(fault))):
        return _refused_by_proxy(int(status[1]), route)
    return ProviderError(ErrorKind.CONNECT, _why_not(fault, route), advice=route.advice)


def _refused_by_proxy(status: int, route: Route) -> ProviderError:
    """The proxy answered CONNECT with a status; only those of 500 and above may be different next time."""
    password = "It asks for a user and a password: HTTPS_PROXY holds them in front of the host, followed by @."
    return ProviderError(
        ErrorKind.CONNECT,
        f"The proxy `{route.proxy}` does not connect to `{route.address.name}`: HTTP status {status}.",
        retryable=status >= INTERNAL_ERROR,
        advice=password if status == NEEDS_PASSWORD else route.advice,
    )


def _why_not(fault: BaseException, route: Route) -> str:
    if isinstance(fault, httpx.ConnectTimeout):
        return f"No connection to {route.server} in time."
    for cause in _causes(fault):
        if isinstance(cause, ssl.SSLError):
            return f"{route.server} does not agree on a secure connection."
        if isinstance(cause, socket.gaierror):
            return f"There is no network address for `{route.proxy or route.address.host}`."
        if isinstance(cause, ConnectionRefusedError):
            return f"{route.server} refused the connection."
        if isinstance(cause, OSError) and cause.errno in _UNREACHABLE:
            return f"There is no route to {route.server}."
    return f"No connection to {route.server}."


def _not_trusted(fault: ssl.SSLCertVerificationError, route: Route) -> ProviderError:
    # OpenSSL's short phrase, such as "certificate has expired"; it contains no user data.
    reason = (fault.verify_message or "its certificate is not trusted").rstrip(".")
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


LIMIT_S = 3.0
_COMMON_NAME = b"\x55\x04\x03"
_ORGANISATION = b"\x55\x04\x0a"
_SEQUENCE, _OID, _VERSION = 0x30, 0x06, 0xA0


async def issuer_of(host: str, port: int) -> str | None:
    """Return the issuer's name, or None if it cannot be determined."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        async with asyncio.timeout(LIMIT_S):
            _, writer = await asyncio.open_connection(host, port, ssl=context, server_hostname=host)
            certificate = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
    except (OSError, TimeoutError, ValueError):
        return None
    return issuer_name(certificate or b"")


def issuer_name(certificate: bytes) -> str | None:
    """Return the issuer's common name or organisation from a DER certificate."""
    try:
        _, whole = next(_elements(certificate))
        _, signed = next(_elements(whole))
        fields = [element for element in _elements(signed) if element[0] != _VERSION]
        names = dict(_names(fields[2][1]))
    except (StopIteration, IndexError):
        return None
    name = names.get(_COMMON_NAME) or names.get(_ORGANISATION)
    return one_line(name.decode("utf-8", "replace"), 80) if name else None


def _names(issuer: bytes) -> Iterator[tuple[bytes, bytes]]:
    for _, group in _elements(issuer):
        for tag, pair in _elements(group):
            parts = list(_elements(pair))
            if tag == _SEQUENCE and len(parts) == 2 and parts[0][0] == _OID:
                yield parts[0][1], parts[1][1]


def _elements(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield tag and content of each DER element."""
    at = 0
    while at + 2 <= len(data):
        tag, size = data[at], data[at + 1]
        at += 2
        if size & 0x80:
            width = size & 0x7F
            size = int.from_bytes(data[at : at + width], "big")
            at += width
        yield tag, data[at : at + size]
        at += size
