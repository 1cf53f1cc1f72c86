"""A model that ponder runs: enter to first token against its bare server, and whether its loading holds up the screen.

Run: ``python -m bench.local_model MODEL.gguf``. Prints one JSON object, times in milliseconds: least and median of the
first tokens, asked in turn through ponder and of its server without it, with the same requests but for one word; the
processor time that ponder needs until then; and the longest and the 99th percentile of the pauses of the screen's event
loop while the model is loaded and answers. On a busy machine, the least times and the processor time say the most.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.app.screen_stage import screen
from tests.app.stage import House, house
from tests.ui.stage import until
from tui.app.recording_backend import on_the_wire
from tui.domain.blocks import TextBlock
from tui.domain.events import Streamed, TurnFailed, TurnFinished
from tui.domain.stream import TextDelta, ThinkingDelta
from tui.providers.local.server_folder import ServerFolder

ROUNDS = 7
TICK_S = 0.001


async def through_ponder(h: House, prompt: str) -> tuple[float, float]:
    """Seconds from enter to the first token, in a new session, and the processor's seconds of them."""
    await h.services.chat.new_session()
    _, subscription = h.services.chat.attach()
    began, spent, first, worked = time.perf_counter(), time.process_time(), 0.0, 0.0
    await h.services.chat.submit((TextBlock(text=prompt),))
    async for batch in subscription.batches(0):
        events = [stamped.event for stamped in batch]
        words = [e for e in events if isinstance(e, Streamed) and isinstance(e.event, TextDelta | ThinkingDelta)]
        if words and not first:
            first, worked = time.perf_counter() - began, time.process_time() - spent
        if any(isinstance(event, TurnFinished | TurnFailed) for event in events):
            break
    subscription.close()
    return first, worked


def bare(server: tuple[int, str], body: dict[str, object]) -> float:
    """Seconds from the request to the first token. It differs from the request before as much as that of ponder did."""
    data = json.dumps(body).replace("Question", "Problem")
    headers = {"authorization": f"Bearer {server[1]}", "content-type": "application/json"}
    connection = http.client.HTTPConnection("127.0.0.1", server[0])
    began = time.perf_counter()
    connection.request("POST", "/v1/chat/completions", data, headers)
    answer = connection.getresponse()
    first = 0.0
    for line in answer:
        if not first and (b'"content":"' in line or b'"reasoning_content":"' in line):
            first = time.perf_counter() - began
    connection.close()
    return first


async def first_tokens(home: Path, model: str) -> dict[str, dict[str, float]]:
    """Least and median of both, and of the processor time of ponder."""
    ours: list[tuple[float, float]] = []
    theirs: list[float] = []
    short = ("generation.maxOutput=16", "tools.enabled=false")
    async with house(home, environment=dict(os.environ), model=f"{model}/none", assignments=short) as h:
        await through_ponder(h, "Is this ready?")
        (place,) = (h.program.paths.state / "local").iterdir()
        state = ServerFolder(place).read()
        assert state is not None
        for number in range(ROUNDS):
            ours.append(await through_ponder(h, f"Question {number}: what is ponder?"))
            sent = h.program.backend.last_of(h.current.session_id)
            assert sent is not None
            body = on_the_wire(sent.target, sent.request)["body"]
            assert isinstance(body, dict)
            theirs.append(await asyncio.to_thread(bare, (state.port, state.key), body))
    waited, worked = zip(*ours, strict=True)
    return {"ponder": _usual(waited), "bare": _usual(theirs), "processor": _usual(worked)}


def _usual(seconds: Sequence[float]) -> dict[str, float]:
    return {"least": round(min(seconds) * 1e3, 1), "median": round(statistics.median(seconds) * 1e3, 1)}


async def pauses(home: Path, model: str) -> list[float]:
    """How late the screen's event loop was, each time, while the first answer came."""
    late: list[float] = []
    short = ("generation.maxOutput=32", "tools.enabled=false")
    async with screen(home, environment=dict(os.environ), model=model, assignments=short) as s:
        await until(s.pilot, lambda: s.app.chat.sidebar.picker.filled)
        watching = asyncio.get_running_loop().create_task(_watch(late))
        await s.ask("Who are you?")
        watching.cancel()
    return late


async def _watch(late: list[float]) -> None:
    while True:
        began = time.perf_counter()
        await asyncio.sleep(TICK_S)
        late.append(time.perf_counter() - began - TICK_S)


def _worst(late: list[float]) -> dict[str, float]:
    return {"longest": round(max(late) * 1e3, 1), "p99": round(statistics.quantiles(late, n=100)[98] * 1e3, 1)}


def main() -> None:
    model = str(Path(sys.argv[1]).absolute())
    with tempfile.TemporaryDirectory() as folder:
        first = asyncio.run(first_tokens(Path(folder) / "tokens", model))
        asyncio.run(pauses(Path(folder) / "imports", "demo/demo/low"))  # the first answer imports what draws it
        loading = asyncio.run(pauses(Path(folder) / "screen", model))
    ratio = {kind: round(first["ponder"][kind] / first["bare"][kind], 2) for kind in ("least", "median")}
    print(json.dumps({"first_token": first, "ratio": ratio, "screen": _worst(loading)}))


if __name__ == "__main__":
    main()
