"""Long texts are stored in parts: the end of an answer rewrites nothing and copies little."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.store.stage import Stage, a_turn, answer, open_stage, prompt, thought
from tui.domain.blocks import Block, TextBlock, ToolCallBlock
from tui.domain.messages import BlockGrowth, Turn
from tui.store import blocks as stored_blocks
from tui.store import fulltext

PARTS = 8
TEXTS = st.text(alphabet="ab \n\0\ud83dé😀", max_size=5 * PARTS)


def block_of(kind: str, text: str) -> Block:
    if kind == "tool_call":
        return ToolCallBlock(call_id="c", name="n", arguments=text)
    return thought(text, None) if kind == "thinking" else TextBlock(text=text)


@settings(max_examples=settings().max_examples // 5)
@given(
    st.lists(st.tuples(st.sampled_from(["text", "thinking", "tool_call"]), TEXTS), min_size=1, max_size=3),
    st.lists(st.floats(0, 1), max_size=3),
    st.booleans(),
)
async def test_a_message_is_loaded_as_it_was_whatever_part_of_it_was_stored_before(
    tmp_path_factory: pytest.TempPathFactory, said: list[tuple[str, str]], shares: list[float], other: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored_blocks, "PART_SIZE", PARTS)
        patch.setattr(fulltext, "LONG", PARTS)
        stage = open_stage(tmp_path_factory.mktemp("store"))
        final = tuple(block_of(*each) for each in said)
        turn = Turn(id="t1", messages=(prompt("p1", "Why?"), replace(answer("a1"), blocks=final)))
        await stage.journal.turn_started("s", Turn(id="t1", messages=turn.messages[:1], open=True))
        ends = [0] * len(said)
        for number, share in enumerate(sorted(shares)):
            grown = []
            for position, (kind, text) in enumerate(said):
                end = int(share * len(text))
                new = ("!" if other else "") + text[ends[position] : end]
                grown.append(BlockGrowth(position, ends[position], block_of(kind, new)))
                ends[position] = end
            assert await stage.journal.grown("s", "t1", answer("a1"), grown, whole=not number)
        await stage.journal.message_added("s", "t1", turn.messages[1])
        before = await stage.database.run(lambda connection: connection.total_changes)
        await stage.journal.message_added("s", "t1", turn.messages[1])
        assert await stage.database.run(lambda connection: connection.total_changes) == before, "nothing new"
        await stage.journal.turn_finished("s", turn)
        assert (await stage.conversations.load("s")).turns == (turn,)
        longest = await stage.database.run(
            lambda connection: connection.execute("SELECT max(length(text)) FROM block").fetchone()[0]
        )
        assert longest <= PARTS
        stage.database.close()


async def test_the_end_of_a_long_answer_writes_only_what_is_new(stage: Stage) -> None:
    text = "many words and a line end\n" * 100_000
    turn = a_turn(1)
    whole = replace(answer("a1"), blocks=(TextBlock(text=text),))
    await stage.journal.turn_started("s", Turn(id="t1", messages=turn.messages[:1], open=True))
    for at in range(0, 2_000_000, 500_000):
        grown = [BlockGrowth(0, at, TextBlock(text=text[at : at + 500_000], partial=True))]
        assert await stage.journal.grown("s", "t1", answer("a1"), grown, whole=not at)
    parts = "SELECT place, text FROM block WHERE text != '' ORDER BY place"
    before = await stage.database.run(lambda connection: connection.execute(parts).fetchall())
    await stage.journal.message_added("s", "t1", whole)
    after = await stage.database.run(lambda connection: connection.execute(parts).fetchall())
    assert after[: len(before)] == before
    assert "".join(row[1] for row in after[1:]) == text
    (loaded,) = (await stage.conversations.load("s")).turns
    assert loaded.messages[-1].blocks == whole.blocks


MEASURED = """
import asyncio, re, sys
from pathlib import Path
from tests.store.stage import answer, open_stage, prompt
from tui.domain.blocks import TextBlock
from tui.domain.messages import BlockGrowth, Turn
from dataclasses import replace

def status(name):
    return int(re.search(name + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024

async def main():
    stage = open_stage(Path(sys.argv[1]))
    async def tell(session, text):
        turn = Turn(id="t", messages=(prompt("p", "Why?"), replace(answer("a"), blocks=(TextBlock(text=text),))))
        await stage.journal.turn_started(session, Turn(id="t", messages=turn.messages[:1], open=True))
        for at in range(0, len(text), 400_000):
            grown = [BlockGrowth(0, at, TextBlock(text=text[at : at + 400_000], partial=True))]
            await stage.journal.grown(session, "t", answer("a"), grown, whole=not at)
        Path("/proc/self/clear_refs").write_text("5")  # the peak is that of what follows
        before = status("VmRSS")
        await stage.journal.message_added(session, "t", turn.messages[1])
        await stage.journal.turn_finished(session, turn)
        return (status("VmHWM") - before) / len(text), (status("VmRSS") - before) / len(text)
    await tell("warm", "many words and a line end\\n" * 40_000)
    print(*await tell("measured", "many words and a line end\\n" * 500_000))
    stage.database.close()

asyncio.run(main())
"""


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak cannot be reset")
def test_storing_a_long_answer_takes_little_memory_and_gives_it_back(tmp_path: Path) -> None:
    # SQLite's copy of the text for the index, and the index itself.
    ran = subprocess.run(
        [sys.executable, "-c", MEASURED, str(tmp_path)], capture_output=True, text=True, timeout=120, check=True
    )
    peak, kept = map(float, ran.stdout.split())
    assert peak < 2.0
    assert kept < 0.6


@pytest.mark.long
async def test_a_long_text_is_indexed_by_the_same_words_at_the_same_places(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever sign is between them: a message is removed from the index by the words that it has."""
    signs = [*range(0x300), *range(0x2000, 0x3100), *range(0xD800, 0xD810), *range(0xFE00, 0x10000), 0x1F600]
    text = "".join(f"a{chr(sign)}b 春{chr(sign)}眠 " for sign in signs)
    blocks = [{"kind": "text", "text": text}]

    def words(connection: sqlite3.Connection, message: int, longest: int) -> list[tuple[str, int]]:
        monkeypatch.setattr(fulltext, "LONG", longest)
        fulltext.index(connection, message, "assistant", blocks)
        connection.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.each_word USING fts5vocab(main, words, instance)")
        found = "SELECT term, offset FROM each_word WHERE doc = ? ORDER BY offset"
        return connection.execute(found, (message,)).fetchall()

    short = await stage.database.run(lambda connection: words(connection, 1, 10**9))
    assert await stage.database.run(lambda connection: words(connection, 2, 1)) == short
    assert len(short) > 2 * len(signs)
