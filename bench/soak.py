"""What grows: ``python -m bench.soak [--turns 10000] [--per-session 50]``; the last line is JSON.

The whole program below the screen (services, engine, transport, store) against a server on this machine, in a process
of its own so that only the program's memory is measured. Of 100 turns 70 are plain, 20 use one tool, 5 are cancelled
while they stream, 5 meet a fault (a cut stream, an HTTP 500, a refusal). ``--per-session 0`` is one long session.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import overload

from bench.words import WORDS
from tests.faultserver.player import Seen, Step
from tests.faultserver.server import FaultServer
from tui.app.current_session import CurrentSession, first_spec
from tui.app.launch_options import LaunchOptions
from tui.app.provider_availability import ProviderAvailability
from tui.app.services import AppServices
from tui.app.sqlite_sessions import SqliteSessions
from tui.bootstrap.program import build_program
from tui.domain.blocks import TextBlock, ToolCallBlock, ToolResultBlock
from tui.domain.events import RetryScheduled, Streamed, TurnFailed, TurnFinished
from tui.domain.request import ToolSchema
from tui.domain.stream import TextDelta
from tui.domain.tool_run import ToolRun
from tui.engine.ports import NoTools

MIX = (("plain", 70), ("tool", 20), ("cancel", 5), ("cut", 2), ("http500", 2), ("refused", 1))
WARM = 1_000
"""Turns before the slope is measured: caches fill, modules load."""
EVERY = 100
MODEL = "anthropic/claude-opus-5/low"


DICE = random.Random(10)


def text_of(words: int) -> str:
    """So many words."""
    return " ".join(DICE.choices(WORDS, k=words))


class Answers(Sequence[list[Step]]):
    """Chosen by what the last request says; forgets the requests that are answered."""

    def __init__(self, seen: list[Seen]) -> None:
        self._seen = seen
        self._broken: set[str] = set()

    def __len__(self) -> int:
        return 1

    @overload
    def __getitem__(self, place: int) -> list[Step]: ...
    @overload
    def __getitem__(self, place: slice) -> list[list[Step]]: ...
    def __getitem__(self, place: int | slice) -> list[Step] | list[list[Step]]:
        asked = self._seen[-1]
        del self._seen[:-1]
        content = asked.json["messages"][-1]["content"]
        last = content if isinstance(content, str) else json.dumps(content[-1])
        word = next((kind for kind, _ in MIX if f"please {kind} " in last), "plain")
        if "tool_result" in last:
            word = "plain"
        again = last in self._broken
        if word in ("cut", "http500") and not again:
            self._broken = {last}
        return self._script("plain" if again else word)

    def _script(self, word: str) -> list[Step]:
        thought: Step = {"say": "thinking", "text": text_of(40)}
        words: Step = {"say": "text", "text": text_of(60)}
        match word:
            case "tool":
                return [thought, {"call": "weather", "args": {"city": "Ulm"}}, {"end": 1}]
            case "cancel":
                return [thought, words, {"hold": 1}]
            case "cut":
                return [thought, {"eof": 1}]
            case "http500":
                return [{"status": 500, "json": {"type": "error", "error": {"type": "api_error", "message": "oh"}}}]
            case "refused":
                refusal = {"type": "invalid_request_error", "message": "no such thing"}
                return [{"status": 400, "json": {"type": "error", "error": refusal}}]
        return [thought, words, {"end": 1}]


async def serve() -> None:
    """Serve until stdin ends; the address is the first line out."""
    server = FaultServer([], own_ids=True)
    server.scripts = Answers(server.seen)
    async with server:
        print(server.url, flush=True)
        await asyncio.to_thread(sys.stdin.read)


@contextmanager
def a_server() -> Iterator[str]:
    """The server's address."""
    command = [sys.executable, "-m", "bench.soak", "--serve"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.wait()


class Weather(NoTools):
    """One tool."""

    def schemas(self) -> tuple[ToolSchema, ...]:
        """It."""
        city = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
        return (ToolSchema(name="weather", description="The weather.", parameters=city),)

    async def run(self, call: ToolCallBlock, run: ToolRun) -> ToolResultBlock:
        """Rain."""
        return ToolResultBlock(call_id=call.call_id, name=call.name, content=(TextBlock(text="rain " * 20),))


@dataclass(frozen=True)
class Sample:
    """The process after so many turns."""

    turns: int
    kb: int
    handles: int
    threads: int
    tasks: int


@dataclass
class Soak:
    """The program, talking."""

    services: AppServices
    current: CurrentSession
    home: Path
    told: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)
    samples: list[Sample] = field(default_factory=list)
    largest_wal: int = 0

    async def talk(self, turns: int, per_session: int, seconds: float) -> int:
        """As many turns as fit into the time."""
        end = time.monotonic() + seconds
        for number in range(turns):
            if per_session and number and number % per_session == 0:
                await self.services.chat.new_session()
            await self._turn(number)
            self.largest_wal = max(self.largest_wal, (self.home / "data" / "sessions.db-wal").stat().st_size)
            if number % EVERY == EVERY - 1:
                self.samples.append(await self._sample(number + 1))
                print(self.samples[-1], file=sys.stderr, flush=True)
            if time.monotonic() > end:
                return number + 1
        return turns

    async def _turn(self, number: int) -> None:
        words, weights = zip(*MIX, strict=True)
        [word] = DICE.choices(words, weights)
        self.told[word] += 1
        _, subscription = self.services.chat.attach()
        await self.services.chat.submit((TextBlock(text=f"please {word} number {number}: {text_of(20)}"),))
        async for batch in subscription.batches(0):
            events = [stamped.event for stamped in batch]
            if any(isinstance(event, RetryScheduled) for event in events):
                await self.services.chat.answer_now(())
            if word == "cancel" and any(isinstance(e, Streamed) and isinstance(e.event, TextDelta) for e in events):
                await self.services.chat.cancel()
            last = next((event for event in events if isinstance(event, TurnFinished | TurnFailed)), None)
            if last is not None:
                self.ended[type(last).__name__] += 1
                break
        subscription.close()

    async def _sample(self, turns: int) -> Sample:
        async def tasks() -> int:
            return len(asyncio.all_tasks())

        kb = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() // 1024
        handles = len(list(Path("/proc/self/fd").iterdir()))
        return Sample(turns, kb, handles, threading.active_count(), await self.current.call(tasks()))


async def soak(home: Path, url: str, chosen: argparse.Namespace) -> dict[str, object]:
    """Build the program as ``ponder`` does, and let it talk."""
    around = {"PONDER_HOME": str(home), "ANTHROPIC_API_KEY": "sk-test-0123456789abcdef0123456789"}
    program = build_program(around, LaunchOptions(model=MODEL, folder=home))
    program.session_toolbox = Weather()
    availability = ProviderAvailability(program)
    availability.look_for_keys(stored=False)
    program.planner.catalog = program.catalog.with_base_url("anthropic", url)
    storage = SqliteSessions(program.paths.database, time.time, program.keys.redactor.clean_content)
    program.engine.start()
    current = CurrentSession(program, storage, interactive=True)
    current.start(first_spec(program, availability.ready()))
    talking = Soak(AppServices(current, availability, storage), current, home)
    began = time.monotonic()
    turns = await talking.talk(chosen.turns, chosen.per_session, chosen.seconds)
    spent = time.monotonic() - began
    stored = sum(row.turns for row in await storage.sessions(limit=100_000))
    await current.close()
    await storage.aclose()
    await asyncio.to_thread(program.close)
    late = [sample for sample in talking.samples if sample.turns >= min(WARM, turns // 2)]
    slope = statistics.linear_regression([s.turns for s in late], [s.kb for s in late]).slope if len(late) > 1 else None
    return {
        "bench": "soak",
        "turns": turns,
        "per_session": chosen.per_session,
        "seconds": round(spent, 1),
        "told": dict(talking.told),
        "ended": dict(talking.ended),
        "turns_stored": stored,
        "kb_per_turn": None if slope is None else round(slope, 3),
        "mb": [round(late[0].kb / 1e3, 1), round(late[-1].kb / 1e3, 1)] if late else None,
        "handles": sorted({sample.handles for sample in late}),
        "threads": sorted({sample.threads for sample in late}),
        "tasks": sorted({sample.tasks for sample in late}),
        "largest_wal_mb": round(talking.largest_wal / 1e6, 2),
    }


def main() -> None:
    """Print the figures."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--turns", type=int, default=10_000)
    arguments.add_argument("--per-session", type=int, default=50)
    arguments.add_argument("--seconds", type=float, default=3_600, help="end after so long, whatever is left")
    arguments.add_argument("--serve", action="store_true", help="be the server")
    chosen = arguments.parse_args()
    if chosen.serve:
        asyncio.run(serve())
        return
    with tempfile.TemporaryDirectory() as folder, a_server() as url:
        print(json.dumps(asyncio.run(soak(Path(folder), url, chosen))))


if __name__ == "__main__":
    main()
