"""Finds the issuer of an untrusted server certificate, on a separate connection that sends no data."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator
from contextlib import suppress

from tui.domain.printable import one_line

LIMIT_S = 3.0
_COMMON_NAME = b"\x55\x04\x03"
_ORGANISATION = b"\x55\x04\x0a"
_SEQUENCE, _OID, _VERSION = 0x30, 0x06, 0xA0


async def issuer_of(host: str, port: int) -> str | None:
    """Return the issuer's name, or None if it cannot be determined."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        async with asyncio.timeout(LIMIT_S):
            _, writer = await asyncio.open_connection(host, port, ssl=context, server_hostname=host)
            certificate = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
    except (OSError, TimeoutError, ValueError):
        return None
    return issuer_name(certificate or b"")


def issuer_name(certificate: bytes) -> str | None:
    """Return the issuer's common name or organisation from a DER certificate."""
    try:
        _, whole = next(_elements(certificate))
        _, signed = next(_elements(whole))
        fields = [element for element in _elements(signed) if element[0] != _VERSION]
        names = dict(_names(fields[2][1]))
    except (StopIteration, IndexError):
        return None
    name = names.get(_COMMON_NAME) or names.get(_ORGANISATION)
    return one_line(name.decode("utf-8", "replace"), 80) if name else None


def _names(issuer: bytes) -> Iterator[tuple[bytes, bytes]]:
    for _, group in _elements(issuer):
        for tag, pair in _elements(group):
            parts = list(_elements(pair))
            if tag == _SEQUENCE and len(parts) == 2 and parts[0][0] == _OID:
                yield parts[0][1], parts[1][1]


def _elements(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield tag and content of each DER element."""
    at = 0
    while at + 2 <= len(data):
        tag, size = data[at], data[at + 1]
        at += 2
        if size & 0x80:
            width = size & 0x7F
            size = int.from_bytes(data[at : at + width], "big")
            at += width
        yield tag, data[at : at + size]
        at += size
