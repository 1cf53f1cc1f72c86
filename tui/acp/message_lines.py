"""Messages of the protocol as lines of JSON on stdin and stdout.

What is no message is answered as such: the agent goes on for an editor that sends one wrong line.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from acp.exceptions import RequestError

LONGEST = 50_000_000


class MessageLines:
    """The transport that the connection reads from and writes to."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None at the end."""
        while True:
            try:
                line = await self._reader.readline()
            except ValueError:  # the rest of the line is no message either
                await self._refuse(RequestError.parse_error({"details": f"A line has more than {LONGEST:,} bytes."}))
                continue
            if not line:
                return None
            if not line.strip():
                continue
            try:
                message = json.loads(line)
            except (ValueError, RecursionError) as error:
                await self._refuse(RequestError.parse_error({"details": str(error)}))
                continue
            if isinstance(message, dict):
                return message
            await self._refuse(RequestError.invalid_request({"details": "A message is a JSON object."}))

    async def send(self, message: dict[str, Any]) -> None:
        self._writer.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        await self._writer.drain()

    async def close(self) -> None:
        """Every message was flushed; stdout is closed by the end of the program."""

    async def _refuse(self, error: RequestError) -> None:
        await self.send({"jsonrpc": "2.0", "id": None, "error": error.to_error_obj()})
