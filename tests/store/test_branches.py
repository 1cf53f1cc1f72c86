"""Edits and retries stand beside each other; forks leave the original alone."""

from __future__ import annotations

import pytest

from tests.store.stage import Stage, a_turn, answer, prompt, rich_turn, thought
from tui.domain.blocks import ToolCallBlock
from tui.domain.compression import CompressionView
from tui.domain.errors import StoreError
from tui.domain.messages import Turn
from tui.domain.thinking import ModelSpec, ThinkingLevel


async def path_of(stage: Stage, session: str = "s") -> list[str]:
    return [turn.id for turn in (await stage.conversations.load(session)).turns]


async def with_a_retry(stage: Stage) -> None:
    """t1 t2 t3, then t2 asked again as t4, followed by t5."""
    await stage.keep("s", a_turn(1), a_turn(2), a_turn(3))
    await stage.journal.history_replaced("s", (a_turn(1),))
    await stage.keep("s", a_turn(4), a_turn(5))


async def test_an_edited_turn_is_a_sibling_of_the_former(stage: Stage) -> None:
    await with_a_retry(stage)
    assert await path_of(stage) == ["t1", "t4", "t5"]
    assert await stage.conversations.siblings("s", "t4") == ("t2", "t4")
    assert await stage.conversations.siblings("s", "t5") == ("t5",)


async def test_branches_are_flipped_to_where_they_were_left(stage: Stage) -> None:
    await with_a_retry(stage)
    back = await stage.conversations.activate("s", "t2")
    assert back.turns == (a_turn(1), a_turn(2), a_turn(3))
    forth = await stage.conversations.activate("s", "t4")
    assert forth.turns == (a_turn(1), a_turn(4), a_turn(5))


@pytest.mark.parametrize("after", ["t1", "t2"])
async def test_a_kept_side_answer_is_never_followed(stage: Stage, after: str) -> None:
    await stage.keep("s", a_turn(1), a_turn(2))
    await stage.journal.turn_kept("s", a_turn(3), after)
    await stage.journal.history_replaced("s", ())
    await stage.keep("s", a_turn(4))
    back = await stage.conversations.activate("s", "t1")
    assert [turn.id for turn in back.turns] == await path_of(stage) == ["t1", "t2"]
    kept = await stage.conversations.activate("s", "t3")
    assert [turn.id for turn in kept.turns] == (["t1", "t3"] if after == "t1" else ["t1", "t2", "t3"])


async def test_a_branch_that_was_cut_is_flipped_to_its_end(stage: Stage) -> None:
    await with_a_retry(stage)
    await stage.journal.history_replaced("s", (a_turn(1), a_turn(4)))
    await stage.conversations.activate("s", "t2")
    forth = await stage.conversations.activate("s", "t4")
    assert forth.turns == (a_turn(1), a_turn(4))


async def test_a_prompt_after_a_flip_goes_on_there(stage: Stage) -> None:
    await with_a_retry(stage)
    await stage.conversations.activate("s", "t2")
    await stage.keep("s", a_turn(6))
    assert await path_of(stage) == ["t1", "t2", "t3", "t6"]
    (row,) = await stage.library.sessions()
    assert row.turns == 4


async def test_the_first_turn_has_siblings_too(stage: Stage) -> None:
    await stage.keep("s", a_turn(1))
    await stage.journal.history_replaced("s", ())
    await stage.keep("s", a_turn(2))
    assert await stage.conversations.siblings("s", "t1") == ("t1", "t2")
    assert [turn.id for turn in (await stage.conversations.activate("s", "t1")).turns] == ["t1"]


async def test_a_fork_goes_on_alone(stage: Stage) -> None:
    await stage.keep("s", rich_turn(), a_turn(1), a_turn(2))
    fork = await stage.conversations.fork("s", "t1")
    await stage.keep(fork, a_turn(9))
    assert (await stage.conversations.load(fork)).turns == (rich_turn(), a_turn(1), a_turn(9))
    assert (await stage.conversations.load("s")).turns == (rich_turn(), a_turn(1), a_turn(2))


async def test_a_fork_without_the_turn_itself_waits_for_another_prompt(stage: Stage) -> None:
    await stage.keep("s", a_turn(1), a_turn(2))
    fork = await stage.conversations.fork("s", "t2", keep=False)
    empty = await stage.conversations.fork("s", "t1", keep=False)
    assert (await path_of(stage, fork), await path_of(stage, empty)) == (["t1"], [])


async def test_a_fork_from_the_middle_of_a_turn_ends_with_that_message(stage: Stage) -> None:
    call = ToolCallBlock(call_id="c", name="shell", arguments="{}")
    whole = Turn(id="t", messages=(prompt("p", "Do"), answer("a", thought("x"), call), answer("b", "Done")))
    await stage.keep("s", whole)
    fork = await stage.conversations.fork("s", "a")
    assert (await stage.conversations.load(fork)).turns == (Turn(id="t", messages=whole.messages[:2]),)


async def test_a_fork_survives_the_end_of_the_original(stage: Stage) -> None:
    await stage.keep("s", rich_turn(), a_turn(1, said="findable"))
    fork = await stage.conversations.fork("s")
    await stage.library.purge("s")
    assert (await stage.conversations.load(fork)).turns == (rich_turn(), a_turn(1, said="findable"))
    assert [row.id for row in await stage.library.sessions("findable")] == [fork]


async def test_a_fork_keeps_the_summary_only_where_all_it_stands_for_is_copied(stage: Stage) -> None:
    await stage.keep("s", a_turn(1), a_turn(2), a_turn(3))
    view = CompressionView(summary="sum", compressed_turns=frozenset({"t1", "t2"}))
    await stage.journal.compressed("s", view)
    behind = await stage.conversations.fork("s", "t2")
    before = await stage.conversations.fork("s", "t1")
    assert (await stage.conversations.load(behind)).compression == view
    assert (await stage.conversations.load(before)).compression is None


@pytest.mark.parametrize("parent", ["seq", "(SELECT max(seq) FROM turn WHERE session = 1)", "4"])
async def test_damaged_parents_neither_loop_nor_lead_into_another_session(stage: Stage, parent: str) -> None:
    await stage.keep("s", a_turn(1), a_turn(2), a_turn(3))
    await stage.keep("other", a_turn(1, "secret"))
    damage = f"UPDATE turn SET parent = {parent} WHERE session = 1 AND id IN ('t1', 't2')"
    await stage.database.run(lambda connection: connection.execute(damage) and None)
    path = await path_of(stage)
    assert path[-1] == "t3"
    assert len(set(path)) == len(path) <= 3
    assert "secret" not in await stage.library.export("s", "md", "all")
    await stage.keep("s", a_turn(4))
    assert await path_of(stage) == [*path, "t4"]
    await stage.conversations.activate("s", path[0])
    await stage.conversations.fork("s", "t4")


async def test_the_model_in_use_is_remembered_or_taken_from_the_last_answer(stage: Stage) -> None:
    await stage.keep("s", a_turn(1))
    answered = (await stage.conversations.load("s")).spec
    chosen = ModelSpec(provider="openai", model="gpt-5.6-sol", asked=59_904)
    await stage.conversations.save_settings("s", chosen, {"reasoning.stripFromContext": "all"})
    loaded = await stage.conversations.load("s")
    assert answered == ModelSpec(provider="anthropic", model="claude-opus-5", asked=ThinkingLevel.HIGH)
    assert (loaded.spec, loaded.settings) == (chosen, {"reasoning.stripFromContext": "all"})


async def test_what_is_not_there_is_said(stage: Stage) -> None:
    await stage.keep("s", a_turn(1))
    with pytest.raises(StoreError, match="There is no session `x`"):
        await stage.conversations.load("x")
    with pytest.raises(StoreError, match="That turn is not in this session"):
        await stage.conversations.fork("s", "t9")
