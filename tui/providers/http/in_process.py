"""A line to a server that lives in this process: no socket, no HTTP library, everything above the line as ever."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import replace

from tui.domain.fast_dataclass import dataclass
from tui.providers.http.connection import ResponseHead
from tui.providers.http.request import HttpRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    """What an in-process server gives back."""

    status: int
    headers: Mapping[str, str]
    body: AsyncGenerator[bytes, None]


InProcess = Callable[[HttpRequest], Awaitable[HttpAnswer]]
"""A server that lives in this process."""


class InProcessConnection:
    """Implements ``Line``."""

    def __init__(self, server: InProcess) -> None:
        self._server = server

    async def send(self, request: HttpRequest) -> ResponseHead:
        """Header names arrive in lower case, as HTTP libraries hand them over."""
        answer = await self._server(replace(request, headers=_lower(request.headers)))
        return ResponseHead(
            status=answer.status, headers=_lower(answer.headers), body=answer.body, aclose=answer.body.aclose
        )

    def had_been_closed(self, fault: Exception) -> bool:
        """There is nothing to close."""
        return False

    async def aclose(self) -> None:
        """There is nothing to hang up."""


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
