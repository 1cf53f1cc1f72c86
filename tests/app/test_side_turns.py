"""Side turns on every wire, and what the state of the session makes of their events."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.app.stage import heard_until, house
from tests.app.test_ask import FAST, FIRST, KEYS, LOCAL, MODELS, servers
from tests.store.stage import CLAUDE
from tui.domain.blocks import TextBlock
from tui.domain.events import ApprovalAsked, ApprovalSettled, SideAnswersPaid, TurnFailed, TurnFinished, TurnStarted
from tui.domain.messages import Message, Role, Turn
from tui.engine.state import Phase, SessionState

ALL = {**MODELS, **LOCAL}
ITEMS = dict.fromkeys(ALL, "messages") | {"openai": "input", "google": "contents"}


each_provider = pytest.mark.parametrize("provider", ALL)


@each_provider
async def test_the_request_differs_from_the_main_one_only_after_its_end(tmp_path: Path, provider: str) -> None:
    started: dict[str, Any] = {"model": ALL[provider][1], "environment": KEYS, "tools": True}
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


@each_provider
async def test_the_requests_of_several_answers_begin_with_the_history_too(tmp_path: Path, provider: str) -> None:
    started: dict[str, Any] = {"model": ALL[provider][1], "environment": KEYS, "tools": True}
    scripts: dict[str, Any] = {provider: [FIRST, FAST, FAST]}
    async with servers(tmp_path, **scripts) as running, house(tmp_path, **started) as h:
        await h.say("First?")
        model = ALL[provider][1].rpartition("/")[0]
        several = h.services.side.several(f"{model}/low,{model}/high Beside it?")
        for side in await h.services.side.ask_several(several):
            view, subscription = side.attach()
            if not view.turns:
                await heard_until(subscription, TurnFinished, TurnFailed)
        first, *asked = [seen.json for seen in running[provider].seen]
    name = ITEMS[provider]
    assert len(asked) == 2
    for body in asked:
        if provider != "anthropic":  # whose mark of the cache is at the end of each request
            assert body[name][: len(first[name])] == first[name]
        assert (body.get("tools"), body.get("system")) == (first.get("tools"), first.get("system"))
    assert asked[0][name] == asked[1][name]


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
