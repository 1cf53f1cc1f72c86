"""Servers that ask for their thinking back: three turns with tools on defaults, and with thinking left out on request.

Each server checks every request as its maker's does and answers 400 where that would.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.app.stage import House, house
from tests.faultserver.server import FaultServer
from tests.validators import anthropic, chat, gemini, responses
from tui.domain.blocks import TextBlock, ToolCallBlock, ToolResultBlock
from tui.domain.events import Notice, TurnFinished
from tui.domain.request import ToolSchema
from tui.domain.tool_run import ToolRun
from tui.engine.ports import NoTools

KEYS = (
    "MOONSHOT_API_KEY",
    "DEEPSEEK_API_KEY",
    "MINIMAX_API_KEY",
    "ZAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "OPENAI_API_KEY",
)
KEPT = "reasoning.includeInContext"
THOUGHTS = [f"thought number {number}" for number in range(6)]


@dataclass(frozen=True)
class Maker:
    """A provider of the catalogue, and a server that behaves like its."""

    model: str
    wire: str
    problems: Callable[[dict[str, Any]], list[str]]
    asks_back: bool = True
    """Open tool loops need their thinking."""

    @property
    def provider(self) -> str:
        return self.model.partition("/")[0]


MAKERS = {
    "kimi": Maker("moonshot/kimi-k3/high", "openai-chat", lambda body: chat.problems(body, dialect="kimi")),
    "deepseek": Maker(
        "deepseek/deepseek-v4-pro/high", "openai-chat", lambda body: chat.problems(body, dialect="deepseek")
    ),
    "minimax": Maker("minimax/MiniMax-M3/high", "chat-openrouter", lambda body: chat.problems(body, dialect="minimax")),
    "glm": Maker("zai/glm-5.2/high", "openai-chat", lambda body: chat.problems(body, dialect="glm")),
    "claude": Maker("anthropic/claude-opus-5/high", "anthropic", anthropic.problems),
    "claude with a budget": Maker("anthropic/claude-sonnet-4-5/high", "anthropic", anthropic.problems),
    "claude that binds": Maker("anthropic/claude-opus-5-5/high", "anthropic", anthropic.problems),
    "gemini": Maker("google/gemini-3.8-flash/high", "gemini", gemini.problems),
    "gpt": Maker("openai/gpt-5.6-sol/high", "openai-responses", responses.problems),
}


class OneTool(NoTools):
    """One tool that knows the weather."""

    def schemas(self) -> tuple[ToolSchema, ...]:
        city = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
        return (ToolSchema(name="weather", description="The weather.", parameters=city),)

    async def run(self, call: ToolCallBlock, run: ToolRun) -> ToolResultBlock:
        return ToolResultBlock(call_id=call.call_id, name=call.name, content=(TextBlock(text="rain"),))


def scripts() -> list[list[dict[str, Any]]]:
    """Two steps a turn: thinking and a call, thinking and an answer."""
    found = []
    for number, thought in enumerate(THOUGHTS):
        act = (
            {"call": "weather", "args": {"city": f"city {number}"}}
            if number % 2 == 0
            else {"say": "text", "text": f"answer number {number}"}
        )
        found.append([{"say": "thinking", "text": thought}, act, {"end": 1}])
    return found


@asynccontextmanager
async def talking(maker: Maker, tmp_path: Path, **options: Any):
    def complaint(body: dict[str, Any]) -> str | None:
        found = maker.problems(body)
        return "; ".join(found) or None

    async with FaultServer(scripts(), wire=maker.wire, validate=complaint, own_ids=True) as server:
        keys = dict.fromkeys(KEYS, "sk-test-0123456789abcdef0123456789")
        async with house(tmp_path, model=None, environment=keys, **options) as h:
            h.program.planner.catalog = h.program.catalog.with_base_url(maker.provider, server.url)
            h.program.session_toolbox = OneTool()
            await h.services.models.set_model(maker.model)
            await h.services.chat.new_session()
            yield h, server


async def three_turns(h: House) -> list[object]:
    heard: list[object] = []
    for city in ("Rome", "Oslo", "Lima"):
        heard += await h.say(f"How is the weather in {city}?")
    return heard


def thoughts_in(body: dict[str, Any]) -> list[str]:
    spelled = json.dumps(body)
    return [thought for thought in THOUGHTS if thought in spelled]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", MAKERS)
async def test_three_turns_with_tools_go_well_on_defaults(name: str, tmp_path: Path) -> None:
    async with talking(MAKERS[name], tmp_path) as (h, server):
        heard = await three_turns(h)
        bodies = [seen.json for seen in server.seen]
    assert [type(event) for event in heard if isinstance(event, TurnFinished)] == [TurnFinished] * 3
    assert len(bodies) == 6
    if MAKERS[name].wire == "openai-responses":  # there thinking is an encrypted item
        assert "reasoning" in [item.get("type") for item in bodies[5]["input"]]
    else:
        assert THOUGHTS[4] in thoughts_in(bodies[5])


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", MAKERS)
async def test_thinking_left_out_on_request_goes_only_where_a_tool_loop_needs_it(name: str, tmp_path: Path) -> None:
    maker = MAKERS[name]
    async with talking(maker, tmp_path, assignments=(f"{KEPT}=false",)) as (h, server):
        heard = await three_turns(h)
        bodies = [seen.json for seen in server.seen]
    assert [type(event) for event in heard if isinstance(event, TurnFinished)] == [TurnFinished] * 3
    told = [event.text for event in heard if isinstance(event, Notice)]
    if maker.wire == "openai-responses":  # there thinking is an encrypted item
        items = [[item.get("type") for item in body["input"]].count("reasoning") for body in bodies]
        assert items == [0, 1, 0, 1, 0, 1]
        return
    # A new turn takes nothing of the finished ones along; inside a loop its own first step comes back.
    assert [thoughts_in(body) for body in bodies[::2]] == [[], [], []]
    assert [thoughts_in(body) for body in bodies[1::2]] == [[THOUGHTS[0]], [THOUGHTS[2]], [THOUGHTS[4]]]
    assert len([text for text in told if "running tool loop" in text]) == 1


async def test_what_is_left_out_is_not_weighed_and_counts_again_when_taken_back(tmp_path: Path) -> None:
    async with talking(MAKERS["kimi"], tmp_path) as (h, _):
        await three_turns(h)
        whole = await h.meter()
        await h.services.settings.assign(KEPT, "false")
        without = await h.meter()
        await h.services.settings.unassign(KEPT)
        assert await h.meter() == whole
    assert without.effective < whole.effective
