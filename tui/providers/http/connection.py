"""The interface of a connection to a server; the implementations use HTTP or a server in this process."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Protocol

from tui.domain.fast_dataclass import dataclass
from tui.providers.http.address import Address
from tui.providers.http.request import HttpRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The route to a server, used in error messages."""

    address: Address
    proxy: str | None = None

    @property
    def server(self) -> str:
        """The host, with the proxy if one is used."""
        return f"`{self.address.name}`" + (f" through the proxy `{self.proxy}`" if self.proxy else "")

    @property
    def advice(self) -> str:
        """What the user can check if there is no connection."""
        if self.address.loopback:
            return "Is the server running?"
        if self.proxy:
            return "Check the proxy (HTTPS_PROXY, NO_PROXY) and the network."
        return "Check the network and the provider's base URL."


@dataclass(frozen=True, slots=True, kw_only=True)
class RawResponse:
    """Status and headers of a response, and its body to read."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: AsyncIterable[bytes]
    aclose: Callable[[], Awaitable[None]]
    """Release the body; the connection can be reused if the body was read to its end."""


class Connection(Protocol):
    """A connection to one server, for one request at a time. Its methods raise ``transport_errors()``."""

    async def send(self, request: HttpRequest) -> RawResponse:
        """Send a request and wait for the headers of the response."""
        ...

    def was_closed_by_server(self, fault: Exception) -> bool:
        """Whether the error means that the server had closed a kept connection."""
        ...

    async def aclose(self) -> None:
        """Close the connection."""
        ...


def transport_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions of all connections; ``ValueError`` includes the errors of encodings and IDNA.

    For use in ``except``, which evaluates it only when an exception occurs: httpx errors are included once httpx is
    loaded.
    """
    own = (OSError, ValueError, RuntimeError, ImportError, ExceptionGroup)
    if "tui.providers.http.httpx_connection" not in sys.modules:
        return own
    from tui.providers.http.httpx_connection import httpx

    return (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, *own)


@dataclass(frozen=True, slots=True, kw_only=True)
class InProcessResponse:
    """The response of an in-process server."""

    status: int
    headers: Mapping[str, str]
    body: AsyncGenerator[bytes, None]


InProcess = Callable[[HttpRequest], Awaitable[InProcessResponse]]
"""A server in this process."""


class InProcessConnection:
    """Implements ``Connection`` with a function call."""

    def __init__(self, server: InProcess) -> None:
        self._server = server

    async def send(self, request: HttpRequest) -> RawResponse:
        """Call the server with header names in lower case, as HTTP libraries pass them."""
        answer = await self._server(replace(request, headers=_lower(request.headers)))
        return RawResponse(
            status=answer.status, headers=_lower(answer.headers), body=answer.body, aclose=answer.body.aclose
        )

    def was_closed_by_server(self, fault: Exception) -> bool:
        """Return False: there is no connection to close."""
        return False

    async def aclose(self) -> None:
        """Do nothing: there is no connection to close."""


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
