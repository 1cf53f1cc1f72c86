"""Raw sockets, because broken HTTP must be sent: scripted steps, one list per request, the last one repeated."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.faultserver.listener import Listener
from tests.faultserver.player import Player, Seen, Step, Stop
from tests.faultserver.renderers import BILL
from tui.providers.demo.responses import DemoUsage

Validator = Callable[[dict[str, object]], str | None]


@dataclass
class FaultServer(Listener):
    scripts: Sequence[Sequence[Step]]
    wire: str = "anthropic"
    validate: Validator | None = None
    tls: ssl.SSLContext | None = None
    proxy: bool = False
    read_body: bool = True
    own_ids: bool = False
    """Ids differ from answer to answer, as they do in life; without, equal scripts give equal bytes."""
    bill: DemoUsage = BILL
    """The usage that every answer reports."""
    honest: bool = False
    """The model that was asked for answers."""
    answers_get: bool = False
    """Without, GET is refused and neither counted nor scripted: the program asks for lists of models at any moment."""
    seen: list[Seen] = field(default_factory=list)
    connections: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with contextlib.suppress(Stop, OSError, asyncio.IncompleteReadError):
            while True:
                seen = await self._request(reader)
                if seen.method == "GET" and not self.answers_get:
                    self.seen.remove(seen)
                    await self._play(reader, writer, seen, [{"status": 404, "json": {"error": "not found"}}])
                    continue
                script = self.scripts[min(len(self.seen), len(self.scripts)) - 1]
                if self.validate is not None and (complaint := self.validate(seen.json)):
                    error = {"type": "error", "error": {"type": "invalid_request_error", "message": complaint}}
                    script = [{"status": 400, "json": error}]
                await self._play(reader, writer, seen, script)

    async def _play(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seen: Seen, script: Sequence[Step]
    ) -> None:
        stem = f"5eed{len(self.seen)}" if self.own_ids else "5eed"
        await Player(self.wire, reader, writer, seen, stem, self.bill, self._model(seen)).play(script)

    def _model(self, seen: Seen) -> str:
        named = str(seen.json.get("model") or seen.path.rpartition("/")[2].partition(":")[0])
        return named if self.honest else "served-model"

    async def _request(self, reader: asyncio.StreamReader) -> Seen:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.strip().split("\r\n")
        method, path, _ = first.split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        seen = Seen(method, path, headers, b"", time.monotonic())
        self.seen.append(seen)
        if self.read_body:
            seen.body = await reader.readexactly(int(headers.get("content-length", "0")))
        return seen
