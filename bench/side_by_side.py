"""CPU of four streams with one of them on the screen, against one such stream: ``python -m bench.side_by_side``.

The server is a process of its own, so only the program's own time counts. Prints JSON.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import tempfile
import time
from collections.abc import AsyncIterator
from multiprocessing.connection import Connection
from pathlib import Path

from tests.app.screen_stage import screen
from tests.app.side_server import SideServer, Words, said
from tests.app.stage import config

STREAMS = (1, 4, 1, 4)
TOKENS_A_SECOND = 200
SECONDS = 8
MEASURED_S = 5.0


async def script(prompt: str) -> AsyncIterator[Words]:
    """An answer at an even rate, in paragraphs."""
    began = time.monotonic()
    for number in range(TOKENS_A_SECOND * SECONDS):
        await asyncio.sleep(max(0.0, began + number / TOKENS_A_SECOND - time.monotonic()))
        yield said("\n\n" if number % 60 == 59 else f"word{number} ")


def serve(line: Connection) -> None:
    """Run the server until the other end says stop."""

    async def run() -> None:
        async with SideServer(script) as server:
            line.send(server.config())
            await asyncio.to_thread(line.recv)

    asyncio.run(run())


async def measured(streams: int, text: str) -> float:
    """CPU seconds per second while so many sessions stream."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        config(home, text)
        async with screen(home, size=(120, 40), model=None, stored_in="file") as s:
            for number in range(streams):
                if number:
                    await s.house.services.chat.new_session()
                    s.app.chat.open()
                    await s.pilot.pause()
                await s.enter(f"stream{number} begins")
            await asyncio.sleep(0.5)
            cpu, wall = time.process_time(), time.monotonic()
            await asyncio.sleep(MEASURED_S)
            return (time.process_time() - cpu) / (time.monotonic() - wall)


def main() -> None:
    """Measure one and four streams in turn, twice."""
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    text = str(ours.recv())
    found: dict[int, list[float]] = {}
    try:
        for streams in STREAMS:
            found.setdefault(streams, []).append(asyncio.run(measured(streams, text)))
    finally:
        ours.send("stop")
        server.join(5)
    one, four = min(found[1]), min(found[4])
    shares = {str(streams): [round(share, 3) for share in shares] for streams, shares in found.items()}
    print(json.dumps({"cpu_per_second": shares, "four_to_one": round(four / one, 2), "limit": 1.6}))


if __name__ == "__main__":
    main()
