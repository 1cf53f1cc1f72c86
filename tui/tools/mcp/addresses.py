"""Which addresses may be used for a login: those that a server names are as untrusted as the server."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from tui.domain.errors import ToolError
from tui.domain.printable import one_line
from tui.tools.builtin.fetch_url import ProxyFor, Resolver, no_proxy, resolve
from tui.tools.builtin.network_addresses import LOCAL_NAMES, NetworkKind, network_kind_of, strictest

RESOLVED_WITHIN_S = 10.0
_METADATA = (".metadata.goog", "metadata.google.internal")


@dataclass(frozen=True, slots=True)
class CheckedAddresses:
    """The addresses that the login at one server may use."""

    server: str
    proxy_for: ProxyFor = no_proxy
    resolver: Resolver = resolve

    @property
    def origin(self) -> str:
        """Scheme and host of the server."""
        url = urlsplit(self.server)
        return f"{url.scheme}://{url.netloc}"

    def is_same_origin(self, address: str) -> bool:
        """Whether an address is on the server's own host and port."""
        url = _split(address)
        return f"{url.scheme}://{url.netloc}".lower() == self.origin.lower()

    async def check(self, address: str) -> Sequence[str]:
        """Raise ToolError for an address that a login must not use; returns the numbers that its name has now.

        A server on the internet must not lead to this machine or network, and none to metadata services of clouds.
        Plain http is only for this machine, if the server itself is there. There is no number if only the proxy can
        resolve the name.
        """
        url = _split(address)
        ours = urlsplit(self.server)
        reach, numbers = await self._found(url)
        shown = one_line(address, 100)
        if reach is NetworkKind.NEVER:
            raise ToolError(f"{shown} is an address that is never used. Nothing was sent.")
        if reach is NetworkKind.PRIVATE and (await self._found(ours))[0] is not NetworkKind.PRIVATE:
            raise ToolError(f"{shown} is on this machine or network, but the server is not. Nothing was sent.")
        if url.scheme == "http" and not (reach is NetworkKind.PRIVATE and ours.scheme == "http"):
            raise ToolError(f"{shown} is not encrypted. Nothing was sent.")
        return numbers

    async def _found(self, url: SplitResult) -> tuple[NetworkKind, Sequence[str]]:
        host = (url.hostname or "").rstrip(".").lower()
        if not host or host.endswith(_METADATA):
            return NetworkKind.NEVER, ()
        if _is_number(host):
            return network_kind_of(host), (host,)
        is_local = host == "localhost" or host.endswith(LOCAL_NAMES)
        port = url.port or (443 if url.scheme == "https" else 80)
        try:
            async with asyncio.timeout(RESOLVED_WITHIN_S):
                numbers = await self.resolver(host, port)
        except (OSError, UnicodeError, TimeoutError):
            if "." in host and self.proxy_for(url.geturl()) is not None:  # it connects to the name
                return NetworkKind.PRIVATE if is_local else NetworkKind.INTERNET, ()
            raise ToolError(f"{one_line(host, 100)} cannot be found.") from None
        # Names such as `metadata.google.internal` look local, and lead where nothing may be sent.
        reaches = [network_kind_of(number) for number in numbers] or [NetworkKind.NEVER]
        return strictest([*reaches, NetworkKind.PRIVATE] if is_local else reaches), numbers


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
