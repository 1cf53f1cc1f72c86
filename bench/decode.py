"""Bytes to typed events: ours, the vendors' clients and the limits, in one interleaved run; the last line is JSON.

    python -m bench.decode [--wires a,b] [--deltas N] [--repeats N] [--vendor-python PATH]

Every measurement runs in a process of its own and is CPU time of that process alone; the server is another process.
A contender that cannot be imported is left out with a note; one that saw something else than was sent is marked.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.decode_contenders import FROM_MEMORY, FROM_NETWORK, IMPOSSIBLE, NEEDS_VENDORS, NOTHING
from bench.decode_streams import WRITERS, stream

ROOT = Path(__file__).resolve().parents[2]
TARGETS = {
    "ours": {"bare": 2.0},
    "net-ours": {"net-raw": 1.4},
    "net-backend": {"net-raw": 1.4},
}
"""At most so many times the CPU of the other."""
CHEAPER_THAN_SDK = {"anthropic": 2.4, "openai-responses": 7.0, "openai-chat": 7.0, "openrouter": 7.0, "gemini": 12.0}
WARM_UP_DELTAS = 200
ASKED_BY = {
    "anthropic": "/messages",
    "openai-responses": "/responses",
    "openrouter": "/openrouter/",
    "openai-chat": "/chat/completions",
    "gemini": ":streamgeneratecontent",
    "ollama": "/api/chat",
}
"""What the path of a request for a stream holds, whoever built the rest of it; the first that fits."""
BURST = 1000
"""Events written at once: the reader is never waiting, so only its work is measured."""


# the server


async def serve(deltas: int) -> None:
    """Answer any POST with the stream of the wire its path belongs to, one HTTP chunk for each event."""
    bodies = {}
    for wire in WRITERS:
        for size in (WARM_UP_DELTAS, deltas):
            made = stream(wire, size)
            bodies[wire, size] = made.content_type, [b"%x\r\n%s\r\n" % (len(event), event) for event in made.events]

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                fields = head.decode().lower().split("\r\n")
                length = next((int(line[15:]) for line in fields if line.startswith("content-length:")), 0)
                await reader.readexactly(length)
                size = WARM_UP_DELTAS if "/warm/" in fields[0] else deltas
                wire = next(name for name, words in ASKED_BY.items() if words in fields[0])
                content_type, chunks = bodies[wire, size]
                start = f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nTransfer-Encoding: chunked\r\n\r\n"
                writer.write(start.encode())
                for at in range(0, len(chunks), BURST):
                    writer.write(b"".join(chunks[at : at + BURST]))
                    await writer.drain()
                writer.write(b"0\r\n\r\n")
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()


# one measurement


def measure(name: str, wire: str, deltas: int, port: int) -> dict[str, Any]:
    """CPU seconds of one contender on one stream, after a short stream to warm up."""
    if name in FROM_MEMORY:
        read = FROM_MEMORY[name]
        read(b"".join(stream(wire, WARM_UP_DELTAS).events), wire)
        body = b"".join(stream(wire, deltas).events)
        start = time.process_time()
        seen = read(body, wire)
        return {"cpu_s": time.process_time() - start, **asdict(seen)}

    async def go() -> dict[str, Any]:
        make = FROM_NETWORK[name]
        await make(f"http://127.0.0.1:{port}/warm", wire)()
        read = make(f"http://127.0.0.1:{port}", wire)
        begin = time.process_time()
        seen = await read()
        return {"cpu_s": time.process_time() - begin, **asdict(seen)}

    return asyncio.run(go())


# the run


def python_for(name: str, args: argparse.Namespace) -> str:
    return args.vendor_python if name in NEEDS_VENDORS else sys.executable


def command(python: str, *words: str) -> list[str]:
    return [python, "-m", "bench.decode", *words]


def one(name: str, wire: str, args: argparse.Namespace, port: int) -> dict[str, Any]:
    """Measure in a fresh process."""
    words = ["--measure", name, "--wires", wire, "--deltas", str(args.deltas), "--port", str(port)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command(python_for(name, args), *words), cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["no reason given"])[-1][:200]}
    measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return measured


def run_wire(wire: str, args: argparse.Namespace, port: int) -> dict[str, Any]:
    """Every contender on one wire, round after round."""
    made = stream(wire, args.deltas)
    sent = {"thinking": made.thinking, "text": made.text, "args": made.args}
    limits = {key: getattr(NOTHING, key) for key in sent}
    names = [name for name in (*FROM_MEMORY, *FROM_NETWORK) if (name, wire) not in IMPOSSIBLE]
    rounds: dict[str, list[float]] = {name: [] for name in names}
    notes: dict[str, str] = {}
    for _ in range(args.repeats):
        for name in names:
            if name in notes:
                continue
            result = one(name, wire, args, port)
            if "error" in result:
                notes[name] = result["error"]
            elif {key: result[key] for key in sent} not in (sent, limits):
                notes[name] = f"saw {result}, sent {sent}"
            else:
                rounds[name].append(result["cpu_s"])
    cpu = {name: statistics.median(times) for name, times in rounds.items() if times}
    return {
        "events": len(made.events),
        "bytes": sum(map(len, made.events)),
        "us_per_event": {name: round(seconds / len(made.events) * 1e6, 2) for name, seconds in cpu.items()},
        "ratios": ratios(wire, cpu),
        "notes": notes,
    }


def ratios(wire: str, cpu: dict[str, float]) -> dict[str, Any]:
    """Ours against each limit and each vendor, with the target and whether it is met."""
    found = {}
    for name, others in TARGETS.items():
        for other, most in others.items():
            if name in cpu and other in cpu:
                times = cpu[name] / cpu[other]
                found[f"{name} / {other}"] = {"times": round(times, 2), "at_most": most, "met": times <= most}
    if "net-sdk" in cpu and "net-ours" in cpu:
        times, least = cpu["net-sdk"] / cpu["net-ours"], CHEAPER_THAN_SDK[wire]
        found["net-sdk / net-ours"] = {"times": round(times, 2), "at_least": least, "met": times >= least}
    if "net-httpx-sse" in cpu and "net-ours" in cpu:
        found["net-httpx-sse / net-ours"] = {"times": round(cpu["net-httpx-sse"] / cpu["net-ours"], 2)}
    return found


def show(wire: str, result: dict[str, Any]) -> None:
    print(f"\n{wire}: {result['events']} events, {result['bytes'] / 1e6:.1f} MB")
    for name, cost in sorted(result["us_per_event"].items(), key=lambda item: item[1]):
        print(f"  {name:16}{cost:9.2f} us/event")
    for name, ratio in result["ratios"].items():
        limit = f"at most {ratio['at_most']}" if "at_most" in ratio else f"at least {ratio.get('at_least', '-')}"
        print(f"  {name:28}{ratio['times']:8.2f}  ({limit}) {'' if ratio.get('met', True) else 'MISSED'}")
    for name, note in result["notes"].items():
        print(f"  {name:16} left out: {note}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wires", default=",".join(WRITERS))
    parser.add_argument("--deltas", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--vendor-python", default=sys.executable, help="interpreter that has the vendors' clients")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, default=0, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        asyncio.run(serve(args.deltas))
        return
    if args.measure:
        print(json.dumps(measure(args.measure, args.wires, args.deltas, args.port)))
        return
    words = command(sys.executable, "--serve", "--deltas", str(args.deltas))
    with subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        port = int(server.stdout.readline())
        results = {}
        for wire in args.wires.split(","):
            results[wire] = run_wire(wire, args, port)
            show(wire, results[wire])
        server.stdin.close()
    print(json.dumps({"bench": "decode", "deltas": args.deltas, "repeats": args.repeats, "wires": results}))


if __name__ == "__main__":
    main()
