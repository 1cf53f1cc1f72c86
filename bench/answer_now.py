"""How fast ctrl+l ends the thinking: the whole program with its screen, over loopback sockets, on five wires.

Run: ``python -m bench.answer_now [PRESSES]``, with the number of presses on each wire. Prints one JSON object:
milliseconds from the key press until the server saw the connection close, on each wire, and until the next request
came; how many of those requests a strict validator refused, asked for more than the lowest level, or contained the
ended thinking.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.app.screen_stage import Screen, screen
from tests.app.stage import config
from tests.faultserver.player import Step
from tests.faultserver.server import FaultServer
from tests.validators import anthropic, chat, gemini, ollama, responses
from tui.app.services import AppServices
from tui.catalog.plan import plan
from tui.domain.thinking import ThinkingLevel

PRESSES = 200
PRESS_WITHIN_S = 20.0
THOUGHT = "I wonder for a long time about it."
THINKS: list[Step] = [{"say": "thinking", "text": THOUGHT, "only": 5}, {"hold": True}]
ANSWERS: list[Step] = [{"say": "text", "text": "It is 42."}, {"end": 1}]
KEY = "sk-test-0123456789abcdef0123456789abcdef"
KEYS = {f"{name}_API_KEY": KEY for name in ("ANTHROPIC", "OPENAI", "DEEPSEEK", "GEMINI")}
MODELS: dict[str, tuple[str, Callable[[dict[str, Any]], list[str]]]] = {
    "anthropic": ("anthropic/claude-sonnet-4-5", anthropic.problems),
    "openai-responses": ("openai/gpt-5.4", responses.problems),
    "openai-chat": ("deepseek/deepseek-v4-pro", lambda body: chat.problems(body, dialect="deepseek")),
    "gemini": ("google/gemini-2.5-pro", lambda body: gemini.problems(body, strict_thinking=False)),
    "ollama": ("ollama/qwen3", ollama.problems),
}


async def no_discovery(services: AppServices) -> None:
    """Ask no server for its models: the script of the next answer would be played for that."""


class Measured:
    """What was seen on all wires."""

    def __init__(self) -> None:
        self.closed: dict[str, list[float]] = {wire: [] for wire in MODELS}
        self.asked_again: list[float] = []
        self.refused: list[str] = []
        self.not_lowest: list[str] = []
        self.with_thinking: list[str] = []

    async def press(self, s: Screen, server: FaultServer, wire: str) -> None:
        """Ask something, press the key while the model thinks, and check the next request."""
        before = len(server.seen)
        await s.enter("Why?")
        while len(server.seen) == before or "Thinking…" not in s.text():
            await s.pilot.pause(0.01)
        began = time.monotonic()
        await s.pilot.press("ctrl+l")
        while len(server.seen) < before + 2 or s.app.chat.is_busy():
            await s.pilot.pause(0.01)
        ended, following = server.seen[before : before + 2]
        self.closed[wire].append(((ended.closed_at or float("inf")) - began) * 1000)
        self.asked_again.append((following.at - began) * 1000)
        self._check(s, wire, following.json)

    def _check(self, s: Screen, wire: str, body: dict[str, Any]) -> None:
        catalog, spec = s.house.program.catalog, s.house.current.spec
        least = plan(catalog.find(spec.provider, spec.model), catalog.provider(spec.provider), ThinkingLevel.NONE)
        self.refused += [f"{wire}: {problem}" for problem in MODELS[wire][1](body)]
        if not _contains(body, dict(least.fields)):
            self.not_lowest.append(wire)
        if THOUGHT[:8] in json.dumps(body):
            self.with_thinking.append(wire)

    def report(self) -> dict[str, object]:
        return {
            "presses": len(self.asked_again),
            "closed_ms": {wire: _percentiles(times) for wire, times in self.closed.items()},
            "asked_again_ms": _percentiles(self.asked_again),
            "refused": len(self.refused),
            "not_lowest": len(self.not_lowest),
            "with_thinking": len(self.with_thinking),
            "complaints": sorted({*self.refused, *self.not_lowest, *self.with_thinking})[:5],
        }


def _contains(body: object, fields: dict[str, Any]) -> bool:
    return isinstance(body, dict) and all(
        _contains(body.get(name), value) if isinstance(value, dict) else body.get(name) == value
        for name, value in fields.items()
    )


def _percentiles(times: list[float]) -> dict[str, float]:
    ordered = sorted(times)
    at = {"p50": 0.5, "p99": 0.99, "max": 1.0}
    return {name: round(ordered[min(int(len(ordered) * share), len(ordered) - 1)], 1) for name, share in at.items()}


async def measure(presses: int) -> dict[str, object]:
    """All wires, with the same number of presses on each."""
    measured = Measured()
    AppServices.discover = no_discovery  # type: ignore[assignment, method-assign]
    for wire, (model, _) in MODELS.items():
        with tempfile.TemporaryDirectory() as home:
            async with FaultServer([THINKS, ANSWERS] * presses, wire, own_ids=True, honest=True) as server:
                provider = model.partition("/")[0]
                config(Path(home), f'[providers."{provider}"]\nbase_url = "{server.url}"\n')
                async with screen(Path(home), model=f"{model}/high", environment=KEYS) as s:
                    for _ in range(presses):
                        async with asyncio.timeout(PRESS_WITHIN_S):
                            await measured.press(s, server, wire)
                        await s.pilot.press("ctrl+n")  # a new chat, so that every conversation is as short
                        await s.pilot.pause(0.05)
    return measured.report()


if __name__ == "__main__":
    asked = int(sys.argv[1]) if len(sys.argv) > 1 else PRESSES
    sys.stdout.write(json.dumps(asyncio.run(measure(asked)), indent=1) + "\n")
