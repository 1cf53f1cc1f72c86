"""Which addresses on the network may be fetched from. Pure; every transition form of IPv6 is looked through."""

from __future__ import annotations

from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

Address = IPv4Address | IPv6Address


class Reach(StrEnum):
    """How far away an address is."""

    INTERNET = "internet"
    PRIVATE = "private"
    """This machine or this network: each fetch asks."""
    UNKNOWN = "unknown"
    """Only a proxy knows: each fetch asks."""
    NEVER = "never"
    """Link-local (cloud metadata lives there), multicast, reserved."""


LOCAL_NAMES = (".localhost", ".local", ".lan", ".internal", ".home.arpa", ".corp", ".home", ".intranet")
"""Ends of names that no public server has."""
_WITH_IPV4_AT_THE_END = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"), IPv6Network("::/96"))
_METADATA = frozenset({ip_address("169.254.169.254"), ip_address("fd00:ec2::254"), ip_address("100.100.100.200")})


def reach_of(text: str) -> Reach:
    """How far away an address is; what is not an address is never reached."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return Reach.NEVER
    return max((_reach(one) for one in (address, *_embedded(address))), key=_STRICTNESS.index)


_STRICTNESS = [Reach.INTERNET, Reach.PRIVATE, Reach.NEVER]


def _reach(address: Address) -> Reach:
    if address in _METADATA or address.is_link_local or address.is_multicast or address.is_unspecified:
        return Reach.NEVER
    if address.is_loopback or address.is_private:
        return Reach.PRIVATE
    return Reach.INTERNET if address.is_global else Reach.NEVER


def _embedded(address: Address) -> list[IPv4Address]:
    """IPv4 addresses that traffic to an IPv6 address may really go to."""
    if isinstance(address, IPv4Address):
        return []
    found = [one for one in (address.ipv4_mapped, address.sixtofour) if one is not None]
    if address.teredo is not None:
        found += address.teredo
    if any(address in network for network in _WITH_IPV4_AT_THE_END) and not address.is_loopback:
        found.append(IPv4Address(int(address) & 0xFFFFFFFF))
    return found
