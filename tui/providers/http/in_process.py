"""A connection to a server in this process, without a socket or an HTTP library."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import replace

from tui.domain.fast_dataclass import dataclass
from tui.providers.http.connection import RawResponse
from tui.providers.http.request import HttpRequest


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
