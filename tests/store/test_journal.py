"""What the engine writes is there, exactly, and nothing of it twice."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.histories import histories
from tests.store.stage import CLAUDE, GPT, Stage, a_turn, answer, open_stage, prompt, rich_turn, thought
from tui.domain.blocks import TextBlock, ToolCallBlock
from tui.domain.compression import CompressionView
from tui.domain.messages import BlockGrowth, Turn
from tui.store.blocks import from_row, read_blocks, to_row
from tui.store.codec import block_from, block_object, dumps, loads
from tui.store.leases import this_process


async def test_every_field_of_every_block_comes_back(stage: Stage) -> None:
    await stage.keep("s", rich_turn())
    assert (await stage.conversations.load("s")).turns == (rich_turn(),)


async def test_a_conversation_is_the_same_after_a_restart(tmp_path: Path) -> None:
    before = open_stage(tmp_path)
    await before.keep("s", rich_turn(), a_turn(1), a_turn(2))
    before.database.close()
    after = open_stage(tmp_path)
    assert (await after.conversations.load("s")).turns == (rich_turn(), a_turn(1), a_turn(2))
    after.database.close()


@settings(max_examples=25)
@given(st.data())
async def test_any_history_is_stored_and_loaded_equal(tmp_path_factory, data) -> None:
    history = data.draw(histories((CLAUDE, GPT)))
    stage = open_stage(tmp_path_factory.mktemp("round"))
    try:
        await stage.journal.history_replaced("s", history)
        loaded = (await stage.conversations.load("s")).turns
        assert loaded == tuple(replace(turn, open=False) for turn in history)
        exported = await stage.library.export("s", "json", "all")
        path = stage.database.path.with_name("s.json")
        path.write_text(exported, encoding="ascii")
        brought = await stage.library.import_file(path)
        assert (await stage.conversations.load(brought)).turns == loaded
    finally:
        stage.database.close()


@given(histories((CLAUDE, GPT)))
def test_any_block_survives_its_json(history: tuple[Turn, ...]) -> None:
    for turn in history:
        for message in turn.messages:
            for block in message.blocks:
                found = loads(dumps(block_object(block)))
                assert isinstance(found, dict)
                assert block_from(found) == block


ANY_TEXT = st.text(
    st.characters(categories=("L", "N", "P", "Z", "C", "S", "M")) | st.sampled_from("\0\ud83d\udc00\x1b")
)


@given(ANY_TEXT, ANY_TEXT, st.integers(), st.floats(allow_nan=False, allow_infinity=False))
def test_any_text_and_any_number_survive_as_a_row(words: str, opaque: str, tokens: int, seconds: float) -> None:
    block = replace(thought(words, opaque), tokens=tokens, seconds=seconds)
    row = to_row(block_object(block))
    assert block_from(from_row(row.kind, row.text, row.payload, row.blobs)) == block


async def test_writing_the_same_again_changes_nothing(stage: Stage) -> None:
    turn = a_turn(1, cost=0.5)
    await stage.keep("s", turn)
    await stage.keep("s", turn)
    loaded = await stage.conversations.load("s")
    (row,) = await stage.library.sessions("because")
    assert (loaded.turns, row.turns, row.cost) == ((turn,), 1, 0.5)


async def test_a_checkpoint_is_replaced_by_the_whole_message(stage: Stage) -> None:
    turn = a_turn(1)
    await stage.journal.turn_started("s", Turn(id="t1", messages=turn.messages[:1], open=True))
    await stage.journal.checkpoint("s", "t1", answer("a1", thought("tho", None)))
    await stage.journal.message_added("s", "t1", turn.messages[1])
    await stage.journal.checkpoint("s", "t1", answer("a1", thought("late", None)))
    await stage.journal.turn_finished("s", turn)
    assert (await stage.conversations.load("s")).turns == (turn,)


async def test_what_a_crash_cut_off_is_there_and_says_so(tmp_path: Path) -> None:
    crashed = open_stage(tmp_path, holder=replace(this_process("first"), process_start="earlier"))
    await crashed.journal.turn_started("s", Turn(id="t1", messages=(prompt("p1", "Why?"),), open=True))
    await crashed.journal.checkpoint("s", "t1", answer("a1", thought("as far as", None), "half an ans"))
    crashed.database.close()
    stage = open_stage(tmp_path, holder=this_process("second"))
    partial = replace(answer("a1", thought("as far as", None), "half an ans"), interrupted="crashed")
    assert (await stage.conversations.load("s")).turns == (Turn(id="t1", messages=(prompt("p1", "Why?"), partial)),)
    assert [row.id for row in await stage.library.sessions("half")] == ["s"]
    stage.database.close()


async def test_an_open_message_grows_without_being_written_again(stage: Stage) -> None:
    turn = a_turn(1)
    await stage.journal.turn_started("s", Turn(id="t1", messages=turn.messages[:1], open=True))
    head = answer("a1")
    first = "x" * 1_000_000
    begun = [
        BlockGrowth(0, 0, thought(first, None)),
        BlockGrowth(1, 0, ToolCallBlock(call_id="c", name="n", arguments='{"a": "')),
    ]
    assert await stage.journal.grown("s", "t1", head, begun, whole=True)
    for number in range(3):
        more = [
            BlockGrowth(0, len(first) + 4 * number, replace(thought("more", None), seconds=float(number))),
            BlockGrowth(1, 7 + number, ToolCallBlock(call_id="c", name="n", arguments="\0" if number == 1 else "y")),
        ]
        assert await stage.journal.grown("s", "t1", head, more, whole=False)
        assert await stage.journal.grown("s", "t1", head, more, whole=False), "again, as after a fault"
    (characters,) = await stage.database.run(
        lambda connection: connection.execute("SELECT sum(length(text)) FROM block").fetchone()
    )
    assert characters < len(first) + 100, "no words are stored twice"
    (loaded,) = (await stage.conversations.load("s")).turns
    said, call = loaded.messages[-1].blocks
    assert said == replace(thought(first + "more" * 3, None), seconds=2.0)
    assert isinstance(call, ToolCallBlock)
    assert call.arguments == '{"a": "y\0y'


async def test_what_grows_on_nothing_is_asked_for_whole(stage: Stage) -> None:
    turn = a_turn(1)
    await stage.journal.turn_started("s", Turn(id="t1", messages=turn.messages[:1], open=True))
    more = [BlockGrowth(0, 4, TextBlock(text="rest"))]
    assert not await stage.journal.grown("s", "t1", answer("a1"), more, whole=False)
    await stage.journal.message_added("s", "t1", turn.messages[1])
    assert await stage.journal.grown("s", "t1", answer(turn.messages[1].id), more, whole=False)
    await stage.journal.turn_finished("s", turn)
    assert (await stage.conversations.load("s")).turns == (turn,)


async def test_a_crash_leaves_one_row_for_a_block_that_came_in_parts(tmp_path: Path) -> None:
    crashed = open_stage(tmp_path, holder=replace(this_process("first"), process_start="earlier"))
    await crashed.journal.turn_started("s", Turn(id="t1", messages=(prompt("p1", "Why?"),), open=True))
    head = answer("a1")
    for number, words in enumerate(("half ", "an ", "answer")):
        growth = [BlockGrowth(0, 10 * number, TextBlock(text=words))]
        assert await crashed.journal.grown("s", "t1", head, growth, whole=not number)
    crashed.database.close()
    stage = open_stage(tmp_path, holder=this_process("second"))
    partial = replace(answer("a1", "half an answer"), interrupted="crashed")
    assert (await stage.conversations.load("s")).turns == (Turn(id="t1", messages=(prompt("p1", "Why?"), partial)),)
    assert [row.id for row in await stage.library.sessions("half answer")] == ["s"]
    rows = await stage.database.run(lambda connection: connection.execute("SELECT text FROM block").fetchall())
    assert rows == [("Why?",), ("half an answer",)]
    stage.database.close()


async def test_a_checkpoint_of_what_never_came_is_dropped_with_the_turn(stage: Stage) -> None:
    turn = a_turn(1)
    await stage.journal.turn_started("s", Turn(id="t1", messages=turn.messages[:1], open=True))
    await stage.journal.checkpoint("s", "t1", answer("gone", "never mind"))
    await stage.journal.message_added("s", "t1", turn.messages[1])
    await stage.journal.turn_finished("s", turn)
    assert (await stage.conversations.load("s")).turns == (turn,)


async def test_a_message_whose_turn_was_never_saved_is_kept_all_the_same(stage: Stage) -> None:
    turn = a_turn(1)
    await stage.journal.message_added("s", "t1", turn.messages[1])
    await stage.journal.turn_finished("s", turn)
    assert (await stage.conversations.load("s")).turns == (turn,)


async def test_a_compression_is_a_view_that_can_be_lifted(stage: Stage) -> None:
    await stage.keep("s", a_turn(1), a_turn(2))
    view = CompressionView(
        summary="sum \ud83d", compressed_turns=frozenset({"t1"}), verbatim=("w\0",), shortened={("a1", "c1"): "cut"}
    )
    await stage.journal.compressed("s", view)
    folded = await stage.conversations.load("s")
    await stage.journal.compressed("s", None)
    lifted = await stage.conversations.load("s")
    assert (folded.compression, folded.turns) == (view, (a_turn(1), a_turn(2)))
    assert (lifted.compression, lifted.turns) == (None, folded.turns)


async def test_a_summary_of_turns_that_left_the_path_is_dropped(stage: Stage) -> None:
    await stage.keep("s", a_turn(1), a_turn(2), a_turn(3))
    await stage.journal.compressed("s", CompressionView(summary="sum", compressed_turns=frozenset({"t1", "t2"})))
    await stage.journal.history_replaced("s", (a_turn(1),))
    assert (await stage.conversations.load("s")).compression is None


async def test_order_is_that_of_writing_when_the_clock_goes_back(stage: Stage) -> None:
    await stage.keep("old", a_turn(1, "first asked"))
    stage.time.at -= 86_400
    await stage.keep("new", a_turn(1, "asked later"), a_turn(2))
    assert await stage.titles() == ["asked later", "first asked"]
    assert (await stage.conversations.load("new")).turns == (a_turn(1, "asked later"), a_turn(2))


async def test_a_long_answer_is_read_without_being_sorted(stage: Stage) -> None:
    plans: list[str] = []

    def planned(connection: sqlite3.Connection) -> None:
        asked: list[str] = []
        connection.set_trace_callback(asked.append)
        read_blocks(connection, [1, 2, 3])
        connection.set_trace_callback(None)
        for statement in asked:
            plans.extend(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}"))

    await stage.keep("s", a_turn(1))
    await stage.database.run(planned)
    assert any("block" in plan for plan in plans)
    assert not [plan for plan in plans if "TEMP B-TREE" in plan], "it would hold another copy of all words"
