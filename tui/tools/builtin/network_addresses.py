"""Classifies network addresses for fetch_url, including IPv4 addresses embedded in IPv6 ones."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address


class NetworkKind(StrEnum):
    """The kind of network an address belongs to."""

    INTERNET = "internet"
    PRIVATE = "private"
    """This machine or the local network: each fetch needs permission."""
    UNKNOWN = "unknown"
    """Only the proxy can resolve it: each fetch needs permission."""
    NEVER = "never"
    """Link-local (includes cloud metadata), multicast or reserved: never fetched."""


LOCAL_NAMES = (
    ".localhost",
    ".local",
    ".lan",
    ".internal",
    ".home.arpa",
    ".corp",
    ".home",
    ".intranet",
    ".metadata.goog",
)
"""Suffixes that public DNS does not use."""

_NEVER = tuple(
    ip_network(text)
    for text in (
        "0.0.0.0/8",
        "100.64.0.0/10",  # Carrier-grade NAT; 100.100.100.200 is Alibaba's metadata service.
        "168.63.129.16/32",  # Azure's WireServer, although the address looks public.
        "169.254.0.0/16",
        "192.0.0.0/24",  # 192.0.0.192 is Oracle's metadata service.
        "224.0.0.0/3",  # Multicast, reserved, broadcast.
        "64:ff9b:1::/48",  # Local NAT64: the position of the IPv4 address is unknown.
        "fe80::/10",
        "fec0::/10",  # Site-local: deprecated in 2004, but still routed in some networks.
        "ff00::/8",
        "fd00:42::/32",  # Metadata services of Scaleway, Oracle, Amazon and Google.
        "fd00:c1::/32",
        "fd00:ec2::/32",
        "fd20:ce::/32",
    )
)
_PRIVATE = tuple(
    ip_network(text) for text in ("10.0.0.0/8", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
)
_WITH_IPV4_AT_THE_END = tuple(
    IPv6Network(text) for text in ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96")
)
"""IPv4-compatible, mapped and translated addresses, and the NAT64 prefix."""
_ISATAP = (0x00005EFE, 0x02005EFE)


def network_kind_of(text: str) -> NetworkKind:
    """Classify an address; anything that is not an address is never fetched."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return NetworkKind.NEVER
    return strictest(_reach(one) for one in (address, *_embedded(address)))


_STRICTNESS = [NetworkKind.INTERNET, NetworkKind.PRIVATE, NetworkKind.NEVER]


def strictest(kinds: Iterable[NetworkKind]) -> NetworkKind:
    """The most restricted of these kinds, at least one and none of them UNKNOWN."""
    return max(kinds, key=_STRICTNESS.index)


def _reach(address: Address) -> NetworkKind:
    if address.is_unspecified or any(address in network for network in _NEVER):
        return NetworkKind.NEVER
    if address.is_loopback or address.is_private or any(address in network for network in _PRIVATE):
        return NetworkKind.PRIVATE
    return NetworkKind.INTERNET if address.is_global else NetworkKind.NEVER


def _embedded(address: Address) -> list[IPv4Address]:
    """IPv4 addresses that traffic to an IPv6 address may actually reach."""
    if isinstance(address, IPv4Address) or address.is_loopback:
        return []
    found = [address.sixtofour] if address.sixtofour is not None else []
    if address.teredo is not None:
        found += address.teredo
    number = int(address)
    if any(address in network for network in _WITH_IPV4_AT_THE_END) or (number >> 32) & 0xFFFFFFFF in _ISATAP:
        found.append(IPv4Address(number & 0xFFFFFFFF))
    return found
