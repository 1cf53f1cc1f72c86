"""Side turns on every wire, and what the state of the session makes of their events."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.app.stage import heard_until, house
from tests.app.test_ask import FAST, FIRST, KEYS, MODELS, servers
from tests.store.stage import CLAUDE
from tui.domain.blocks import TextBlock
from tui.domain.events import ApprovalAsked, ApprovalSettled, SideAnswersPaid, TurnFailed, TurnFinished, TurnStarted
from tui.domain.messages import Message, Role, Turn
from tui.engine.state import Phase, SessionState

ITEMS = {"anthropic": "messages", "openai": "input", "deepseek": "messages", "google": "contents"}


@pytest.mark.parametrize("provider", MODELS)
async def test_the_request_differs_from_the_main_one_only_after_its_end(tmp_path: Path, provider: str) -> None:
    started: dict[str, Any] = {"model": MODELS[provider][1], "environment": KEYS, "tools": True}
    scripts: dict[str, Any] = {provider: [FIRST, FAST, FAST]}
    async with servers(tmp_path, **scripts) as running, house(tmp_path, **started) as h:
        await h.say("First?")
        side = await h.services.side.ask("Beside it?")
        view, subscription = side.attach()
        if not view.turns:
            await heard_until(subscription, TurnFinished, TurnFailed)
        await h.say("First?")
        first, aside, then = [seen.json for seen in running[provider].seen]
    name = ITEMS[provider]
    if provider != "anthropic":  # whose mark of the cache is at the end of each request
        assert aside[name][: len(first[name])] == first[name]
    assert {key: value for key, value in aside.items() if key != name} == {
        key: value for key, value in then.items() if key != name
    }
    assert aside.get("tools") or aside.get("config", {}).get("tools")
    assert then[name][: len(aside[name]) - 2] == aside[name][:-2], "the same history"


async def test_a_question_about_a_side_request_outlives_the_main_turn(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        state = SessionState(h.view())
    asked = ApprovalAsked("side", "budget 1", "Spending limit", "May cost much.", "")
    state.apply(asked)
    assert (state.now.phase, state.now.approvals) == (Phase.IDLE, (asked,))
    prompt = Message(id="q", role=Role.USER, blocks=(TextBlock(text="Why?"),))
    state.apply(TurnStarted(Turn(id="main", messages=(prompt,), open=True)))
    state.apply(TurnFinished(Turn(id="main", messages=(prompt,))))
    assert (state.now.phase, state.now.approvals) == (Phase.IDLE, (asked,))
    state.apply(ApprovalSettled("side", "budget 1", allowed=True))
    assert (state.now.phase, state.now.approvals) == (Phase.IDLE, ())


async def test_a_cost_that_moves_is_counted_once(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        state = SessionState(h.view())
    paid = Message(id="a", role=Role.ASSISTANT, blocks=(), origin=CLAUDE, cost=0.5)
    state.apply(SideAnswersPaid((paid,)))
    assert [each.id for each in state.now.paid] == ["a"]
    state.apply(SideAnswersPaid((paid,), frozenset({"a"})))
    assert [each.id for each in state.now.paid] == ["a"]
    state.apply(SideAnswersPaid((), frozenset({"a"})))
    assert state.now.paid == ()
