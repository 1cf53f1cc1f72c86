"""Which addresses may be used for a login: those that a server names are as untrusted as the server."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from tui.domain.errors import ToolError
from tui.domain.printable import one_line
from tui.tools.builtin.network_addresses import LOCAL_NAMES, Reach, reach_of


@dataclass(frozen=True, slots=True)
class CheckedAddresses:
    """The addresses that the login at one server may use."""

    server: str
    proxy: str | None = None

    @property
    def origin(self) -> str:
        """Scheme and host of the server."""
        url = urlsplit(self.server)
        return f"{url.scheme}://{url.netloc}"

    def is_same_origin(self, address: str) -> bool:
        """Whether an address is on the server's own host and port."""
        url = _split(address)
        return f"{url.scheme}://{url.netloc}".lower() == self.origin.lower()

    async def check(self, address: str) -> None:
        """Raise ToolError for an address that a login must not use.

        A server on the internet must not lead to this machine or network, and none to metadata services of clouds.
        Plain http is only for this machine, if the server itself is there.
        """
        url = _split(address)
        ours = urlsplit(self.server)
        reach = await self._reach(url)
        shown = one_line(address, 100)
        if reach is Reach.NEVER:
            raise ToolError(f"{shown} is an address that is never used. Nothing was sent.")
        if reach is Reach.PRIVATE and await self._reach(ours) is not Reach.PRIVATE:
            raise ToolError(f"{shown} is on this machine or network, but the server is not. Nothing was sent.")
        if url.scheme == "http" and not (reach is Reach.PRIVATE and ours.scheme == "http"):
            raise ToolError(f"{shown} is not encrypted. Nothing was sent.")

    async def _reach(self, url: SplitResult) -> Reach:
        host = (url.hostname or "").rstrip(".").lower()
        if not host:
            return Reach.NEVER
        if host == "localhost" or host.endswith(LOCAL_NAMES):
            return Reach.NEVER if host.endswith(".metadata.goog") else Reach.PRIVATE
        if _is_number(host):
            return reach_of(host)
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, url.port, type=socket.SOCK_STREAM)
        except OSError:
            if self.proxy is not None:  # which connects to the name
                return Reach.INTERNET
            raise ToolError(f"{one_line(host, 100)} cannot be found.") from None
        reaches = {reach_of(str(row[4][0])) for row in found}
        return next(reach for reach in (Reach.NEVER, Reach.PRIVATE, Reach.INTERNET) if reach in reaches)


def _is_number(host: str) -> bool:
    """Whether a host is an address, in any spelling: names do not end in a number."""
    last = host.rpartition(".")[2]
    return ":" in host or last.isdigit() or last.startswith("0x")


def _split(address: str) -> SplitResult:
    try:
        url = urlsplit(address)
        is_web = url.scheme in ("http", "https") and bool(url.hostname) and url.username is None
        url.port  # noqa: B018 - raises ValueError
    except ValueError:
        is_web = False
    if not is_web:
        raise ToolError(f"{one_line(address, 100)} is not an address of the web. Nothing was sent.")
    return url
