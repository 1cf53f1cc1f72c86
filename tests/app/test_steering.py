"""Steering in the running program: each wire gets it in its own form, and the screen says when it goes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.app.screen_stage import Screen, screen
from tests.app.stage import config, exported
from tests.app.test_answer_now import (
    ANSWERS,
    KEYS,
    LOOKS,
    ROWS,
    Row,
    asking,
    each_wire,
    heard,
    hearing,
    is_over,
    messages,
    said,
    thinks,
)
from tests.faultserver.player import Step
from tests.faultserver.server import FaultServer
from tests.ui.stage import type_in, until
from tui.domain.blocks import TextBlock
from tui.domain.events import TurnFinished
from tui.domain.messages import Role
from tui.ui.input.queued_prompts import AFTER_STEP, AT_THE_END

STEER = "Only the heading"


def looks_when(go_on: asyncio.Event) -> list[Step]:
    """A step whose call comes after the event."""
    return [LOOKS[0], {"wait": go_on}, *LOOKS[1:]]


def is_after_the_results(wire: str, sent: list[Any]) -> bool:
    """Whether the end of a request has the form that this API takes."""
    before, last = sent[-2:]
    match wire:
        case "anthropic":
            return [part["type"] for part in last["content"]] == ["tool_result", "text"]
        case "openai-responses":
            return (before["type"], last["role"]) == ("function_call_output", "user")
        case "gemini":
            return "functionResponse" in before["parts"][-1] and last["parts"] == [{"text": STEER}]
        case _:
            return (before["role"], last) == ("tool", {"role": "user", "content": STEER})


@pytest.mark.one_in(3)
@each_wire
async def test_what_is_sent_in_a_tool_loop_goes_in_with_the_results(tmp_path: Path, row: Row) -> None:
    go_on = asyncio.Event()
    scripts = [looks_when(go_on), ANSWERS]
    async with asking(tmp_path, row, scripts, tools=True, stored_in="file") as (h, server):
        async with hearing(h) as subscription:
            await h.services.chat.submit((TextBlock(text="Why?"),))
            await heard(subscription, thinks)
            await h.services.chat.submit((TextBlock(text=STEER),), after_step=True)
            assert h.view().queue_after_step == (True,)
            go_on.set()
            end = (await heard(subscription, is_over))[-1]
        assert isinstance(end, TurnFinished), end
        first, second = (seen.json for seen in server.seen)
        assert messages(second)[: len(messages(first))] == messages(first)
        assert server.seen[1].body.decode().count(STEER) == 1
        assert is_after_the_results(row.wire, messages(second))
        assert end.turn.messages[3].role is Role.USER
        text = await exported(h.current.storage, h.current.session_id, "md", "all")
        assert text.index("Why?") < text.index(STEER) < text.index("It is 42.")
        session, turns = h.current.session_id, h.view().turns
        await h.services.chat.retry(turns[0].id)
        await until_asked(server, 3)
        assert STEER in server.seen[2].body.decode()
    async with asking(tmp_path, row, [ANSWERS], stored_in="file", reopen=session) as (h, server):
        assert h.view().turns[0].user_blocks == (TextBlock(text="Why?"), TextBlock(text=STEER))
        await h.say("Go on.")
        assert STEER in server.seen[0].body.decode()


async def until_asked(server: FaultServer, requests: int) -> None:
    async with asyncio.timeout(20):
        while len(server.seen) < requests or not server.seen[-1].body:
            await asyncio.sleep(0.01)


async def test_a_summary_keeps_what_was_said_in_the_middle(tmp_path: Path) -> None:
    go_on = asyncio.Event()
    summary: list[Step] = [{"say": "text", "text": "A summary."}, {"end": 1}]
    scripts = [looks_when(go_on), ANSWERS, ANSWERS, ANSWERS, ANSWERS, ANSWERS, summary, ANSWERS]
    async with asking(tmp_path, ROWS[0], scripts, tools=True) as (h, server):
        async with hearing(h) as subscription:
            await h.services.chat.submit((TextBlock(text="Why? " * 400),))
            await heard(subscription, thinks)
            await h.services.chat.submit((TextBlock(text=STEER),), after_step=True)
            go_on.set()
            await heard(subscription, is_over)
        for number in range(4):
            await h.say(f"And {number}? " + "word " * 400)
        await h.services.chat.compress("")
        await until_asked(server, 7)
        assert STEER in server.seen[6].body.decode()


async def steered(s: Screen, server: FaultServer) -> None:
    """A turn whose first step waits, and a draft."""
    await s.enter("Why?")
    await until(s.pilot, lambda: len(server.seen) == 1 and s.app.chat.is_busy())
    await s.until_it_says("Thought")
    await type_in(s.pilot, STEER)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_tab_sends_after_this_step_and_the_line_above_the_composer_says_so(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    go_on = asyncio.Event()
    async with FaultServer([looks_when(go_on), ANSWERS], own_ids=True, honest=True) as server:
        config(tmp_path, f'[providers.anthropic]\nbase_url = "{server.url}"\n[permissions]\nallow = ["list_dir"]\n')
        async with screen(tmp_path, model=ROWS[0].model, environment=KEYS, size=size, tools=True) as s:
            await steered(s, server)
            await s.until_it_says("tab after this step")
            await s.pilot.press("tab")
            await s.until_it_says(f"{AFTER_STEP}  {STEER}")
            assert not s.app.chat.composer.text
            await s.pilot.press("tab")
            await s.until_it_says(f"{AT_THE_END}       {STEER}")
            await s.pilot.press("up")
            await until(s.pilot, lambda: s.app.chat.composer.text == STEER)
            await s.until_it_no_longer_says(AT_THE_END)
            await s.pilot.press("enter")
            await s.until_it_says(f"{AT_THE_END}       {STEER}")
            await s.pilot.press("tab")
            await s.until_it_says(AFTER_STEP)
            go_on.set()
            await s.until_it_says("It is 42.")
            await until(s.pilot, lambda: not s.app.chat.is_busy())
            await s.caught_up()
            assert AFTER_STEP not in s.text()
            assert STEER in s.text()
            [turn] = s.house.view().turns
            assert [said(message) for message in turn.messages if message.role is Role.USER] == ["Why?", STEER]
            live = s.text()
            s.app.chat.conversation.load(s.house.view())
            await until(s.pilot, lambda: s.text() == live)


async def test_without_a_running_turn_tab_moves_the_focus(tmp_path: Path) -> None:
    async with screen(tmp_path) as s:
        await until(s.pilot, lambda: s.app.chat.sidebar.picker.filled)  # before, there is no other place for the focus
        await type_in(s.pilot, "a draft")
        await s.pilot.press("tab")
        await until(s.pilot, lambda: not s.app.chat.composer.has_focus)
        assert s.app.chat.composer.text == "a draft"
