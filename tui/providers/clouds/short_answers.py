"""Limits how much the packages of clouds read of an answer: metadata services speak plain HTTP, so anybody may answer.

botocore and azure-identity read answers whole, through urllib3, which nothing else in the program uses.
"""

from __future__ import annotations

import io
import socket
from http.client import HTTPResponse
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

LONGEST = 512 * 1024
"""Bytes of one answer, with its headers."""
LONGEST_PACKED = 32 * 1024
"""Bytes of a compressed one: unpacked, it may be a thousand times as long."""
READ_AHEAD = 8 * 1024
"""Bytes that may be read before the headers say that the answer is compressed. Python 3.15 reads 128 KB by default."""


class AnswerTooLong(OSError):
    """A server sent more than a login needs."""

    def __init__(self) -> None:
        super().__init__(f"its server sent more than {LONGEST // 1024} KB")


class _Limited(io.RawIOBase):
    """Reads a socket up to the limit."""

    def __init__(self, inner: socket.SocketIO) -> None:
        super().__init__()
        self._inner = inner
        self.left = LONGEST

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        number = self._inner.readinto(buffer)
        self.left -= number or 0
        if self.left < 0:
            raise AnswerTooLong
        return number

    def close(self) -> None:
        self._inner.close()
        super().close()


class _LimitedSocket:
    """The part of a socket that an answer uses."""

    def __init__(self, inner: socket.socket) -> None:
        self.limited = _Limited(inner.makefile("rb", buffering=0))

    def makefile(self, _: str) -> io.BufferedReader:
        return io.BufferedReader(self.limited, READ_AHEAD)


class _ShortResponse(HTTPResponse):
    def __init__(
        self, sock: socket.socket, debuglevel: int = 0, method: str | None = None, url: str | None = None
    ) -> None:
        limited = _LimitedSocket(sock)
        self._limited = limited.limited
        super().__init__(cast("socket.socket", limited), debuglevel, method, url)

    def begin(self) -> None:
        super().begin()
        if self.headers.get("content-encoding"):
            self._limited.left = min(self._limited.left, LONGEST_PACKED)


def limit_answers() -> None:
    """Limit every answer that urllib3 reads from now on."""
    from urllib3.connection import HTTPConnection

    HTTPConnection.response_class = _ShortResponse
