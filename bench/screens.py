"""Bare applications around one message, ours or Textual's or none, for benchmarks: started as a process on a pty.

    python -m bench.screens CONTENDER RESULT_FILE JSON_OF_WHAT_TO_DO

The parent types ``<`` and ``>`` by turns once the file beside the result says so; when each is in the output it has
been painted.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Input, Markdown
from textual.widgets.markdown import MarkdownStream

from bench.words import tokens
from tui.ui.chat.screen import FRAME_S
from tui.ui.terminal.gc_schedule import GcSchedule
from tui.ui.terminal.textual_private import render_sparingly
from tui.ui.theme.theme_files import read_themes, theme_variables
from tui.ui.theme.theme_styles import ThemeStyles
from tui.ui.transcript.blocks import Answer
from tui.ui.transcript.section import Section, Speaker
from tui.ui.transcript.transcript import Transcript

TICK_S = 0.01


def theme_styles() -> ThemeStyles:
    """A theme's colours."""
    return ThemeStyles(theme_variables(read_themes(None)[0]["dusk"].theme))


class Ours:
    """The transcript with one answer. As the follower does, it takes what has arrived once a frame, and settles."""

    def __init__(self) -> None:
        self.widget: Widget = Transcript(theme_styles())
        self._section = Section("a", Speaker.MODEL)
        self._answer = Answer()
        self._section.add(self._answer)
        self._arrived: list[str] = []
        self._begun = False

    async def write(self, text: str) -> None:
        """A delta."""
        if not self._arrived:
            asyncio.get_running_loop().call_later(FRAME_S, self._frame)
        self._arrived.append(text)

    async def settle(self) -> None:
        """What has arrived since the last frame."""
        self._frame()

    def _frame(self) -> None:
        transcript = self.widget
        assert isinstance(transcript, Transcript)
        if not self._begun:
            self._begun = True
            transcript.column.append(self._section)
        if self._arrived:
            self._answer.append("".join(self._arrived))
            self._arrived.clear()
            transcript.column.changed(self._section)
        transcript.settle()


class Textuals:
    """Textual's Markdown with its stream, in the scroll container its documentation shows."""

    def __init__(self) -> None:
        self._markdown = Markdown()
        self.widget: Widget = VerticalScroll(self._markdown)
        self._stream: MarkdownStream | None = None

    async def write(self, text: str) -> None:
        """A delta."""
        if self._stream is None:
            self.widget.anchor()
            self._stream = Markdown.get_stream(self._markdown)
        await self._stream.write(text)

    async def settle(self) -> None:
        """Until the stream has caught up."""
        for _ in range(3):
            await asyncio.sleep(0)


class Nothing:
    """Takes the words and shows none: what feeding, typing and watching cost."""

    def __init__(self) -> None:
        self.widget: Widget = VerticalScroll()

    async def write(self, text: str) -> None:
        """A delta."""

    async def settle(self) -> None:
        """Nothing to settle."""


SINKS: dict[str, Callable[[], Ours | Textuals | Nothing]] = {
    "ours": Ours,
    "markdown-stream": Textuals,
    "feeding": Nothing,
}


class Stage(App[None]):
    """One message above an input."""

    CSS = "Input { dock: bottom; height: 3; } Transcript { height: 1fr; }"

    def __init__(self, contender: str, result: Path, wish: dict[str, object]) -> None:
        super().__init__()
        self._sink = SINKS[contender]()
        self._result = result
        self._wish = wish

    def compose(self) -> ComposeResult:
        """Message, input."""
        yield self._sink.widget
        yield Input()

    def on_ready(self) -> None:
        """Begin."""
        self.query_one(Input).focus()
        if not isinstance(self._sink, Textuals):
            render_sparingly(self.screen)  # as the program's own screen
            self.refresh(layout=True)
        # As the program does it, and for every contender.
        GcSchedule(lambda: True).begin()
        self.run_worker(self._do(), exit_on_error=True)

    async def _do(self) -> None:
        count = int(str(self._wish["prefill"])) + int(str(self._wish.get("more", 0)))
        words = tokens(str(self._wish["kind"]), count)
        run = self._cost if self._wish["mode"] == "cost" else self._rate
        self._result.write_text(json.dumps(await run(words)), encoding="utf-8")
        self.exit()

    async def _painted(self) -> None:
        await self._sink.settle()
        done = asyncio.Event()
        self.screen.call_after_refresh(done.set)
        await done.wait()

    async def _prefill(self, words: Sequence[str]) -> int:
        size = int(str(self._wish["prefill"]))
        if size:
            await self._sink.write("".join(words[:size]))
            await self._painted()
            await asyncio.sleep(0.3)
            await self._painted()
        return size

    async def _cost(self, words: Sequence[str]) -> dict[str, float]:
        """CPU per painted update of seven tokens, which is what a frame holds at 200 a second."""
        at = await self._prefill(words)
        updates = range(at, len(words) - 7, 7)
        used = time.process_time()
        for start in updates:
            await self._sink.write("".join(words[start : start + 7]))
            await self._painted()
        return {"ms_per_update": (time.process_time() - used) / len(updates) * 1000}

    async def _rate(self, words: Sequence[str]) -> dict[str, object]:
        at = await self._prefill(words)
        rate = float(str(self._wish["rate"]))
        lags: list[float] = []
        going = asyncio.Event()
        ticking = asyncio.ensure_future(_tick(lags, going))
        self._result.with_suffix(".go").touch()
        used, begun = time.process_time(), time.perf_counter()
        for number, word in enumerate(words[at:]):
            wait = begun + number / rate - time.perf_counter()
            if wait > 0:
                await asyncio.sleep(wait)
            await self._sink.write(word)
        took = time.perf_counter() - begun
        used = time.process_time() - used
        going.set()
        await ticking
        return {"cpu": used / took, "took": took, "lag_p99_ms": percentile(lags, 0.99) * 1000}


async def _tick(lags: list[float], over: asyncio.Event) -> None:
    while not over.is_set():
        begun = time.perf_counter()
        await asyncio.sleep(TICK_S)
        lags.append(time.perf_counter() - begun - TICK_S)


def percentile(values: Sequence[float], part: float) -> float:
    """The value below which this part lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))] if ordered else float("nan")


if __name__ == "__main__":
    Stage(sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])).run()
