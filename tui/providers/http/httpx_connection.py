"""A connection over HTTP with httpx, the translation of its errors, and decompression. Other modules import httpx here.

Each connection has its own client: a shared client that is cancelled while connecting leaks pool slots. Errors become
ProviderErrors with own sentences; messages of libraries are not quoted. Not loaded for a server in this process.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
import socket
import ssl
import sys
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult

from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.lazy_ssl import complete_asyncio
from tui.domain.printable import one_line
from tui.providers.http.connection import RawResponse, Route
from tui.providers.http.deadlines import RequestLimits
from tui.providers.http.request import HttpRequest

# httpx tries to import its command line, which would import click, rich and pygments if they are installed, and
# continues without it. None in sys.modules makes that import fail.
if "httpx" not in sys.modules:
    sys.modules["httpx._main"] = None  # type: ignore[assignment]  # how Python marks what cannot be imported

import httpx

from tui.providers.http.paced_stream import PacedStream
from tui.providers.http.upload_rescue import RescuedStream, in_pieces

complete_asyncio()
if sys.modules.get("httpx._main", httpx) is None:
    del sys.modules["httpx._main"]

__all__ = ["HttpxConnection", "httpx", "system_trust"]


class HttpxConnection:
    """Implements ``Connection`` with httpx."""

    def __init__(self, limits: RequestLimits, proxy: SplitResult | None, tls: ssl.SSLContext | None) -> None:
        """``tls`` is None for plain HTTP. Raises one of ``transport_errors()`` for a proxy that cannot be used."""
        self._client = httpx.AsyncClient(
            proxy=None if proxy is None else proxy.geturl(),
            verify=False if tls is None else tls,
            timeout=httpx.Timeout(
                connect=limits.connect_s or None, write=limits.write_s or None, pool=limits.pool_s or None, read=None
            ),
            follow_redirects=False,
            trust_env=False,
            limits=httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=30.0),
        )
        self._answered_s = limits.answered_s

    async def send(self, request: HttpRequest) -> RawResponse:
        """Send a request and wait for the headers of the response."""
        body, length = request.body, {}
        if body is not None:
            length = {"content-length": str(len(body))}
        outgoing = self._client.build_request(
            request.method,
            request.url,
            headers={**request.headers, **length},
            content=None if body is None else in_pieces(body),
        )
        outgoing.headers["accept-encoding"] = "identity"
        outgoing.extensions["trace"] = self._wrap
        response = await self._client.send(outgoing, stream=True)
        headers: Mapping[str, str] = {name.lower(): value for name, value in response.headers.items()}
        return RawResponse(
            status=response.status_code, headers=headers, body=_stream_of(response), aclose=response.aclose
        )

    def was_closed_by_server(self, fault: Exception) -> bool:
        """Whether the connection was reset or closed before the headers came."""
        return isinstance(fault, httpx.RemoteProtocolError | httpx.NetworkError)

    async def aclose(self) -> None:
        """Close the connection."""
        await self._client.aclose()

    async def _wrap(self, event: str, info: Mapping[str, Any]) -> None:
        """Put our streams around the socket; httpcore calls this for what happens to a connection."""
        if event == "connection.connect_tcp.complete":
            stream = info["return_value"]
            stream._stream = RescuedStream(PacedStream(stream._stream), self._answered_s)


def _stream_of(response: httpx.Response) -> httpx.AsyncByteStream:
    """Return the raw byte stream: ``aiter_raw`` would double the cost per piece."""
    stream = response.stream
    assert isinstance(stream, httpx.AsyncByteStream)  # the client is an asynchronous one
    return stream


def system_trust() -> ssl.SSLContext:
    """Return a context with the system's certificates (or SSL_CERT_FILE, SSL_CERT_DIR), else those of certifi.

    Raises OSError where one of the variables names nothing usable: OpenSSL says nothing, and reading a pipe never ends.
    """
    file, folders = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if file and not Path(file).is_file():
        raise FileNotFoundError(file)
    if folders and not any(Path(folder).is_dir() for folder in folders.split(os.pathsep)):
        raise NotADirectoryError(folders)
    paths = ssl.get_default_verify_paths()
    context = ssl.create_default_context()
    if file and not context.cert_store_stats()["x509"]:
        raise ssl.SSLError("no certificate")
    locations = [location for location in (paths.cafile, paths.capath) if location]
    if not any(Path(location).exists() for location in locations) and not context.cert_store_stats()["x509_ca"]:
        import certifi

        context.load_verify_locations(certifi.where())
    return context


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


STEP = 256 * 1024
"""Bytes decompressed at a time; memory use exceeds the caller's limit by at most this."""


class Inflate:
    """Decompresses chunks. An early end is not an error here; the decoder checks for the end marker."""

    def __init__(self, encoding: str) -> None:
        if encoding not in ("gzip", "x-gzip", "deflate"):
            raise ProviderError(
                ErrorKind.NOT_A_STREAM, "The server compressed its answer in a way it was asked not to use."
            )
        self._inflater = zlib.decompressobj(zlib.MAX_WBITS | 32)

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the decompressed bytes of a chunk in steps."""
        while chunk and not self._inflater.eof:
            try:
                step = self._inflater.decompress(chunk, STEP)
            except zlib.error:
                raise ProviderError(ErrorKind.NETWORK, "The compressed answer is damaged.", retryable=True) from None
            chunk = self._inflater.unconsumed_tail
            if step:
                yield step
