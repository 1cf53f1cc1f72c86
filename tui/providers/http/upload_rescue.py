"""Reads an answer that came before the server reset the connection during a long upload.

asyncio closes a socket when writing to it fails, and with it goes what was received and not read yet: the refusal of a
request that is too large, or of its key. httpcore reads the answer after a failed write, but finds nothing.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from typing import Any

from anyio import BrokenResourceError
from anyio.abc import ByteStream, SocketAttribute

LONG = 64 * 1024
"""Bytes; less is in the buffers of the system before the server can answer."""


class RescuedStream(ByteStream):
    """Keeps a second descriptor of the socket during a long upload, and reads it when the first one is gone."""

    def __init__(self, stream: ByteStream) -> None:
        self._inner = stream
        self._spare: socket.socket | None = None

    @property
    def extra_attributes(self) -> Mapping[Any, Callable[[], Any]]:
        """Those of the socket."""
        return self._inner.extra_attributes

    async def send(self, item: bytes) -> None:
        """Send bytes."""
        if len(item) > LONG and self._spare is None:
            try:
                self._spare = self._inner.extra(SocketAttribute.raw_socket).dup()
            except OSError:
                self._spare = None  # No descriptor is left: the upload works without.
        try:
            await self._inner.send(item)
        except BrokenResourceError:
            if self._spare is None:
                raise
            # Not an error yet: TLS reads nothing after one, and if nothing is left, receive raises it.

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """Return received bytes, also those from before a reset."""
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


async def rescue_uploads(event: str, info: Mapping[str, Any]) -> None:
    """Trace extension of httpcore: wrap the stream of a new connection."""
    if event == "connection.connect_tcp.complete":
        stream = info["return_value"]
        stream._stream = RescuedStream(stream._stream)
