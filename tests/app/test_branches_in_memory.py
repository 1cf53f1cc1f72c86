"""Branches of a session in memory do what those of the store do."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.store.stage import CLAUDE, open_stage
from tui.app.session_storage import InMemorySessions
from tui.domain.blocks import TextBlock
from tui.domain.compression import SummaryRun
from tui.domain.cost import cost_of, paid_in
from tui.domain.messages import Message, Role, Turn


def turn(number: int) -> Turn:
    ask = Message(id=f"q{number}", role=Role.USER, blocks=(TextBlock(text=f"Question {number}?"),))
    say = Message(id=f"a{number}", role=Role.ASSISTANT, blocks=(TextBlock(text="So."),), origin=CLAUDE, cost=0.25)
    return Turn(id=f"t{number}", messages=(ask, say))


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", range(20))
async def test_any_history_has_the_same_paths_siblings_and_costs(tmp_path: Path, seed: int) -> None:
    chance, stage, memory = random.Random(seed), open_stage(tmp_path), InMemorySessions()
    journals = (stage.journal, memory.journal("s", ""))
    path: list[Turn] = []
    turns: list[Turn] = []
    for number in range(25):
        made, act = turn(number), chance.choice(("say", "say", "cut", "keep", "open"))
        if act == "cut" and len(path) > 1:
            path = path[: chance.randrange(1, len(path))]
            for journal in journals:
                await journal.history_replaced("s", path)
        if act == "open" and turns:
            wanted = chance.choice(turns).id
            stored = await stage.conversations.activate("s", wanted)
            path = list((await memory.activate("s", wanted)).turns)
            assert [each.id for each in stored.turns] == [each.id for each in path]
            continue
        turns.append(made)
        if act == "keep" and path:
            after = chance.choice(path).id
            run = SummaryRun(id=f"a{number}", turn=made.id, origin=CLAUDE, cost=0.25, aside=True)
            for journal in journals:
                await journal.summary_run("s", run)
                await journal.turn_kept("s", made, after)
            continue
        path = [*path, made]
        await stage.keep("s", made)
        await journals[1].turn_finished("s", made)
    for each in turns:
        assert await stage.conversations.siblings("s", each.id) == tuple(await memory.siblings("s", each.id))
    tree = {row.id: (row.parent, row.prompt, row.model, row.cost) for row in await memory.turn_tree("s")}
    assert {row.id: (row.parent, row.prompt, row.model, row.cost) for row in await stage.library.turn_tree("s")} == tree
    loaded = await memory.load("s")
    assert cost_of((*paid_in(loaded.turns), *loaded.elsewhere)).dollars == pytest.approx(0.25 * len(turns))
    stage.database.close()
