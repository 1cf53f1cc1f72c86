"""Reads an answer that came before a long upload was over.

- The server reset the connection: asyncio closes a socket when writing to it fails, and with it goes what was received
  and not read yet, such as the refusal of a request that is too large, or of its key. httpcore reads the answer after
  a failed write, but finds nothing.
- The server reads no more and keeps the connection open: httpcore would wait until its limit for writing.
"""

from __future__ import annotations

import asyncio
import select
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from anyio import BrokenResourceError
from anyio.abc import ByteStream, SocketAttribute

PIECE = 64 * 1024
"""Bytes of an upload that are written at a time: the limit for writing is for each piece."""
LONG = PIECE // 2
"""Bytes; less is in the buffers of the system before the server can answer."""


async def in_pieces(body: bytes) -> AsyncIterator[bytes]:
    """Yield a body in pieces."""
    for start in range(0, len(body), PIECE):
        yield body[start : start + PIECE]


class RescuedStream(ByteStream):
    """Keeps a second descriptor of the socket during a long upload, and reads it when the first one is gone."""

    def __init__(self, stream: ByteStream, answered_s: float) -> None:
        """``answered_s``: how long the server may read nothing after it began to answer; 0 for no limit."""
        self._inner = stream
        self._answered_s = answered_s
        self._spare: socket.socket | None = None
        self._given_up = False
        """The rest of the upload is not sent."""
        self._answer_read = False

    @property
    def extra_attributes(self) -> Mapping[Any, Callable[[], Any]]:
        """Those of the socket."""
        return self._inner.extra_attributes

    async def send(self, item: bytes) -> None:
        """Send bytes."""
        if self._given_up:
            if self._answer_read:  # The server would take a next request for the rest of this one.
                raise BrokenResourceError
            return
        if self._spare is None and len(item) <= LONG:
            await self._inner.send(item)
            return
        if self._spare is None:  # Kept until the answer comes: the reset may come with the short end of the upload.
            try:
                self._spare = self._inner.extra(SocketAttribute.raw_socket).dup()
            except OSError:
                self._spare = None  # No descriptor is left: the upload works without.
        try:
            await self._send_unless_answered(item)
        except BrokenResourceError:
            if self._spare is None:
                raise
            # Not an error yet: TLS reads nothing after one, and if nothing is left, receive raises it.
            self._given_up = True

    async def _send_unless_answered(self, item: bytes) -> None:
        # A task, because a send that is cancelled may or may not have written its bytes.
        sending = asyncio.ensure_future(self._inner.send(item))
        try:
            while not (await asyncio.wait((sending,), timeout=self._answered_s or None))[0]:
                if self._has_answered():
                    self._given_up = True
                    return
            await sending
        finally:
            await _ended(sending)

    def _has_answered(self) -> bool:
        return self._spare is not None and bool(select.select((self._spare,), (), (), 0)[0])

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """Return received bytes, also those from before a reset."""
        self._answer_read = self._given_up
        try:
            received = await self._inner.receive(max_bytes)
        except BrokenResourceError:
            if left := self._left(max_bytes):
                return left
            raise
        self._close_spare()
        return received

    async def send_eof(self) -> None:
        """Close the sending side."""
        await self._inner.send_eof()

    async def aclose(self) -> None:
        """Close the connection."""
        self._close_spare()
        await self._inner.aclose()

    def _left(self, max_bytes: int) -> bytes:
        try:
            return b"" if self._spare is None else self._spare.recv(max_bytes)
        except OSError:
            return b""

    def _close_spare(self) -> None:
        if self._spare is not None:
            self._spare.close()
            self._spare = None


async def _ended(task: asyncio.Future[None]) -> None:
    if not task.done():
        task.cancel()
        await asyncio.wait((task,))
