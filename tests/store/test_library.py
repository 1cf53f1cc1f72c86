"""Lists, names, pins, deletion and its undoing, and sessions that somebody else has open."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.store.stage import GPT, Stage, a_turn, answer, open_stage, prompt, rich_turn
from tui.domain.cost import Cost
from tui.domain.errors import UsageError
from tui.domain.listing import SessionInfo
from tui.domain.messages import Turn
from tui.store.leases import OtherProcess, this_process
from tui.store.sessions import NewSession


async def test_a_row_says_what_a_session_is(stage: Stage) -> None:
    await stage.keep("s", a_turn(1, "What is a monad?", cost=0.5), a_turn(2, cost=0.25, origin=GPT))
    row = SessionInfo(
        id="s", title="What is a monad?", model="openai/gpt-5.6-sol", turns=2, cost=0.75, updated=stage.time.at
    )
    assert list(await stage.library.sessions()) == [row]


async def test_an_unknown_cost_is_not_zero(stage: Stage) -> None:
    await stage.keep("s", a_turn(1))
    (row,) = await stage.library.sessions()
    assert row.cost is None


async def test_an_interrupted_answer_is_not_fully_priced_unless_it_is_free(stage: Stage) -> None:
    for name, cost in (("paid", 0.25), ("free", 0.0)):
        cut = replace(answer(f"{name}-a"), cost=cost, interrupted="cancelled", stop=None)
        await stage.keep(name, Turn(id=name, messages=(prompt(f"{name}-p", "Why?"), cut)))
    rows = await stage.library.sessions()
    assert {row.id: Cost(dollars=row.cost, unknown=row.unpriced).words for row in rows} == {
        "paid": "at least $0.25",
        "free": "$0",
    }


async def test_pinned_sessions_come_first_then_the_newest(stage: Stage) -> None:
    for name in ("one", "two", "three"):
        await stage.keep(name, a_turn(1, name))
    await stage.library.pin("one", pinned=True)
    assert await stage.titles() == ["one", "three", "two"]
    await stage.library.pin("one", pinned=False)
    assert await stage.titles() == ["three", "two", "one"]
    newest = await stage.library.newest()
    assert newest is not None
    assert newest.id == "three"


@pytest.mark.parametrize(
    ("asked", "title"),
    [
        ("Why is the sky blue?", "Why is the sky blue?"),
        ("  many\n\n  lines \t here ", "many lines here"),
        ("word " * 30, "word word word word word word word word word word word word…"),
        ("x" * 200, "x" * 59 + "…"),
        ("red \x1b[31m\x00 and \ud83d", "red [31m and"),
    ],
)
async def test_a_session_is_titled_by_the_first_words_of_its_first_prompt(stage: Stage, asked: str, title: str) -> None:
    await stage.keep("s", a_turn(1, asked), a_turn(2, "something else"))
    assert await stage.titles() == [title]


async def test_no_two_sessions_have_the_same_automatic_title(stage: Stage) -> None:
    told: list[tuple[str, str]] = []
    stage.journal.on_title = lambda session, title: told.append((session, title))
    for number in range(1, 4):
        await stage.keep(f"s{number}", a_turn(number, "Fix the sums"), a_turn(f"{number}b", "more"))
    await stage.keep("other", a_turn(9, "Fix the sums of 2"))
    await stage.conversations.fork("s2", "t2")
    assert sorted(await stage.titles()) == [
        *("Fix the sums", "Fix the sums (2)", "Fix the sums (3)", "Fix the sums (4)"),
        "Fix the sums of 2",
    ]
    assert told == [("s2", "Fix the sums (2)"), ("s3", "Fix the sums (3)")]


async def test_a_title_of_the_users_stays(stage: Stage) -> None:
    await stage.keep("s", a_turn(1))
    await stage.library.rename("s", "  The\nFermi paradox ")
    await stage.keep("s", a_turn(2, "more"))
    assert await stage.titles() == ["The Fermi paradox"]


async def test_sessions_without_a_turn_are_not_listed_unless_they_have_a_name(stage: Stage) -> None:
    await stage.conversations.create(NewSession(id="empty"))
    await stage.conversations.create(NewSession(id="named", title="Plans"))
    assert await stage.titles() == ["Plans"]


async def test_a_deleted_session_is_out_of_sight_and_comes_back(stage: Stage) -> None:
    await stage.keep("s", a_turn(1, "findable"))
    await stage.library.delete("s")
    assert (await stage.titles(), await stage.titles("findable")) == ([], [])
    assert [(row.id, row.deleted) for row in await stage.library.deleted()] == [("s", True)]
    await stage.library.undelete("s")
    assert (await stage.titles(), await stage.titles("findable")) == (["findable"], ["findable"])


async def test_a_session_can_be_deleted_for_good(stage: Stage) -> None:
    await stage.keep("kept", a_turn(1))
    await stage.keep("gone", rich_turn(), a_turn(1, "findable"))
    await stage.library.purge("gone")
    left = await stage.database.read(
        lambda connection: [
            connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("session", "turn", "message", "block", "blob")
        ]
    )
    assert left == [1, 1, 2, 3, 0]
    assert await stage.titles("findable") == []


async def test_no_word_of_a_session_that_was_deleted_for_good_is_left_in_the_files(stage: Stage) -> None:
    for name in ("kept", "gone", "other"):
        await stage.keep(name, a_turn(1, f"about xylophone{name}"))
    await stage.library.purge("gone")
    stage.database.close()
    left = b"".join(file.read_bytes() for file in stage.database.path.parent.iterdir() if file.is_file())
    assert b"xylophonekept" in left
    assert b"xylophonegone" not in left


async def test_a_session_can_be_named_by_a_part_of_its_id_or_its_title(stage: Stage) -> None:
    await stage.keep("01ABCDEF", a_turn(1, "alpha"))
    await stage.keep("01ABCXYZ", a_turn(1, "beta"))
    named = [await stage.library.resolve(name) for name in ("01ABCDEF", "01ABCX", "DEF", "BETA")]
    assert named == ["01ABCDEF", "01ABCXYZ", "01ABCDEF", "01ABCXYZ"]
    for name in ("01ABC", "%", "nothing"):
        with pytest.raises(UsageError):
            await stage.library.resolve(name)


async def test_the_preview_shows_the_first_and_last_words(stage: Stage) -> None:
    await stage.keep("s", *(a_turn(number, f"ask {number}", f"say {number}") for number in range(5)))
    assert await stage.library.preview("s") == (
        "**You**\n\nask 0\n\n**anthropic/claude-opus-5**\n\nsay 0\n\n*… 3 more …*\n\n"
        "**You**\n\nask 4\n\n**anthropic/claude-opus-5**\n\nsay 4"
    )


async def test_a_session_open_in_a_living_process_is_held(tmp_path: Path) -> None:
    first = open_stage(tmp_path)
    second = open_stage(tmp_path, holder=this_process("second"))
    await first.keep("s", a_turn(1))
    held = (await second.conversations.load("s")).held_by
    assert held == OtherProcess(pid=first.holder.pid, host=first.holder.host, here=True)
    await first.conversations.release("s")
    assert (await second.conversations.load("s")).held_by is None
    first.database.close()
    second.database.close()


@pytest.mark.parametrize(
    "gone",
    [
        {"process_start": "another process had that number"},
        {"boot": "before the machine was started again"},
        {"pid": 2**22 + 1},
    ],
)
async def test_a_session_of_a_dead_process_is_free(tmp_path: Path, gone: dict[str, object]) -> None:
    dead = open_stage(tmp_path, holder=replace(this_process("dead"), **gone))  # type: ignore[arg-type]
    await dead.keep("s", a_turn(1))
    dead.database.close()
    stage = open_stage(tmp_path, holder=this_process("living"))
    assert (await stage.conversations.load("s")).held_by is None
    stage.database.close()


@pytest.mark.parametrize("pid", ["1 << 40", "-1", "0", "'x'", "x''"])
async def test_a_damaged_lease_keeps_no_session_from_being_opened(tmp_path: Path, pid: str) -> None:
    first = open_stage(tmp_path)
    second = open_stage(tmp_path, holder=this_process("second"))
    await first.keep("s", a_turn(1))
    await first.conversations.load("s")
    await first.database.run(lambda connection: connection.execute(f"UPDATE lease SET pid = {pid}") and None)
    assert (await second.conversations.load("s")).held_by is None
    first.database.close()
    second.database.close()


async def test_a_holder_on_another_machine_is_believed_as_long_as_it_is_heard_of(tmp_path: Path) -> None:
    away = open_stage(tmp_path, holder=replace(this_process("away"), host="elsewhere"))
    here = open_stage(tmp_path, holder=this_process("here"))
    await away.keep("s", a_turn(1))
    away.time.at += 1_000
    here.time.at = away.time.at
    await away.journal.still_open("s")
    assert (await here.conversations.load("s")).held_by == OtherProcess(
        pid=away.holder.pid, host="elsewhere", here=False
    )
    here.time.at += 200
    assert (await here.conversations.load("s")).held_by is None
    away.database.close()
    here.database.close()


async def test_who_slept_while_another_machine_took_the_session_is_told_once(tmp_path: Path) -> None:
    away = open_stage(tmp_path, holder=replace(this_process("away"), host="elsewhere"))
    here = open_stage(tmp_path, holder=this_process("here"))
    told: list[str] = []
    away.database.tell = told.append
    await away.keep("s", a_turn(1))
    here.time.at = away.time.at = away.time.at + 1_000
    assert (await here.conversations.load("s")).held_by is None
    for _ in range(2):
        await away.journal.still_open("s")
    assert [f"also opened on {here.holder.host}" in sentence for sentence in told] == [True]
    assert (await here.conversations.load("s")).held_by is None
    away.database.close()
    here.database.close()


async def test_saying_that_a_session_is_still_open_makes_no_file_where_there_is_none(tmp_path: Path) -> None:
    stage = open_stage(tmp_path)
    await stage.journal.still_open("s")
    stage.database.close()
    assert list(tmp_path.iterdir()) == []
