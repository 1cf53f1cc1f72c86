"""Sends HTTP requests and yields response bytes within limits of time and size. Every error is a ProviderError.

Each stream has its own connection. A connection whose response ended cleanly is kept for the next request to the same
server; others are closed, which is cheap because the TLS context is built once. The HTTP library is imported for the
first server that is not in this process.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urljoin, urlsplit

from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.format_numbers import count
from tui.domain.printable import one_line
from tui.providers.http.address import Address, checked_url, proxy_for, proxy_name, require_nearby
from tui.providers.http.connection import (
    Connection,
    InProcess,
    InProcessConnection,
    RawResponse,
    Route,
    transport_errors,
)
from tui.providers.http.deadlines import DeadlineExceeded, Deadlines, RequestLimits
from tui.providers.http.request import HttpRequest
from tui.providers.redaction import quiet_http_loggers

if TYPE_CHECKING:
    import ssl

    from tui.providers.http.httpx_connection import Inflate


from collections.abc import AsyncIterable

from tui.providers.http.deadlines import Waiting

MOST_AHEAD = 256 * 1024
"""Bytes held for a busy caller; reading pauses above this."""


class ReadAhead:
    """Reads one body in a background task. Call ``take`` until it returns None, then ``aclose``, from one task.

    The HTTP library returns one piece per HTTP chunk, and providers send one chunk per word. Waiting, deadlines and
    decoding cost the same for one piece as for hundreds, so pieces are joined. A deadline can also end a wait without
    cancelling a task of the caller.
    """

    def __init__(self, stream: AsyncIterable[bytes], deadlines: Deadlines) -> None:
        self._stream = stream
        self._deadlines = deadlines
        self._loop = asyncio.get_running_loop()
        self._pieces: list[bytes] = []
        self._size = 0
        self._waiting: Waiting | None = None
        self._taken = asyncio.Event()
        self._reading: asyncio.Task[Exception | None] | None = None

    async def take(self) -> bytes | None:
        """Return all bytes received, waiting for at least one; None at the end. Raises what the HTTP library raised."""
        if self._reading is None:
            # No TaskGroup: it may not stay open across the yields of a generator. It is not needed: the task's
            # exception is raised below, and aclose() ends the task.
            self._reading = self._loop.create_task(self._read())
            self._reading.add_done_callback(self._wake)
        while not self._pieces:
            if self._reading.done():
                fault = self._reading.result()
                if fault is not None:
                    raise fault
                return None
            await self._wait_for_bytes()
        taken = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self._size = 0
        self._taken.set()
        return taken

    async def aclose(self) -> None:
        """Stop reading; afterwards the stream can be closed."""
        self._deadlines.pause()
        if self._reading is not None and not self._reading.done():
            self._reading.cancel()
            await asyncio.wait((self._reading,))

    async def _wait_for_bytes(self) -> None:
        self._waiting = waiting = self._loop.create_future()
        self._deadlines.watch(waiting)
        overdue = await waiting
        if overdue is not None:
            raise overdue

    async def _read(self) -> Exception | None:
        add = self._pieces.append
        try:
            async for piece in self._stream:
                add(piece)
                self._size += len(piece)
                if self._waiting is not None:
                    self._wake()
                if self._size > MOST_AHEAD:
                    self._taken.clear()
                    await self._taken.wait()
        except transport_errors() as fault:
            return fault
        return None

    def _wake(self, _: object = None) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not waiting.done():
            waiting.set_result(None)


class HttpResponse:
    """A response whose headers have arrived."""

    def __init__(self, response: RawResponse, route: Route, limits: RequestLimits) -> None:
        self.status = response.status
        self.headers = response.headers
        self.ended = False
        """Whether the body was read to its end, so that the connection can be reused."""
        self.deadlines = Deadlines(limits, route.server)
        self._ahead = ReadAhead(response.body, self.deadlines)
        self._route = route
        self._limits = limits
        self.received = 0
        """Bytes of the body so far, decompressed."""

    async def chunks(self, *, cap: int | None = None) -> AsyncGenerator[bytes, None]:
        """Yield the decompressed body; raises ProviderError after more than ``cap`` bytes."""
        cap = self._limits.stream_bytes if cap is None else cap
        encoding = self.headers.get("content-encoding", "identity").strip().lower()
        inflate = None if encoding in ("", "identity") else _inflate(encoding)
        while (raw := await self._next_raw()) is not None:
            for chunk in (raw,) if inflate is None else inflate.feed(raw):
                room = cap - self.received
                self.received += len(chunk)
                if len(chunk) <= room:
                    yield chunk
                    continue
                if room:
                    yield chunk[:room]
                if self.deadlines.has_end_come:
                    return
                raise ProviderError(
                    ErrorKind.TOO_LARGE, f"{self._route.server} sent more than {cap // 1024:,} KB, which is too large."
                )

    async def _next_raw(self) -> bytes | None:
        try:
            raw = await self._ahead.take()
        except DeadlineExceeded:
            return None
        except transport_errors() as fault:
            if self.deadlines.has_end_come:
                return None
            progress = f"after {count(self.received, 'byte')}" if self.received else "before the answer began"
            raise _translated(fault, self._route, progress=progress) from None
        self.ended = raw is None
        return raw

    async def stop_reading(self) -> None:
        """Stop reading."""
        await self._ahead.aclose()

    async def read_all(self, cap: int) -> bytes:
        """Return the whole body; raises ProviderError if it has more than ``cap`` bytes."""
        return b"".join([chunk async for chunk in self.chunks(cap=cap)])

    async def first_bytes(self, cap: int) -> bytes:
        """Return the first ``cap`` bytes of an error body, within a short deadline and without raising."""
        self.deadlines.end_came(self._limits.after_end_s)
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
    """Opens requests and keeps connections for reuse. It must be used on one event loop only."""

    def __init__(
        self,
        *,
        limits: RequestLimits | None = None,
        environ: Mapping[str, str] | None = None,
        plain_http: Collection[str] = (),
        in_process: Mapping[str, InProcess] | None = None,
    ) -> None:
        quiet_http_loggers()
        self._limits = limits or RequestLimits()
        self._environ = environ
        self._in_process = dict(in_process or {})
        self._plain_http = frozenset({*plain_http, *self._in_process})
        self._idle: dict[str, Connection] = {}
        self._keeps = True
        self._tls: ssl.SSLContext | None = None

    def get_ready(self, url: str) -> None:
        """Import the modules that a request to this URL needs."""
        if urlsplit(url).hostname not in self._in_process:
            import tui.providers.http.httpx_connection  # noqa: F401  # imported only to load it

    @asynccontextmanager
    async def open(
        self, request: HttpRequest, *, limits: RequestLimits | None = None, redirects: bool = False
    ) -> AsyncIterator[HttpResponse]:
        """Send a request and wait for the headers.

        A redirect is an error, because the key must not be sent elsewhere; with ``redirects`` it is returned as it is.
        """
        limits = limits or self._limits
        address = checked_url(request.url, plain_http=self._plain_http, allow_http=limits.allow_http)
        proxy = self._proxy(address)
        route = Route(address=address, proxy=proxy_name(proxy) if proxy else None)
        pool_key = f"{address.secure}:{address.name}:{route.proxy}"
        connection, response = await self._send_on_kept_or_new(pool_key, request, route, limits)
        answer = HttpResponse(response, route, limits)
        clean = False
        try:
            if not redirects:
                _refuse_redirect(answer, route)
            yield answer
            clean = answer.ended
        finally:
            try:
                await answer.stop_reading()
            finally:
                await self._release(pool_key, connection, response, clean=clean)

    async def _send_on_kept_or_new(
        self, pool_key: str, request: HttpRequest, route: Route, limits: RequestLimits
    ) -> tuple[Connection, RawResponse]:
        """Send on a kept connection; if the server has closed it, send once more on a new one."""
        kept = self._idle.pop(pool_key, None)
        if kept is not None:
            with suppress(_KeptConnectionGone):
                return kept, await self._send(kept, request, route, limits, kept=True)
        fresh = await self._connect(route, limits)
        return fresh, await self._send(fresh, request, route, limits, kept=False)

    async def _send(
        self, connection: Connection, request: HttpRequest, route: Route, limits: RequestLimits, *, kept: bool
    ) -> RawResponse:
        header_s = limits.private_header_s if route.address.private else limits.header_s
        sent = False
        try:
            async with asyncio.timeout(header_s or None):
                response = await connection.send(request)
                sent = True
                return response
        except TimeoutError:
            raise ProviderError(ErrorKind.TIMEOUT, f"No response from {route.server} in {header_s:g} s.") from None
        except transport_errors() as fault:
            if kept and connection.was_closed_by_server(fault):
                raise _KeptConnectionGone from None
            error = _translated(fault, route, progress="before the answer began")
            if error.kind is ErrorKind.TLS:
                await _name_issuer(error, route)
            raise error from None
        finally:
            if not sent:
                await _close_quietly(connection)

    def _proxy(self, address: Address) -> SplitResult | None:
        return None if address.host in self._in_process else proxy_for(address, self._environ)

    async def _connect(self, route: Route, limits: RequestLimits) -> Connection:
        server = self._in_process.get(route.address.host)
        if server is not None:
            return InProcessConnection(server)
        try:
            from tui.providers.http.httpx_connection import HttpxConnection

            if route.address.must_resolve_nearby:
                require_nearby(route.address, await _numbers(route, limits))
            tls = await self._context() if route.address.secure else None
            return HttpxConnection(limits, self._proxy(route.address), tls)
        except transport_errors() as fault:
            raise _translated(fault, route, progress="before the answer began") from None

    async def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            from tui.providers.http.httpx_connection import system_trust

            try:
                self._tls = await asyncio.to_thread(system_trust)
            except (OSError, ValueError):
                raise ProviderError(
                    ErrorKind.TLS,
                    "The certificates in SSL_CERT_FILE or SSL_CERT_DIR cannot be read.",
                    advice="Point SSL_CERT_FILE to a file of certificates in PEM form, or unset it.",
                ) from None
        return self._tls

    async def _release(self, pool_key: str, connection: Connection, response: RawResponse, *, clean: bool) -> None:
        try:
            await response.aclose()
        except transport_errors():
            clean = False
        if clean and self._keeps and pool_key not in self._idle:
            self._idle[pool_key] = connection
        else:
            await _close_quietly(connection)

    async def aclose(self) -> None:
        """Close the kept connections, and from now on each one after its response."""
        self._keeps = False
        while self._idle:
            await _close_quietly(self._idle.popitem()[1])


class _KeptConnectionGone(Exception):
    """The server had closed the kept connection."""


async def _name_issuer(error: ProviderError, route: Route) -> None:
    """Add the certificate's issuer to the error, so that the user recognises a company's TLS inspection."""
    from tui.providers.http.httpx_connection import issuer_of

    issuer = None if route.proxy else await issuer_of(route.address.host, route.address.port)
    if issuer is not None:
        error.message += f' It was issued by "{issuer}".'
        error.args = (error.message,)


async def _close_quietly(connection: Connection) -> None:
    try:
        await connection.aclose()
    except transport_errors():
        return


async def _numbers(route: Route, limits: RequestLimits) -> list[str]:
    """The addresses of a name; none if only the proxy can resolve it. Raises OSError, also if that takes too long."""
    host, port = route.address.host, route.address.port
    try:
        async with asyncio.timeout(limits.connect_s or None):
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        if route.proxy is None:
            raise
        return []
    return [str(row[4][0]) for row in found]


def _inflate(encoding: str) -> Inflate:
    from tui.providers.http.httpx_connection import Inflate  # servers are asked not to compress

    return Inflate(encoding)


def _translated(fault: Exception, route: Route, *, progress: str) -> ProviderError:
    from tui.providers.http.httpx_connection import translate_error

    return translate_error(fault, route, progress=progress)


def _refuse_redirect(answer: HttpResponse, route: Route) -> None:
    if not 300 <= answer.status < 400:
        return
    target = answer.headers.get("location", "")
    if not target:
        raise ProviderError(
            ErrorKind.REDIRECT,
            f"{route.server} answered with HTTP status {answer.status} but named no address to redirect to.",
            status=answer.status,
            advice="Check `base_url` of this provider.",
        )
    try:
        # A location may be a path at the same server, often with a slash added. Its query may be private: not shown.
        location = urlsplit(urljoin(route.address.url, target))
        wanted = one_line(location.netloc.rpartition("@")[2] + location.path, 100)
    except ValueError:
        wanted = ""
    raise ProviderError(
        ErrorKind.REDIRECT,
        f"{route.server} redirects to `{wanted or 'another address'}`. The redirect was not followed.",
        status=answer.status,
        advice="If that is right, set the new address as `base_url` of this provider.",
    )
