"""A conversation of thousands of messages: opening, memory, paging, resizing, a storm of resizes, an answer below it.

    python -m bench.longconv [--messages 10000]

Contenders: ``ours`` with an empty conversation, ``ours`` with the long one, and ``widgets``, one of Textual's Markdown
widgets per message, with three hundred messages only (it needs minutes for thousands). ``program`` is all of ours with
the long conversation while an answer streams and ends: keys, how late a timer comes, and the longest stretch around the
end in which nothing else could run. Each is a process of its own, on a pty that is drained. Milliseconds and MB. The
last line is JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import re
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Input, Markdown

from bench.conversations import conversation
from bench.render import staged
from bench.screens import theme_styles
from tui.domain.blocks import TextBlock, ThinkingBlock
from tui.ui.terminal.gc_schedule import GcSchedule
from tui.ui.transcript.build_sections import DisplayOptions, sections_of
from tui.ui.transcript.transcript import Transcript

LIMITS = {"open_more_ms": 100, "memory_mb": 10, "page_up_ms": 50, "resize_ms": 150, "storm_key_ms": 150}
PROGRAM_LIMITS = {"key_p99_ms": 40, "lag_p99_ms": 8, "end_block_ms": 16}
STREAMS = (("prose", 200), ("code", 1000), ("table", 1000))
STORM = 100


def resident_mb() -> float:
    """What the process holds now."""
    gc.collect()
    found = re.search(r"VmRSS:\s+(\d+)", Path("/proc/self/status").read_text(encoding="ascii"))
    return int(found[1]) / 1024 if found else float("nan")


class Stage(App[None]):
    """A conversation above an input."""

    CSS = "Input { dock: bottom; height: 3; } Transcript, VerticalScroll { height: 1fr; } Markdown { height: auto; }"

    def __init__(self, contender: str, result: Path, messages: int) -> None:
        super().__init__()
        self._turns = conversation(messages)
        self._result = result
        self._body: Widget = Transcript(theme_styles()) if contender == "ours" else VerticalScroll()

    def compose(self) -> ComposeResult:
        """Conversation, input."""
        yield self._body
        yield Input()

    def on_ready(self) -> None:
        """Begin."""
        self.query_one(Input).focus()
        GcSchedule(lambda: True).begin()  # as the program does it, and for every contender
        self.run_worker(self._do(), exit_on_error=True)

    async def _do(self) -> None:
        await self._painted(lambda: None)
        before = resident_mb()
        figures = {"open_ms": await self._painted(self._open), "memory_mb": resident_mb() - before}
        ups = [await self._painted(lambda: self._body.scroll_page_up(animate=False)) for _ in range(20)]
        figures["page_up_ms"] = max(ups)
        figures["home_ms"] = await self._painted(lambda: self._body.scroll_home(animate=False))
        figures["end_ms"] = await self._painted(lambda: self._body.scroll_end(animate=False))
        resizes = [await self._resized(90 + number % 2 * 30) for number in range(6)]
        figures["resize_ms"] = statistics.median(resizes)
        begun = time.perf_counter()
        for number in range(STORM):
            self._announce(80 + number % 40)
            await asyncio.sleep(max(0, begun + (number + 1) * 0.02 - time.perf_counter()))
        figures["storm_key_ms"] = await self._painted(lambda: self.query_one(Input).insert_text_at_cursor("x"))
        self._result.write_text(json.dumps(figures), encoding="utf-8")
        self.exit()

    def _open(self) -> None:
        if isinstance(self._body, Transcript):
            self._body.replace_all(sections_of(self._turns, DisplayOptions()))
            return
        blocks = [block for turn in self._turns for message in turn.messages for block in message.blocks]
        texts = [block.text for block in blocks if isinstance(block, TextBlock | ThinkingBlock)]
        self._body.mount_all([Markdown(text) for text in texts])
        self._body.scroll_end(animate=False)

    async def _painted(self, do: Callable[[], object]) -> float:
        begun = time.perf_counter()
        do()
        done = asyncio.Event()
        self.screen.call_after_refresh(done.set)
        await done.wait()
        return (time.perf_counter() - begun) * 1000

    def _announce(self, width: int) -> None:
        from textual import events
        from textual.geometry import Size

        size = Size(width, 40)
        self.post_message(events.Resize(size, size))

    async def _resized(self, width: int) -> float:
        begun = time.perf_counter()
        self._announce(width)
        while self.screen.size.width != width or self._body.size.width > width:
            await asyncio.sleep(0)
        return (time.perf_counter() - begun) * 1000 + await self._painted(lambda: None)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=10_000)
    messages = parser.parse_args().messages
    runs = {
        "ours, empty": ("ours", 0),
        f"ours, {messages}": ("ours", messages),
        "ours, 300": ("ours", 300),
        "widgets, 300": ("widgets", 300),
    }
    rows: dict[str, dict[str, float]] = {}
    for name, (contender, size) in runs.items():
        found = staged(contender, {"messages": size}, module="bench.longconv")
        rows[name] = {key: round(value, 1) for key, value in found.items()}
        print(f"{name:16}", rows[name], flush=True)
    long = rows[f"ours, {messages}"]
    long["open_more_ms"] = round(long["open_ms"] - rows["ours, empty"]["open_ms"], 1)
    for key, limit in LIMITS.items():
        print(f"{key:14} {long[key]:7.1f}  limit {limit}  {'ok' if long[key] <= limit else 'TOO MUCH'}")
    for kind, rate in STREAMS:
        wish: dict[str, object] = {"messages": messages, "kind": kind, "rate": rate, "seconds": 4}
        found = staged("ours", wish, module="bench.program")
        row = rows[f"program, {kind} {rate}"] = {key: round(value, 2) for key, value in found.items()}
        print(f"program, {kind} at {rate}", row, flush=True)
        for key, limit in PROGRAM_LIMITS.items():
            print(f"{key:14} {row[key]:7.1f}  limit {limit}  {'ok' if row[key] <= limit else 'TOO MUCH'}")
    print(json.dumps({"bench": "longconv", "results": rows, "limits": LIMITS | PROGRAM_LIMITS}))


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] in ("ours", "widgets"):
        Stage(sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])["messages"]).run()
    else:
        main()
