"""The program itself with a long conversation and an answer that streams into it, for ``longconv``.

    python -m bench.program NAME RESULT_FILE JSON_OF_WHAT_TO_DO

The session behind it is a stand-in that publishes from a thread of its own, as the engine does.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import threading
import time
from pathlib import Path
from typing import cast

import tui.ui.app
from bench.conversations import conversation
from bench.screens import percentile
from bench.words import tokens
from tests.ui import scenes
from tests.ui.fake_chat import FakeChat
from tests.ui.fake_services import FakeServices
from tui.app.services import AppServices
from tui.commands.builtin import registry
from tui.commands.keymap import default_keymap
from tui.ui.app import PonderApp
from tui.ui.theme.current_theme import CurrentTheme

BEFORE = 8_000
"""Tokens the answer has when it begins to be watched."""
TICK_S = 0.004
AROUND_END_S = (0.1, 1.0)


class Watched(PonderApp):
    """The program, watched while an answer arrives and ends."""

    CSS_PATH = [Path(str(tui.ui.app.__file__)).parent / name for name in PonderApp.CSS_PATH]  # noqa: RUF012

    def prepare(self, chat: FakeChat, result: Path, wish: dict[str, object]) -> None:
        """What to do once it stands."""
        self._chat, self._result, self._wish = chat, result, wish
        self._ended = 0.0

    def on_ready(self) -> None:
        """Begin."""
        self.run_worker(self._watch(), exit_on_error=True)

    async def _watch(self) -> None:
        await asyncio.sleep(1.5)  # sidebar and models come after the first screen
        late: list[tuple[float, float, float]] = []
        speaker = threading.Thread(target=self._speak, daemon=True)
        speaker.start()
        await asyncio.sleep(0.7)  # what the answer already is
        self._result.with_suffix(".go").touch()
        used, begun = time.process_time(), time.perf_counter()
        while not self._ended or time.perf_counter() < self._ended + AROUND_END_S[1]:
            before, worked = time.perf_counter(), time.thread_time()
            await asyncio.sleep(TICK_S)
            late.append((before, time.perf_counter() - before - TICK_S, time.thread_time() - worked))
        used, took = time.process_time() - used, time.perf_counter() - begun
        streaming = [lag for at, lag, _ in late if at < self._ended - AROUND_END_S[0]]
        ending = [(lag, work) for at, lag, work in late if at >= self._ended - AROUND_END_S[0]]
        figures = {
            "cpu": used / took,
            "lag_p99_ms": percentile(streaming, 0.99) * 1000,
            "end_block_ms": max(lag for lag, _ in ending) * 1000,
            "end_work_ms": max(work for _, work in ending) * 1000,
        }
        self._result.write_text(json.dumps(figures), encoding="utf-8")
        self.exit()

    def _speak(self) -> None:
        rate, seconds = float(str(self._wish["rate"])), float(str(self._wish["seconds"]))
        words = tokens(str(self._wish["kind"]), BEFORE + int(rate * seconds))
        begin, *_ = scenes.words()
        self._chat.publish(*scenes.begun(), begin, *scenes.words("".join(words[:BEFORE]))[1:])
        time.sleep(1)
        begun = time.perf_counter()
        for number, event in enumerate(scenes.words(*words[BEFORE:])[1:]):
            time.sleep(max(0.0, begun + number / rate - time.perf_counter()))
            self._chat.publish(event)
        self._chat.publish(*scenes.ended("".join(words)))
        self._ended = time.perf_counter()


def main() -> None:
    """Run it."""
    gc.disable()  # as the program starts; the screen turns it on again
    wish = json.loads(sys.argv[3])
    chat = FakeChat(conversation(int(wish["messages"])))
    known = registry()
    app = Watched(
        cast(AppServices, FakeServices(chat=chat)),
        known,
        default_keymap(known),
        CurrentTheme(None, "dusk", {"COLORTERM": "truecolor"}),
    )
    app.prepare(chat, Path(sys.argv[2]), wish)
    app.run()


if __name__ == "__main__":
    main()
