"""A line to a server: what the transport needs of whatever carries bytes. One is HTTP, one ends in this process."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping
from typing import Protocol

from tui.domain.fast_dataclass import dataclass
from tui.providers.http.address import Address
from tui.providers.http.request import HttpRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The way to a server, for sentences about it."""

    address: Address
    proxy: str | None = None

    @property
    def server(self) -> str:
        """The host, and the proxy if there is one."""
        return f"`{self.address.name}`" + (f" through the proxy `{self.proxy}`" if self.proxy else "")

    @property
    def advice(self) -> str:
        """What to look at when there is no connection."""
        if self.address.loopback:
            return "Is the server running?"
        if self.proxy:
            return "Check the proxy (HTTPS_PROXY, NO_PROXY) and the network."
        return "Check the network and the provider's base URL."


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseHead:
    """An answer whose body is still to come."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: AsyncIterable[bytes]
    aclose: Callable[[], Awaitable[None]]
    """Let go of the body; the line can be used again when it was read to its end."""


class Connection(Protocol):
    """One exchange at a time with one server. What goes wrong comes out as one of ``foreign()``."""

    async def send(self, request: HttpRequest) -> ResponseHead:
        """Send a request and wait for the head of its answer."""
        ...

    def had_been_closed(self, fault: Exception) -> bool:
        """Whether the fault says that the server had closed a line that was kept."""
        ...

    async def aclose(self) -> None:
        """Hang up."""
        ...


def transport_errors() -> tuple[type[Exception], ...]:
    """Everything that lines were seen to raise; ``ValueError`` has the encoding and internationalised-name errors.

    For an ``except``, which asks for it when there is something to catch: a library that is not loaded raised nothing.
    """
    own = (OSError, ValueError, RuntimeError, ImportError, ExceptionGroup)
    if "tui.providers.http.httpx_connection" not in sys.modules:
        return own
    from tui.providers.http.httpx_import import httpx

    return (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, *own)
