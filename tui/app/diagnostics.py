"""Checks for ``doctor`` and ``/status``: database health, proxies, and whether providers can be reached."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from urllib.parse import SplitResult

from tui.catalog.facts import ProviderFacts
from tui.domain.errors import PonderError
from tui.providers.http.address import Address, checked_url, proxy_for, proxy_name

PROXY_ENDINGS = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")


def route_to(url: str, environment: Mapping[str, str]) -> tuple[Address, SplitResult | None] | None:
    """The address and the proxy in front of it; None if requests cannot be sent to this URL.

    Raises ProviderError if the address of the proxy cannot be read.
    """
    try:
        address = checked_url(url)
    except PonderError:
        return None
    return address, proxy_for(address, environment)


def describe_proxy(url: str, environment: Mapping[str, str]) -> str:
    """The proxy for a URL, or why there is none. User and password are omitted."""
    try:
        route = route_to(url, environment)
    except PonderError:
        return "its address cannot be read"
    named = [name for name in environment if name.upper() in PROXY_ENDINGS and environment[name]]
    if route is None or not named:
        return "none"
    address, proxy = route
    if proxy is not None:
        return f"{proxy_name(proxy)}, for {address.name} ({_variable(proxy, named, environment)})"
    if address.loopback:
        return f"none: {address.name} is this machine"
    bare = {name: value for name, value in environment.items() if name.upper() != "NO_PROXY"}
    if proxy_for(address, bare) is not None:
        return f"none: NO_PROXY names {address.host}"
    return f"none: {', '.join(sorted(named))} is not for {'https' if address.secure else 'http'}"


def _variable(proxy: SplitResult, named: list[str], environment: Mapping[str, str]) -> str:
    """The variable that names the proxy. Like the transport, this prefers lower case and the most specific name."""
    order = sorted(named, key=lambda name: (PROXY_ENDINGS.index(name.upper()), not name.islower()))
    return next((name for name in order if proxy.netloc in environment[name]), order[0])


REACH_WITHIN_S = 3.0


async def reachability(providers: Sequence[ProviderFacts], environment: Mapping[str, str]) -> dict[str, str]:
    """For each provider, whether its host accepts connections. No request is sent."""
    tries = [_reach(provider.base_url_for(provider.wire), environment) for provider in providers]
    return dict(zip((provider.id for provider in providers), await asyncio.gather(*tries), strict=True))


async def _reach(url: str, environment: Mapping[str, str]) -> str:
    try:
        route = route_to(url, environment)
    except PonderError:
        return "cannot be reached: the address of the proxy cannot be read"
    if route is None:
        return "has no address"
    address, proxy = route
    through = " through the proxy" if proxy is not None else ""
    host, port = address.host, address.port
    if proxy is not None:
        host, port = proxy.hostname or "", proxy.port or (443 if proxy.scheme == "https" else 80)
    try:
        async with asyncio.timeout(REACH_WITHIN_S):
            _, writer = await asyncio.open_connection(host, port)
    except TimeoutError:
        return f"does not answer{through}"
    except OSError as fault:
        return f"cannot be reached{through} ({fault.strerror or fault})"
    writer.close()
    return f"can be reached{through}"
