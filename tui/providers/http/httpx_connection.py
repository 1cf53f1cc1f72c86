"""A connection over HTTP, and the import of httpx without its command line.

Each connection has its own client: a shared client that is cancelled while connecting leaks pool slots.
Other modules import httpx from here.
"""

from __future__ import annotations

import os
import ssl
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import SplitResult

from tui.providers.http.connection import RawResponse
from tui.providers.http.deadlines import Limits
from tui.providers.http.request import HttpRequest

# httpx tries to import its command line, which would import click, rich and pygments if they are installed, and
# continues without it. None in sys.modules makes that import fail.
if "httpx" not in sys.modules:
    sys.modules["httpx._main"] = None  # type: ignore[assignment]  # how Python marks what cannot be imported

import httpx

if sys.modules.get("httpx._main", httpx) is None:
    del sys.modules["httpx._main"]

__all__ = ["HttpxConnection", "httpx", "system_trust"]


class HttpxConnection:
    """Implements ``Connection`` with httpx."""

    def __init__(self, limits: Limits, proxy: SplitResult | None, tls: ssl.SSLContext | None) -> None:
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

    async def send(self, request: HttpRequest) -> RawResponse:
        """Send a request and wait for the headers of the response."""
        outgoing = self._client.build_request(
            request.method, request.url, headers=request.headers, content=request.body
        )
        outgoing.headers["accept-encoding"] = "identity"
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
    places = [place for place in (paths.cafile, paths.capath) if place]
    if not any(Path(place).exists() for place in places) and not context.cert_store_stats()["x509_ca"]:
        import certifi

        context.load_verify_locations(certifi.where())
    return context
