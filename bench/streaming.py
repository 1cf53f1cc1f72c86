"""The program's share of a core while an answer arrives: ``ponder`` itself, in a terminal, asking a server over HTTP.

    python -m bench.streaming [--rates 200,1000] [--seconds 10] [--kind prose]

The server sends one word per packet, as providers do, and is a process of its own. Taken is the CPU time of all threads
of the program, from one second after the first word to the last one: nothing watches within the program, and nobody
types. Linux only. The last line is JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.words import tokens
from tests.e2e.terminal import Terminal, environment

LIMITS = {200: 0.09, 1000: 0.15}
CONFIG = """model = "bench/words"

[providers.bench]
wire = "openai-chat"
auth = "none"
base_url = "http://127.0.0.1:{port}/v1"
"""
MODELS = {"object": "list", "data": [{"id": "words", "object": "model"}]}


class Server:
    """Lists one model, and answers every prompt at a rate."""

    def __init__(self, folder: Path, words: list[str], rate: float) -> None:
        self._folder, self._words, self._rate = folder, words, rate

    async def serve(self) -> None:
        """Answer until the process is ended; ``port`` is written when it listens."""
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        (self._folder / "port.new").write_text(str(server.sockets[0].getsockname()[1]), encoding="ascii")
        (self._folder / "port.new").rename(self._folder / "port")
        await server.serve_forever()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        if head.startswith(b"get"):
            body = json.dumps(MODELS).encode()
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body))
            writer.write(body)
        else:
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
            await self._stream(writer)
        await writer.drain()
        writer.close()

    async def _stream(self, writer: asyncio.StreamWriter) -> None:
        (self._folder / "begun").touch()
        begun = time.perf_counter()
        for number, word in enumerate(self._words):
            await asyncio.sleep(max(0.0, begun + number / self._rate - time.perf_counter()))
            writer.write(_chunk({"delta": {"content": word}, "finish_reason": None}))
            await writer.drain()
        (self._folder / "ended").touch()
        writer.write(_chunk({"delta": {}, "finish_reason": "stop"}) + b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")


def _chunk(choice: dict[str, object]) -> bytes:
    event = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "words"}
    line = b"data: " + json.dumps({**event, "choices": [{"index": 0, **choice}]}).encode() + b"\n\n"
    return b"%x\r\n%s\r\n" % (len(line), line)


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def share_of_a_core(rate: float, seconds: float, kind: str) -> float:
    """Run the program with one answer."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [sys.executable, "-m", "bench.streaming", "--serve", name]
        server = subprocess.Popen([*command, "--rates", str(rate), "--seconds", str(seconds), "--kind", kind])
        try:
            _wait(folder / "port", time.sleep)
            port = (folder / "port").read_text(encoding="ascii")
            config = folder / "home" / "config" / "config.toml"
            config.parent.mkdir(parents=True)
            config.write_text(CONFIG.format(port=port), encoding="utf-8")
            given = environment(folder, PONDER_HOME=str(folder / "home"))
            program = [sys.executable, "-m", "tui"]
            with Terminal(program, given, size=(120, 40), parsed=False, started=True) as terminal:
                for _ in range(100):  # what the program does after its first screen is over
                    terminal.pump(0.02)
                terminal.type("hello\r")
                _wait(folder / "begun", terminal.pump)
                after = time.perf_counter() + 1
                while time.perf_counter() < after:
                    terminal.pump(0.02)
                used, begun = _cpu_s(terminal.process.pid), time.perf_counter()
                _wait(folder / "ended", terminal.pump)
                return (_cpu_s(terminal.process.pid) - used) / (time.perf_counter() - begun)
        finally:
            server.kill()
            server.wait()


def _wait(mark: Path, meanwhile: Callable[[float], object]) -> None:
    until = time.perf_counter() + 60
    while not mark.exists():
        if time.perf_counter() > until:
            raise SystemExit(f"{mark.name} did not come")
        meanwhile(0.02)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rates", default="200,1000")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--kind", default="prose")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    wish = parser.parse_args()
    rates = [float(word) for word in wish.rates.split(",")]
    if wish.serve is not None:
        words = tokens(wish.kind, int(rates[0] * wish.seconds))
        asyncio.run(Server(wish.serve, words, rates[0]).serve())
        return
    results = {f"{rate:g}": round(share_of_a_core(rate, wish.seconds, wish.kind), 4) for rate in rates}
    for rate, share in results.items():
        limit = LIMITS.get(int(float(rate)))
        judged = "" if limit is None else f"  limit {limit:.0%}  {'ok' if share <= limit else 'TOO MUCH'}"
        print(f"{rate:>5} tokens/s {share:7.1%}{judged}")
    print(json.dumps({"bench": "streaming", "kind": wish.kind, "results": results}))


if __name__ == "__main__":
    main()
