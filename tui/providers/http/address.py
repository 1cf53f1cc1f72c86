"""URLs of requests: joining, checking, private networks, proxies."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Collection, Iterable, Mapping
from urllib.parse import SplitResult, urlsplit

from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.fast_dataclass import dataclass
from tui.domain.printable import one_line

LOCAL_SUFFIXES = (".localhost", ".local", ".lan", ".internal", ".home.arpa")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A checked_url URL."""

    url: str
    host: str
    port: int
    secure: bool
    loopback: bool
    private: bool
    """Loopback or a private network: longer deadlines apply, and plain HTTP is allowed."""
    must_resolve_nearby: bool = False
    """Plain HTTP to a name without a dot: allowed only if all its addresses are private, see ``require_nearby``."""

    @property
    def name(self) -> str:
        """The host, with its port unless it is the default."""
        return self.host if self.port == (443 if self.secure else 80) else f"{self.host}:{self.port}"


def join_url(base_url: str, path: str) -> str:
    """Join a base URL and a path. A repeated ``/v1`` and a base URL that already ends with the path are accepted.

    A query of the base URL (``?api-version=1``) comes after the path and before the path's own query.
    """
    base, _, always = base_url.strip().partition("#")[0].partition("?")
    base = base.rstrip("/")
    route, _, asked = ("/" + path.lstrip("/")).partition("?")
    last = base.rpartition("/")[2]
    if base.endswith(route):
        route = ""
    elif last.startswith("v1") and route.startswith(f"/{last}/"):
        route = route[len(last) + 1 :]
    query = "&".join(filter(None, (always, asked)))
    return f"{base}{route}?{query}" if query else base + route


def checked_url(url: str, *, plain_http: Collection[str] = (), allow_http: bool = False) -> Address:
    """Parse a URL; raises ProviderError if it is not a web address or would send a key without encryption."""
    try:
        parts = urlsplit(url)
        port, host = parts.port, (parts.hostname or "").lower()
        host.encode("ascii" if host.isascii() else "idna")
    except ValueError:
        raise _invalid(url, "it cannot be read as a web address") from None
    if parts.scheme not in ("http", "https") or not host or any(letter.isspace() for letter in url):
        raise _invalid(url, "it does not look like https://host/path")
    if port is not None and not 0 < port < 65536:
        raise _invalid(url, "the port number is out of range")
    name = host if host.isascii() else host.encode("idna").decode("ascii").lower()
    numeric = _numeric(name)
    loopback, private = _neighbourhood(name) if numeric is None else _neighbourhood_of(numeric)
    secure = parts.scheme == "https"
    allowed = secure or allow_http or host in plain_http
    if not (allowed or private):
        raise _unencrypted(host)
    return Address(
        url=url,
        host=host,
        port=port or (443 if secure else 80),
        secure=secure,
        loopback=loopback,
        private=private,
        must_resolve_nearby=not allowed and numeric is None and not loopback and "." not in name,
    )


def require_nearby(address: Address, numbers: Iterable[str]) -> None:
    """Raise ProviderError if a name would get key and prompt without encryption at one of these addresses, or at none.

    Such a name may belong to a private network, or be a top-level domain.
    """
    found = [_numeric(number) for number in numbers]
    if not found or not all(one is not None and _neighbourhood_of(one)[1] for one in found):
        raise _unencrypted(address.host)


def _unencrypted(host: str) -> ProviderError:
    return ProviderError(
        ErrorKind.INVALID_REQUEST,
        f"`{host}` would get key and prompt without encryption: its base URL begins with http://.",
        advice="Use https://. Plain http is for this machine and private networks; "
        "`/set network.allowHttp true` allows it everywhere.",
    )


def _invalid(url: str, why: str) -> ProviderError:
    return ProviderError(
        ErrorKind.INVALID_REQUEST,
        f"The base URL `{one_line(without_user(url), 80)}` is wrong: {why}.",
        advice="Correct `base_url` of this provider in `config.toml`.",
    )


def without_user(url: str) -> str:
    """Return a URL without user, password, query and fragment, for display."""
    scheme, mark, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    return scheme + mark + authority.rpartition("@")[2] + slash + path.partition("?")[0].partition("#")[0]


IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


def _neighbourhood(host: str) -> tuple[bool, bool]:
    """Return whether a name is loopback, and whether it is loopback or may be private. Names are not resolved here."""
    if host == "localhost" or host.endswith(".localhost"):
        return True, True
    return False, "." not in host or host.endswith(LOCAL_SUFFIXES)


def _neighbourhood_of(address: IpAddress) -> tuple[bool, bool]:
    """Return whether an address is loopback, and whether it is loopback or private."""
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return address.is_loopback, address.is_loopback or address.is_private or address.is_link_local


def _numeric(host: str) -> IpAddress | None:
    """The address that a host means, in all spellings that systems accept: 127.1, 0x7f000001, 017700000001."""
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except OSError:
        return None


def proxy_for(address: Address, environ: Mapping[str, str] | None = None) -> SplitResult | None:
    """Return the proxy for an address from the environment or the system's settings; None for loopback.

    Raises ProviderError for a proxy whose address cannot be read. It is not quoted: it may hold a password.
    """
    if address.loopback:
        return None
    import urllib.request  # imports a second HTTP client, so it must not delay the first screen

    proxies = _from(environ) if environ is not None else urllib.request.getproxies()
    without = proxies.get("no", "")
    bypassed = _excepted(address, without) or (environ is None and bool(urllib.request.proxy_bypass(address.host)))
    url = proxies.get("https" if address.secure else "http") or proxies.get("all")
    if not url or bypassed:
        return None
    try:
        proxy = urlsplit(url if "://" in url else f"http://{url}")
        readable = bool(proxy.hostname) and proxy.port != 0  # the port is parsed when it is asked for
    except ValueError:
        readable = False
    if not readable:
        raise ProviderError(
            ErrorKind.INVALID_REQUEST,
            f"The address of the proxy for `{address.name}` cannot be read.",
            advice="Correct HTTPS_PROXY, HTTP_PROXY or ALL_PROXY, or list the host in NO_PROXY.",
        )
    return proxy


def _excepted(address: Address, without: str) -> bool:
    """Whether NO_PROXY matches the host: ``*``, or a domain with its subdomains, with or without port."""
    names = [name.strip().lower().removeprefix("*").lstrip(".") for name in without.split(",")]
    hosts = (address.host, f"{address.host}:{address.port}")
    return without.strip() == "*" or any(
        name and (host == name or host.endswith(f".{name}")) for name in names for host in hosts
    )


def _from(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the ``*_proxy`` variables; as in other programs, lower case takes precedence."""
    found: dict[str, str] = {}
    for name in sorted(environ):
        if name.lower().endswith("_proxy") and (name.islower() or f"{name.lower()}" not in environ):
            found[name.lower().removesuffix("_proxy")] = environ[name]
    return found


def proxy_name(proxy: SplitResult) -> str:
    """Return host and port of a proxy, without user and password."""
    return proxy.netloc.rpartition("@")[2]
