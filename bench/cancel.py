"""How fast a cancel is, over real sockets: 500 random points of a conversation on five wires.

Run: ``python -m bench.cancel``. Prints one JSON object: milliseconds from asking to stop until the turn's end is
told, how long after it the server saw the connection close, and how many later requests a strict validator refused.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.fakes.journal import MemoryJournal
from tests.fakes.planner import FakeCompressor
from tests.fakes.toolbox import FakeToolbox
from tests.faultserver.player import Step
from tests.faultserver.server import FaultServer
from tests.validators import anthropic, chat, gemini, ollama, responses
from tui.app.program import SystemClock
from tui.catalog.catalog import packaged_catalog
from tui.domain.blocks import TextBlock
from tui.domain.events import TurnFailed, TurnFinished
from tui.domain.thinking import ModelSpec
from tui.engine.planner import Planner
from tui.engine.ports import Ports
from tui.engine.session import Opening, Session
from tui.engine.settings import EngineSettings
from tui.engine.token_meter import TokenMeter
from tui.providers.backend import ProviderBackend
from tui.providers.http.transport import Transport
from tui.providers.keys import Keys

POINTS = 500
LATEST_S = 0.06
"""The answer, its tools and the answer after them take about this long."""
ONE_WORD: Step = {"say": "text", "text": "word "}
THOUGHT: Step = {"say": "thinking", "text": "a thought "}
CALLING: list[Step] = [THOUGHT, {"send": 3}, ONE_WORD, {"call": "echo", "args": {"say": "hi"}}, {"end": 1}]
PAUSED: list[Step] = [ONE_WORD, {"sleep": 0.004}]
SPEAKING: list[Step] = [{"sleep": 0.01}, THOUGHT, *PAUSED * 8, {"end": 1}]
VALIDATORS: dict[str, Callable[[dict[str, object]], list[str]]] = {
    "anthropic": anthropic.problems,
    "openai-responses": responses.problems,
    "openai-chat": lambda body: chat.problems(body, dialect="deepseek"),
    "gemini": lambda body: gemini.problems(body, strict_thinking=False),
    "ollama": ollama.problems,
}


async def cancelled_often(wire: str, points: int, home: Path) -> tuple[list[float], list[str]]:
    """Milliseconds of every cancel, and what the validator said of the requests after them."""
    complaints: list[str] = []

    def validate(body: dict[str, object]) -> str | None:
        found = VALIDATORS[wire](body)
        complaints.extend(found)
        return found[0] if found else None

    draw = random.Random(wire)
    steps: list[Step] = [step for step in CALLING if "send" not in step]
    scripts = [steps if draw.random() < 0.5 else SPEAKING for _ in range(points * 4)]
    async with FaultServer(scripts, wire, validate=validate, own_ids=True) as server:
        row = {"wire": wire, "base_url": server.url, "auth": "none"}
        catalog = packaged_catalog().with_overrides({"providers": {"stranger": row}})
        ids = itertools.count(1)
        keys = Keys(home / "credentials.toml", environ={}, use_keyring=False)
        backend = ProviderBackend(keys, lambda: Transport(environ={}))
        planner = Planner(catalog, TokenMeter())
        ports = Ports(
            backend=backend,
            journal=MemoryJournal(),
            planner=planner,
            compressor=FakeCompressor(),
            clock=SystemClock(),
            toolbox=FakeToolbox(),
            new_id=lambda: f"id{next(ids)}",
            draw=draw.random,
        )
        spec = ModelSpec(provider="stranger", model="unheard-of")
        session = Session(ports, Opening(session="s", spec=spec, settings=EngineSettings(compress=False)))
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(session.run())
            await asyncio.sleep(0)
            times = [await _one(session, draw.uniform(0, LATEST_S)) for _ in range(points)]
            await session.close()
        await backend.aclose()
    return times, complaints


async def _one(session: Session, after_s: float) -> float:
    _, subscription = session.attach()
    await session.submit((TextBlock(text="Go on."),))
    await asyncio.sleep(after_s)
    began = time.perf_counter()
    await session.cancel()
    took = (time.perf_counter() - began) * 1000
    told = False
    while not told:
        told = any(isinstance(stamped.event, TurnFinished | TurnFailed) for stamped in subscription.drain())
        await asyncio.sleep(0)
    subscription.close()
    return took


async def measured(points: int) -> dict[str, object]:
    """All wires; the history is begun anew on each."""
    times: list[float] = []
    complaints: list[str] = []
    with tempfile.TemporaryDirectory() as home:
        for wire in VALIDATORS:
            more, said = await cancelled_often(wire, points // len(VALIDATORS), Path(home))
            times += more
            complaints += [f"{wire}: {sentence}" for sentence in said]
    times.sort()
    return {
        "points": len(times),
        "p50_ms": round(times[len(times) // 2], 2),
        "p99_ms": round(times[int(len(times) * 0.99)], 2),
        "max_ms": round(times[-1], 2),
        "refused_afterwards": len(complaints),
        "complaints": sorted(set(complaints))[:5],
    }


if __name__ == "__main__":
    asked = int(sys.argv[1]) if len(sys.argv) > 1 else POINTS
    sys.stdout.write(json.dumps(asyncio.run(measured(asked)), indent=1) + "\n")
