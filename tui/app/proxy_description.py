"""Which proxy a provider's requests go through, for status and doctor: the same rules as the transport's."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import SplitResult

from tui.domain.errors import PonderError
from tui.providers.http.address import Address, checked, proxy_for, proxy_name

PROXY_ENDINGS = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")


def way_to(url: str, environment: Mapping[str, str]) -> tuple[Address, SplitResult | None] | None:
    """The place and the proxy before it; None where the URL is no place requests can go to."""
    try:
        address = checked(url)
    except PonderError:
        return None
    return address, proxy_for(address, environment)


def proxy_words(url: str, environment: Mapping[str, str]) -> str:
    """Which proxy is in force for a URL, or why none is; never with its user and password."""
    way = way_to(url, environment)
    named = [name for name in environment if name.upper() in PROXY_ENDINGS and environment[name]]
    if way is None or not named:
        return "none"
    address, proxy = way
    if proxy is not None:
        return f"{proxy_name(proxy)}, for {address.name} ({_variable(proxy, named, environment)})"
    if address.loopback:
        return f"none: {address.name} is this machine"
    bare = {name: value for name, value in environment.items() if name.upper() != "NO_PROXY"}
    if proxy_for(address, bare) is not None:
        return f"none: NO_PROXY names {address.host}"
    return f"none: {', '.join(sorted(named))} is not for {'https' if address.secure else 'http'}"


def _variable(proxy: SplitResult, named: list[str], environment: Mapping[str, str]) -> str:
    """The variable it stands in; the transport prefers small letters and the most exact."""
    order = sorted(named, key=lambda name: (PROXY_ENDINGS.index(name.upper()), not name.islower()))
    return next((name for name in order if proxy.netloc in environment[name]), order[0])
