"""An MCP server over HTTP without the SDK: it restarts, and refuses, as a test says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any


@dataclass
class PlainHttpMcp:
    """One tool, ``go``, which says in how many sessions it was called."""

    address: str = ""
    session: int = 0
    forgotten: tuple[int, dict[str, object]] | None = None
    """Status and error of a call in a session that the server no longer knows; the next session works."""
    encoding: str = ""
    """The content encoding that the answers to calls claim to have."""
    refusal: int = 0
    """Status of every answer."""

    def answer(self, message: dict[str, Any]) -> tuple[int, object]:
        """Status and body."""
        if self.refusal:
            return self.refusal, None
        number = message.get("id")
        if message["method"] == "initialize":
            self.session += 1
            about = {"name": "plain", "version": "1"}
            version = message["params"]["protocolVersion"]
            result: object = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
        elif number is None:
            return 202, None
        elif message["method"] == "tools/list":
            result = {"tools": [{"name": "go", "description": "goes", "inputSchema": {"type": "object"}}]}
        elif self.forgotten is not None:
            (status, error), self.forgotten = self.forgotten, None
            return status, {"jsonrpc": "2.0", "id": None, "error": error}
        else:
            result = {"content": [{"type": "text", "text": f"session {self.session}"}]}
        return 200, {"jsonrpc": "2.0", "id": number, "result": result}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = next((int(row.split(":")[1]) for row in head.split("\r\n") if row.startswith("content-length")), 0)
        body = await reader.readexactly(length)
        status, answer = self.answer(json.loads(body)) if head.startswith("post") else (405, None)
        data = b"" if answer is None else json.dumps(answer).encode()
        more = f"content-type: application/json\r\nmcp-session-id: {self.session}\r\n" if answer is not None else ""
        if self.encoding and b"tools/call" in body:
            more += f"content-encoding: {self.encoding}\r\n"
        writer.write(f"HTTP/1.1 {status} X\r\n{more}content-length: {len(data)}\r\nconnection: close\r\n\r\n".encode())
        writer.write(data)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def plain_http_mcp() -> AsyncIterator[PlainHttpMcp]:
    """The server at an address of this machine."""
    server = PlainHttpMcp()
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.address = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/mcp"
    async with listening:
        yield server
