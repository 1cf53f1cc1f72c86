"""HTTP as far as it is needed: open, time out, cap, yield bytes. Every fault leaves as a ProviderError.

One stream per client: a client that is shared and cancelled while connecting leaks its slots. A client that ended
cleanly is kept for the next request to the same server; any other is thrown away, which is cheap because the TLS
context is built once.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path

from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.printable import one_line
from tui.domain.value import dataclass
from tui.providers.address import checked, proxy_for, proxy_name
from tui.providers.http_faults import FOREIGN, Way, translated
from tui.providers.http_library import httpx
from tui.providers.inflate import Inflate
from tui.providers.patience import Limits, Over, Patience
from tui.providers.read_ahead import ReadAhead
from tui.providers.redact import quiet_http_loggers
from tui.providers.request_head import HttpRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    """What an in-process server gives back."""

    status: int
    headers: Mapping[str, str]
    body: AsyncGenerator[bytes, None]


InProcess = Callable[[HttpRequest], Awaitable[HttpAnswer]]
"""A server that lives in this process; it is spoken to through the same client as any other."""


class HttpResponse:
    """An answer whose head has come."""

    def __init__(self, response: httpx.Response, way: Way, limits: Limits) -> None:
        self.status = response.status_code
        self.headers: dict[str, str] = {name.lower(): value for name, value in response.headers.items()}
        self.ended = False
        """The body came to its end: the connection is clean."""
        self.patience = Patience(limits, way.server)
        self._ahead = ReadAhead(_stream_of(response), self.patience)
        self._way = way
        self._limits = limits
        self._received = 0

    async def chunks(self, *, cap: int | None = None) -> AsyncGenerator[bytes, None]:
        """The body as it comes, inflated where the server compressed it; more than ``cap`` bytes is an error."""
        cap = self._limits.stream_bytes if cap is None else cap
        encoding = self.headers.get("content-encoding", "identity").strip().lower()
        inflate = None if encoding in ("", "identity") else Inflate(encoding)
        while (raw := await self._next_raw()) is not None:
            for chunk in (raw,) if inflate is None else inflate.feed(raw):
                room = cap - self._received
                self._received += len(chunk)
                if len(chunk) <= room:
                    yield chunk
                    continue
                if room:
                    yield chunk[:room]
                raise ProviderError(
                    ErrorKind.TOO_LARGE, f"{self._way.server} sent more than {cap // 1024:,} KB: too much to be true."
                )

    async def _next_raw(self) -> bytes | None:
        try:
            raw = await self._ahead.take()
        except Over:
            return None
        except FOREIGN as fault:
            progress = f"after {self._received:,} bytes" if self._received else "before the answer began"
            raise translated(fault, self._way, progress=progress) from None
        self.ended = raw is None
        return raw

    async def hang_up(self) -> None:
        """Read no further."""
        await self._ahead.aclose()

    async def whole(self, cap: int) -> bytes:
        """The whole body; more than ``cap`` bytes is an error."""
        return b"".join([chunk async for chunk in self.chunks(cap=cap)])

    async def head(self, cap: int) -> bytes:
        """The first ``cap`` bytes of the body, however it ends: for reading an error, which nobody waits for long."""
        self.patience.end_came(self._limits.after_end_s)
        pieces, size = [], 0
        with suppress(ProviderError):
            async with aclosing(self.chunks()) as chunks:
                async for chunk in chunks:
                    pieces.append(chunk)
                    size += len(chunk)
                    if size >= cap:
                        break
        return b"".join(pieces)[:cap]


class Transport:
    """The way out. Lives on one event loop."""

    def __init__(
        self,
        *,
        limits: Limits | None = None,
        environ: Mapping[str, str] | None = None,
        plain_http: Collection[str] = (),
        in_process: Mapping[str, InProcess] | None = None,
    ) -> None:
        quiet_http_loggers()
        self._limits = limits or Limits()
        self._environ = environ
        self._in_process = dict(in_process or {})
        self._plain_http = frozenset({*plain_http, *self._in_process})
        self._idle: dict[str, httpx.AsyncClient] = {}
        self._tls: ssl.SSLContext | None = None

    @asynccontextmanager
    async def open(self, request: HttpRequest, *, limits: Limits | None = None) -> AsyncIterator[HttpResponse]:
        """Send, and wait for the head of the answer. Redirects are errors: the key goes nowhere else."""
        limits = limits or self._limits
        address = checked(request.url, plain_http=self._plain_http)
        proxy = proxy_for(address, self._environ)
        way = Way(address=address, proxy=proxy_name(proxy) if proxy else None)
        place = f"{address.secure}:{address.name}:{way.proxy}"
        client, response = await self._send_once_or_twice(place, request, way, limits)
        answer = HttpResponse(response, way, limits)
        clean = False
        try:
            _refuse_redirect(answer, way)
            yield answer
            clean = answer.ended
        finally:
            try:
                await answer.hang_up()
            finally:
                await self._put_back(place, client, response, clean=clean)

    async def _send_once_or_twice(
        self, place: str, request: HttpRequest, way: Way, limits: Limits
    ) -> tuple[httpx.AsyncClient, httpx.Response]:
        """A kept connection may have been closed just now: then, and only then, once more on a fresh one."""
        kept = self._idle.pop(place, None)
        if kept is not None:
            with suppress(_KeptConnectionGone):
                return kept, await self._send(kept, request, way, limits, kept=True)
        fresh = await self._client(way, limits)
        return fresh, await self._send(fresh, request, way, limits, kept=False)

    async def _send(
        self, client: httpx.AsyncClient, request: HttpRequest, way: Way, limits: Limits, *, kept: bool
    ) -> httpx.Response:
        header_s = limits.private_header_s if way.address.private else limits.header_s
        sent = False
        try:
            async with asyncio.timeout(header_s or None):
                outgoing = client.build_request(
                    request.method, request.url, headers=request.headers, content=request.body
                )
                outgoing.headers["accept-encoding"] = "identity"
                response = await client.send(outgoing, stream=True)
                sent = True
                return response
        except TimeoutError:
            raise ProviderError(ErrorKind.TIMEOUT, f"No response from {way.server} in {header_s:g} s.") from None
        except FOREIGN as fault:
            if kept and isinstance(fault, httpx.RemoteProtocolError | httpx.NetworkError):
                raise _KeptConnectionGone from None
            error = translated(fault, way, progress="before the answer began")
            if error.kind is ErrorKind.TLS:
                await _name_issuer(error, way)
            raise error from None
        finally:
            if not sent:
                await _closed(client)

    async def _client(self, way: Way, limits: Limits) -> httpx.AsyncClient:
        timeout = httpx.Timeout(
            connect=limits.connect_s or None, write=limits.write_s or None, pool=limits.pool_s or None, read=None
        )
        server = self._in_process.get(way.address.host)
        proxy = proxy_for(way.address, self._environ)
        try:
            return httpx.AsyncClient(
                transport=None if server is None else _InProcessTransport(server),
                proxy=None if proxy is None or server is not None else proxy.geturl(),
                verify=await self._context() if way.address.secure and server is None else False,
                timeout=timeout,
                follow_redirects=False,
                trust_env=False,
                limits=httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=30.0),
            )
        except FOREIGN as fault:
            raise translated(fault, way, progress="before the answer began") from None

    async def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            try:
                self._tls = await asyncio.to_thread(_system_trust)
            except (OSError, ValueError):
                raise ProviderError(
                    ErrorKind.TLS,
                    "The certificates in SSL_CERT_FILE or SSL_CERT_DIR cannot be read.",
                    advice="Point SSL_CERT_FILE to a file of certificates in PEM form, or unset it.",
                ) from None
        return self._tls

    async def _put_back(self, place: str, client: httpx.AsyncClient, response: httpx.Response, *, clean: bool) -> None:
        with suppress(*FOREIGN):
            await response.aclose()
        if clean and place not in self._idle:
            self._idle[place] = client
        else:
            await _closed(client)

    async def aclose(self) -> None:
        """Close what is kept."""
        while self._idle:
            await _closed(self._idle.popitem()[1])


class _KeptConnectionGone(Exception):
    """The server had closed the connection we kept."""


class _InProcessTransport(httpx.AsyncBaseTransport):
    """httpx in front, an InProcess server behind."""

    def __init__(self, server: InProcess) -> None:
        self._server = server

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = await self._server(
            HttpRequest(
                url=str(request.url), headers=dict(request.headers), body=await request.aread(), method=request.method
            )
        )
        return httpx.Response(answer.status, headers=dict(answer.headers), stream=_Body(answer.body))


class _Body(httpx.AsyncByteStream):
    def __init__(self, pieces: AsyncGenerator[bytes, None]) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._pieces:
            yield piece

    async def aclose(self) -> None:
        await self._pieces.aclose()


async def _name_issuer(error: ProviderError, way: Way) -> None:
    """Say whose certificate it was, so that a company's own inspection is recognised."""
    from tui.providers.issuer import issuer_of

    issuer = None if way.proxy else await issuer_of(way.address.host, way.address.port)
    if issuer is not None:
        error.message += f' It was issued by "{issuer}".'
        error.args = (error.message,)


async def _closed(client: httpx.AsyncClient) -> None:
    with suppress(*FOREIGN):
        await client.aclose()


def _stream_of(response: httpx.Response) -> httpx.AsyncByteStream:
    """The bytes as they come; what ``aiter_raw`` lays over them costs as much per piece as our own reading."""
    stream = response.stream
    assert isinstance(stream, httpx.AsyncByteStream)  # the client is an asynchronous one
    return stream


def _refuse_redirect(answer: HttpResponse, way: Way) -> None:
    if not 300 <= answer.status < 400:
        return
    target = answer.headers.get("location", "")
    try:
        host = one_line(httpx.URL(target).host, 100) if target else ""
    except FOREIGN:
        host = ""
    raise ProviderError(
        ErrorKind.REDIRECT,
        f"{way.server} wants the request sent to `{host or 'another place'}` instead. It was not followed.",
        status=answer.status,
        advice="If that is right, set the new address as `base_url` of this provider.",
    )


def _system_trust() -> ssl.SSLContext:
    """The system's certificates (or SSL_CERT_FILE and SSL_CERT_DIR); certifi's where the system has none."""
    paths = ssl.get_default_verify_paths()
    context = ssl.create_default_context()
    places = [place for place in (paths.cafile, paths.capath) if place]
    if not any(Path(place).exists() for place in places) and not context.cert_store_stats()["x509_ca"]:
        import certifi

        context.load_verify_locations(certifi.where())
    return context
