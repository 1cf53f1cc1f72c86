"""What is said about the marks of a request is where its body has them."""

from __future__ import annotations

import pytest

from tests.store.stage import a_turn
from tui.catalog.catalog import effective_quirks, packaged_catalog
from tui.catalog.model_spec import parse_spec
from tui.context.breakpoints import Breakpoints, breakpoints
from tui.domain.blocks import Block, TextBlock, ToolCallBlock, ToolResultBlock
from tui.domain.messages import Message, Role, Turn
from tui.domain.request import ToolSchema
from tui.engine.planner import Planner
from tui.engine.request_inputs import Repairs, RequestInputs
from tui.engine.settings import EngineSettings
from tui.engine.token_meter import TokenMeter

TOOL = ToolSchema(name="read_file", description="Reads.", parameters={})
CATALOG = packaged_catalog()


def long_turn(name: str) -> Turn:
    calls = tuple(ToolCallBlock(call_id=f"{name}{number}", name="read_file", arguments="{}") for number in range(30))
    results: tuple[Block, ...] = tuple(
        ToolResultBlock(call_id=call.call_id, name=call.name, content=(TextBlock(text="x"),)) for call in calls
    )
    messages = (
        Message(id=f"{name}-u", role=Role.USER, blocks=(TextBlock(text="Read."),)),
        Message(id=f"{name}-a", role=Role.ASSISTANT, blocks=calls),
        Message(id=f"{name}-r", role=Role.TOOL, blocks=results),
        Message(id=f"{name}-b", role=Role.ASSISTANT, blocks=(TextBlock(text="Read all."),)),
    )
    return Turn(id=name, messages=messages)


def said(
    model: str, *turns: Turn, ttl: str = "1h", tools: bool = True, system: str = "Be brief."
) -> Breakpoints | None:
    planner, spec = Planner(CATALOG, TokenMeter()), parse_spec(model, CATALOG)
    target = planner.target(spec)
    inputs = RequestInputs(
        session="s",
        turns=turns,
        target=target,
        spec=spec,
        settings=EngineSettings(system=system, cache_ttl=ttl),
        tools=(TOOL,) if tools else (),
        repairs=Repairs(),
    )
    quirks = effective_quirks(target.provider, target.facts)
    return breakpoints(planner.request(inputs), target.facts.wire, quirks, len(turns))


OPEN = Turn(id="open", messages=(Message(id="q", role=Role.USER, blocks=(TextBlock(text="And?"),)),), open=True)
CLAUDE, ROUTED = "anthropic/claude-opus-5/high", "openrouter/anthropic/claude-opus-5.5/high"


@pytest.mark.parametrize("model", [CLAUDE, ROUTED])
def test_the_moving_mark_is_at_the_last_turn(model: str) -> None:
    kept = said(model, a_turn(1), a_turn(2), OPEN)
    assert kept is not None
    assert kept.words == "breakpoints: tools, system, turn 3; kept 1h"


@pytest.mark.parametrize("model", [CLAUDE, ROUTED])
@pytest.mark.parametrize("waiting", [(), (OPEN,)], ids=["nothing typed", "prompt"])
def test_a_long_step_has_a_mark_of_its_own(model: str, waiting: tuple[Turn, ...]) -> None:
    kept = said(model, a_turn(1), long_turn("t2"), a_turn(3), *waiting, ttl="5m")
    last = 3 + len(waiting)
    assert kept == Breakpoints(places=("tools", "system", "turn 2", f"turn {last}"), ttl="5m")


def test_servers_without_a_moving_mark_get_the_last_two_requests() -> None:
    kept = said("alibaba/qwen-plus/low", a_turn(1), a_turn(2), OPEN)
    assert kept == Breakpoints(places=("tools", "system", "turn 2", "turn 3"), ttl="5m")


def test_without_tools_or_system_prompt_they_are_not_named() -> None:
    kept = [said(CLAUDE, OPEN, tools=tools, system=system) for tools in (True, False) for system in ("Hi.", "")]
    assert [found.places for found in kept if found is not None] == [
        ("tools", "system", "turn 1"),
        ("tools", "turn 1"),
        ("system", "turn 1"),
        ("turn 1",),
    ]


def test_openai_chooses_by_itself() -> None:
    kept = said("openai/gpt-6.1-sol/high", OPEN)
    assert kept is not None
    assert kept.words == "breakpoints: chosen by the provider; kept 30m"


@pytest.mark.parametrize(("model", "ttl"), [(CLAUDE, "off"), ("openai/gpt-6.1-sol", "off"), ("ollama/qwen3", "1h")])
def test_nothing_is_said_where_nothing_is_asked_for(model: str, ttl: str) -> None:
    assert said(model, OPEN, ttl=ttl) is None
