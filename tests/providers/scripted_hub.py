"""A hub on this machine: a list of files, redirects to a server with the contents, and what goes wrong with either."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self

from tests.faultserver.listener import Listener

REPOSITORY = "Qwen/Tiny-GGUF"


@dataclass(frozen=True)
class Asked:
    """A request that arrived."""

    path: str
    headers: Mapping[str, str]


@dataclass
class Contents(Listener):
    """Sends the files' bytes; each request may be cut off after a number of them."""

    files: Mapping[str, bytes]
    cuts: list[int | None] = field(default_factory=list)
    """For each request in turn, after how many bytes the connection breaks; None, or nothing left: never."""
    takes_ranges: bool = True
    asked: list[Asked] = field(default_factory=list)
    holding: asyncio.Event | None = None
    """If set, every answer stops in the middle until this event."""
    at_the_middle: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                asked = await read_request(reader)
                self.asked.append(asked)
                if not await self._answer(asked, writer):
                    writer.transport.abort()
                    return

    async def _answer(self, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        content = self.files[asked.path.lstrip("/")]
        start, status = 0, "200 OK"
        more = ""
        if self.takes_ranges and (found := re.fullmatch(r"bytes=(\d+)-", asked.headers.get("range", ""))):
            start = int(found[1])
            if start >= len(content):
                writer.write(b"HTTP/1.1 416 Range Not Satisfiable\r\ncontent-length: 0\r\n\r\n")
                return True
            status = "206 Partial Content"
            more = f"content-range: bytes {start}-{len(content) - 1}/{len(content)}\r\n"
        body = content[start:]
        writer.write(f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n{more}\r\n".encode())
        if self.holding is not None:
            writer.write(body[: len(body) // 2])
            await writer.drain()
            self.at_the_middle.set()
            await self.holding.wait()
            body = body[len(body) // 2 :]
        cut = self.cuts.pop(0) if self.cuts else None
        writer.write(body[:cut])
        await writer.drain()
        if cut is not None:  # closed, not reset: what was sent arrives
            writer.close()
            await writer.wait_closed()
            return False
        return True


@dataclass
class ScriptedHub(Listener):
    """Lists files and redirects to where their contents are."""

    files: dict[str, bytes]
    stated: dict[str, str] = field(default_factory=dict)
    """Checksums that differ from the true ones; "" for none."""
    refusal: tuple[int, dict[str, str]] | None = None
    """The answer to every request for a file."""
    no_list: tuple[int, dict[str, str]] | None = None
    """The answer to every request for the list."""
    redirect: str = ""
    """Where to redirect instead."""
    asked: list[Asked] = field(default_factory=list)

    async def __aenter__(self) -> Self:
        self.contents = Contents(self.files)
        await self.contents.__aenter__()
        return await super().__aenter__()

    async def __aexit__(self, *details: object) -> None:
        await super().__aexit__(*details)
        await self.contents.__aexit__(*details)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                asked = await read_request(reader)
                self.asked.append(asked)
                status, headers, body = self._answer(asked.path)
                lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
                writer.write(f"HTTP/1.1 {status} X\r\ncontent-length: {len(body)}\r\n{lines}\r\n".encode() + body)
                await writer.drain()

    def _answer(self, path: str) -> tuple[int, dict[str, str], bytes]:
        if path == f"/api/models/{REPOSITORY}/tree/main?recursive=true":
            return (*self.no_list, b"") if self.no_list else (200, {}, json.dumps(self._list()).encode())
        _, found, file = path.partition(f"/{REPOSITORY}/resolve/main/")
        if found and self.refusal:
            return (*self.refusal, b"")
        if found and file in self.files:
            return 302, {"location": self.redirect or f"{self.contents.url}/{file}"}, b"Found. Redirecting"
        return 404, {"x-error-code": "EntryNotFound" if found else "RepoNotFound"}, b""

    def _list(self) -> list[dict[str, object]]:
        entries: list[dict[str, object]] = [{"type": "directory", "path": "Q8_0"}]
        for path, content in self.files.items():
            oid = self.stated.get(path, hashlib.sha256(content).hexdigest())
            lfs = {"lfs": {"oid": oid, "size": len(content), "pointerSize": 134}} if oid else {}
            entries.append({"type": "file", "path": path, "size": len(content), "oid": "0" * 40, **lfs})
        return entries


async def read_request(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in head[1:] if line)
    return Asked(path=head[0].split()[1], headers={name.lower(): value for name, value in headers.items()})
