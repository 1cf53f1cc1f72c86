"""Plays the steps of one answer onto a raw socket: framing, meaning, and everything that can go wrong."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import struct
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.faultserver.renderers import BILL, PINGS, SPEAKERS
from tui.providers.demo.responses import Break, Call, DemoUsage, Encoder, Say, Think

Step = Mapping[str, Any]


@dataclass
class Seen:
    """A request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    at: float
    closed_at: float | None = None
    """When the client hung up on a held line."""

    @property
    def json(self) -> dict[str, Any]:
        body: dict[str, Any] = json.loads(self.body or b"{}")
        return body


class Stop(Exception):
    """The connection is over."""


@dataclass
class Line:
    """Head and body of one answer, in whatever framing and compression."""

    wire: str
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    seen: Seen
    stem: str = "5eed"
    bill: DemoUsage = BILL
    model: str = "served-model"

    def __post_init__(self) -> None:
        speaker, self.content_type = SPEAKERS[self.wire]
        self.speaker: Encoder = speaker(self.model, self.stem)
        self.framing = "chunked"
        self.cut: int | None = None
        self.headed = False
        self.packer: zlib._Compress | None = None
        self.calls = False

    async def head(self, step: Step) -> None:
        if self.headed:
            return
        self.headed = True
        self.framing = str(step.get("framing", "chunked"))
        self.packing = step.get("packing")
        if self.packing:
            self.packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        body = step.get("body")
        if "json" in step:
            body = json.dumps(step["json"]).encode()
        headers: dict[str, object] = {
            "content-type": step.get("ct", "application/json" if "json" in step else self.content_type)
        }
        if body is not None:
            self.framing = "length"
            headers["content-length"] = len(body)
        elif self.framing == "chunked":
            headers["transfer-encoding"] = "chunked"
        elif self.framing == "close":
            headers["connection"] = "close"
        elif self.framing.startswith("cl:"):
            headers["content-length"] = self.framing[3:]
        if self.packing:
            headers["content-encoding"] = "gzip"
        headers |= step.get("h", {})
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items() if value is not None)
        await self.raw(f"HTTP/1.1 {step.get('status', 200)} Said\r\n{lines}\r\n".encode())
        if body is not None:
            await self.raw(body)

    async def body(self, data: bytes) -> None:
        if self.packer is not None:
            data = self.packer.compress(data) + self.packer.flush(zlib.Z_SYNC_FLUSH)
        if self.cut is not None:
            for at in range(0, len(data), self.cut):
                await self.raw_chunk(data[at : at + self.cut])
        else:
            await self.raw_chunk(data)

    async def raw_chunk(self, data: bytes) -> None:
        if data:
            await self.raw(b"%x\r\n%b\r\n" % (len(data), data) if self.framing == "chunked" else data)

    async def raw(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def finish(self) -> None:
        if self.packer is not None and self.packing == "ok":
            await self.raw_chunk(self.packer.flush())
        if self.framing == "chunked":
            await self.raw(b"0\r\n\r\n")
        elif self.framing != "length":
            raise Stop


class Meaning(Line):
    """Steps that mean something on the wire."""

    def opening(self) -> list[bytes]:
        if getattr(self, "opened", False):
            return []
        self.opened = True
        return list(self.speaker.begin(self.bill))

    async def frames(self, frames: list[bytes], only: int = 0) -> None:
        for frame in frames[:only] if only else frames:
            await self.body(frame)

    async def do_say(self, step: Step) -> None:
        piece = Think(str(step["text"])) if step["say"] == "thinking" else Say(str(step["text"]))
        await self.frames([*self.opening(), *self.speaker.piece(piece)], int(step.get("only", 0)))

    async def do_call(self, step: Step) -> None:
        self.calls = True
        await self.frames([*self.opening(), *self.speaker.piece(Call(str(step["call"]), json.dumps(step["args"])))])

    async def do_error(self, step: Step) -> None:
        await self.frames([*self.opening(), *self.speaker.piece(Break("overloaded"))])

    async def do_end(self, step: Step) -> None:
        await self.frames([*self.opening(), *self.speaker.end(self.bill, calls=self.calls)])

    async def do_raw(self, step: Step) -> None:
        raw = step["raw"]
        await self.body(raw.encode() if isinstance(raw, str) else raw)

    async def do_sse(self, step: Step) -> None:
        for event in step["sse"]:
            name = f"event: {event['type']}\n" if "type" in event else ""
            await self.body(f"{name}data: {json.dumps(event)}\n\n".encode())


class Player(Meaning):
    """All steps: ``do_VERB`` for each."""

    async def play(self, script: Sequence[Step]) -> None:
        for step in script:
            await self.step(dict(step))
        if not self.headed:
            await self.head({})
        await self.finish()

    async def step(self, step: Step) -> None:
        for verb in list(step):
            handler = getattr(self, f"do_{verb}", None)
            if handler is not None:
                if verb not in ("status", "sleep", "wait", "hold", "rst", "eof", "chunk", "redirect", "huge_header"):
                    await self.head({})
                await handler(step)
                return
        raise AssertionError(f"no such step {step}")

    async def do_status(self, step: Step) -> None:
        await self.head(step)

    async def do_redirect(self, step: Step) -> None:
        await self.head({"status": step.get("code", 307), "h": {"location": step["redirect"]}, "body": b""})

    async def do_huge_header(self, step: Step) -> None:
        await self.head({"h": {"x-flood": "x" * int(step["huge_header"])}})

    async def do_bomb(self, step: Step) -> None:
        assert self.packer is not None, "a bomb is packed"
        for _ in range(int(step["bomb"])):
            await self.raw_chunk(self.packer.compress(b" " * 1_000_000))
            await asyncio.sleep(0)

    async def do_chunk(self, step: Step) -> None:
        self.cut = step["chunk"]

    async def do_garbage(self, step: Step) -> None:
        await self.raw(bytes(range(128, 256)) * 8)
        raise Stop

    async def do_badgzip(self, step: Step) -> None:
        await self.raw_chunk(gzip.compress(b"x" * 100)[:10] + b"\xff" * 64)

    async def do_sleep(self, step: Step) -> None:
        await asyncio.sleep(float(step["sleep"]))

    async def do_wait(self, step: Step) -> None:
        """Say nothing until the test sets the event."""
        await step["wait"].wait()

    async def do_ping(self, step: Step) -> None:
        every, times = step["ping"]
        for _ in range(int(times)):
            await asyncio.sleep(float(every))
            await self.raw_chunk(PINGS.get(self.wire, b": ping\n\n"))

    async def do_drip(self, step: Step) -> None:
        every, data = step["drip"]
        for byte in data:
            await asyncio.sleep(float(every))
            await self.raw_chunk(bytes([byte]))

    async def do_hold(self, step: Step) -> None:
        """Say nothing until the client hangs up."""
        while await self.reader.read(65536):
            pass
        self.seen.closed_at = time.monotonic()
        raise Stop

    async def do_eof(self, step: Step) -> None:
        raise Stop

    async def do_rst(self, step: Step) -> None:
        await asyncio.sleep(0.02)
        raw: socket.socket | None = self.writer.get_extra_info("socket")
        if raw is not None:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()
        raise Stop

    async def do_cut_chunk(self, step: Step) -> None:
        await self.raw(b"400\r\nnot all of it")
        raise Stop

    async def do_bad_chunk(self, step: Step) -> None:
        await self.raw(b"zz\r\nwhat\r\n")
        raise Stop
