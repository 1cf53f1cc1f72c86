"""A conversation that was stored and opened again sends the bytes it would have sent."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.context.aims import GOALS, ORIGINS, Goal
from tests.histories import histories
from tests.store.stage import open_stage
from tui.domain.compression import CompressionView
from tui.domain.messages import Turn
from tui.domain.request import ChatRequest
from tui.wires.wire import wire_named


def bytes_for(goal: Goal, turns: tuple[Turn, ...], view: CompressionView | None) -> str:
    outgoing = goal.select(*turns, compression=view)
    request = ChatRequest(model=goal.facts.id, outgoing=outgoing, plan=goal.plan, max_output=1_000)
    return json.dumps(wire_named(goal.facts.wire).encode(request, goal.quirks).body)


@settings(max_examples=12)
@given(st.data())
async def test_after_a_restart_every_wire_sends_the_same(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    history = tuple(Turn(id=turn.id, messages=turn.messages) for turn in data.draw(histories(ORIGINS)) if turn.messages)
    folded = frozenset(turn.id for turn in history[:1])
    view = (
        CompressionView(summary="What was said.", compressed_turns=folded)
        if data.draw(st.booleans()) and folded
        else None
    )
    folder = tmp_path_factory.mktemp("resumed")
    before = open_stage(folder)
    await before.keep("s", *history)
    if view is not None:
        await before.journal.compressed("s", view)
    before.database.close()
    after = open_stage(folder)
    if history:
        loaded = await after.conversations.load("s")
        for goal in GOALS:
            assert bytes_for(goal, loaded.turns, loaded.compression) == bytes_for(goal, history, view)
    after.database.close()
