"""A listening socket on this machine whose connections do not outlive it."""

from __future__ import annotations

import asyncio
import ssl
from typing import Self

STEPS_TO_BEGIN = 5
"""Steps of the event loop from an accepted connection to its ``serve``: ended before, it would never be closed."""


class Listener:
    """Accepts connections while it is entered; ``serve`` of a subclass says what happens on each."""

    tls: ssl.SSLContext | None = None
    port: int

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        self._writers: list[asyncio.StreamWriter] = []
        self._server = await asyncio.start_server(self._accepted, "127.0.0.1", 0, ssl=self.tls, limit=2**24)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for _step in range(STEPS_TO_BEGIN):
            await asyncio.sleep(0)
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.sleep(0)

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        try:
            await self.serve(reader, writer)
        except asyncio.CancelledError:
            writer.transport.abort()  # of a connection that was accepted while the test ended
        else:
            writer.close()
