"""Summaries in the store: every view with those before it, and what they cost, through forks, exports and damage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.store.stage import CLAUDE, a_turn, open_stage
from tui.domain.compression import CompressionView, SummaryRun
from tui.domain.errors import UsageError
from tui.domain.usage import Usage

FIRST = CompressionView(
    summary="First.",
    compressed_turns=frozenset({"t1"}),
    finished=frozenset({"t1", "t2"}),
    before=900,
    after=300,
)
CUT = CompressionView(
    summary="First.", compressed_turns=frozenset({"t1"}), shortened={("a2", "c"): "…"}, previous=FIRST
)
SECOND = CompressionView(
    summary="Second.", compressed_turns=frozenset({"t1", "t2"}), before=800, after=200, previous=CUT
)


def run(name: str, turn: str, cost: float | None = 0.25, failure: str = "") -> SummaryRun:
    usage = Usage(input=700, output=60, total=760)
    return SummaryRun(id=name, turn=turn, origin=CLAUDE, usage=usage, seconds=1.5, cost=cost, failure=failure)


RUNS = (run("r1", "t2"), run("r2", "t3", None, "It broke."), run("r3", "t3"))


async def test_views_and_runs_come_back_as_they_were_also_in_forks_exports_and_imports(tmp_path: Path) -> None:
    stage = open_stage(tmp_path)
    await stage.keep("s", *(a_turn(number, cost=0.5) for number in (1, 2, 3)))
    await stage.journal.compressed("s", SECOND)
    for paid in (*RUNS, RUNS[0]):
        await stage.journal.summary_run("s", paid)
    loaded = await stage.conversations.load("s")
    assert (loaded.compression, loaded.summaries) == (SECOND, RUNS)
    [row] = await stage.library.sessions()
    assert row.cost == 3 * 0.5 + 2 * 0.25

    fork = await stage.conversations.fork("s", "t2")
    forked = await stage.conversations.load(fork)
    assert (forked.compression, forked.summaries) == (SECOND, RUNS[:1])
    shorter = await stage.conversations.load(await stage.conversations.fork("s", "t1"))
    assert (shorter.compression, shorter.summaries) == (CUT, ())

    (tmp_path / "s.json").write_text(await stage.library.export("s", "json", "all"))
    brought = await stage.conversations.load(await stage.library.import_file(tmp_path / "s.json"))
    assert (brought.compression, brought.summaries) == (SECOND, RUNS)
    stage.database.close()


async def test_exports_say_what_answers_and_summaries_cost(tmp_path: Path) -> None:
    stage = open_stage(tmp_path)
    await stage.keep("s", *(a_turn(number, cost=0.5) for number in (1, 2, 3)))
    for paid in RUNS:
        await stage.journal.summary_run("s", paid)
    shown = await stage.library.export("s", "md", "thinking")
    assert shown.endswith(
        "## Cost\n\nSession: at least $2.00\n\n- anthropic/claude-opus-5: $1.50\n"
        "- anthropic/claude-opus-5 for summaries of folded turns: at least $0.50\n"
    )
    assert "Cost" not in await stage.library.export("s", "md", "answers")
    assert '<section class="cost">' in await stage.library.export("s", "html", "all")
    stage.database.close()


async def test_a_branch_without_the_turn_has_not_paid_for_its_summary(tmp_path: Path) -> None:
    stage = open_stage(tmp_path)
    await stage.keep("s", a_turn(1), a_turn(2), a_turn(3))
    await stage.journal.summary_run("s", RUNS[0])
    await stage.journal.history_replaced("s", (a_turn(1),))
    assert (await stage.conversations.load("s")).summaries == ()
    assert (await stage.conversations.activate("s", "t2")).summaries == RUNS[:1]
    stage.database.close()


async def test_an_import_with_a_summary_that_is_none_is_refused(tmp_path: Path) -> None:
    stage = open_stage(tmp_path)
    await stage.keep("s", a_turn(1))
    found = json.loads(await stage.library.export("s", "json", "all"))
    path = tmp_path / "s.json"
    for broken in ({"view": {"summary": "x", "previous": [3]}}, {"summaries": [{"id": "r", "turn": "t1"}]}):
        path.write_text(json.dumps({**found, **broken}))
        with pytest.raises(UsageError, match="not a conversation that can be read"):
            await stage.library.import_file(path)
    stage.database.close()
