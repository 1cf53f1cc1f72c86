"""The ledger of all requests: reserved before, settled after, and never lost in between."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.catalog.asking import CATALOG
from tests.store.stage import Stage, Time, answer, open_stage, prompt
from tui.app.spending_report import By, spending_report
from tui.domain.compression import SummaryRun
from tui.domain.cost import ExceededLimit, LimitScope, Reservation, SpendingLimits
from tui.domain.messages import Message, Turn
from tui.domain.stream import Finish, Stop
from tui.domain.usage import Usage
from tui.store.leases import this_process
from tui.store.recovery import recover
from tui.store.spending import StoredLedger, midnight_before, spent_since

STOP = Stop(Finish.STOP)


def ledger(stage: Stage, run: str = "run") -> StoredLedger:
    return StoredLedger(stage.database, this_process(run), stage.time)


def reservation(identity: str, dollars: float = 1.0, session: str = "s", turn: str = "t") -> Reservation:
    return Reservation(id=identity, session=session, turn=turn, model="x/y", dollars=dollars)


async def spent(stage: Stage, **limits: float) -> ExceededLimit | None:
    """The limit that one more dollar would exceed; nothing is recorded."""
    asked: SpendingLimits = {LimitScope(name): limit for name, limit in limits.items()}
    found = await ledger(stage).reserve(reservation("probe"), asked)
    await stage.database.run(lambda connection: connection.execute("DELETE FROM spending WHERE id = 'probe'") and None)
    return found


@pytest.mark.parametrize(
    ("scope", "other"),
    [
        (LimitScope.TURN, {"turn": "another"}),
        (LimitScope.SESSION, {"session": "another"}),
        (LimitScope.RUN, {}),
        (LimitScope.DAY, {"session": "another", "turn": "another"}),
    ],
)
async def test_each_limit_counts_what_belongs_to_it(tmp_path: Path, scope: LimitScope, other: dict[str, str]) -> None:
    stage = open_stage(tmp_path)
    book = ledger(stage)
    assert await book.reserve(reservation("a", 2.0), {}) is None
    assert await ledger(stage, "another run").reserve(reservation("b", 4.0, **other), {}) is None
    exceeded = await book.reserve(reservation("c"), {scope: 2.5})
    assert exceeded == ExceededLimit(scope=scope, limit=2.5, spent=6.0 if scope is LimitScope.DAY else 2.0)
    assert await book.reserve(reservation("c"), {scope: 7.0}) is None
    stage.database.close()


async def test_windows_that_ask_at_once_never_get_more_than_the_limit(tmp_path: Path) -> None:
    windows = [open_stage(tmp_path, holder=this_process(f"window {number}")) for number in range(4)]
    books = [ledger(stage, f"window {number}") for number, stage in enumerate(windows)]
    answers = await asyncio.gather(
        *(
            book.reserve(reservation(f"{window} {number}", session=f"s{window}"), {LimitScope.DAY: 10.0})
            for number in range(6)
            for window, book in enumerate(books)
        )
    )
    assert sum(answer is None for answer in answers) == 10
    assert {answer.spent for answer in answers if answer is not None} == {10.0}
    for stage in windows:
        stage.database.close()


async def test_the_day_begins_at_midnight(tmp_path: Path) -> None:
    now = Time(midnight_before(time.time()) + 3_600)
    stage = open_stage(tmp_path, time=now)
    now.at -= 7_200
    await ledger(stage).reserve(reservation("yesterday", 9.0), {})
    now.at += 7_200
    assert await spent(stage, day=1.5) is None
    stage.database.close()


async def test_the_cost_of_an_answer_replaces_its_reservation(tmp_path: Path) -> None:
    stage = open_stage(tmp_path)
    book = ledger(stage)
    await book.reserve(reservation("a1", 5.0, turn="t1"), {})
    final = replace(answer("a1"), cost=0.25, stop=STOP, usage=Usage(input=10, output=5))
    await stage.keep("s", Turn(id="t1", messages=(prompt("p1", "Why?"), final)))
    assert await spent(stage, session=1.0) == ExceededLimit(scope=LimitScope.SESSION, limit=1.0, spent=0.25)
    book.settle("a1", 3.0)  # late: the cost is known
    assert await spent(stage, session=1.0) == ExceededLimit(scope=LimitScope.SESSION, limit=1.0, spent=0.25)
    [row] = await stage.database.read(lambda connection: spent_since(connection, 0))
    assert (row.cost, row.final, row.usage, row.session) == (0.25, True, Usage(input=10, output=5), "s")
    stage.database.close()


@pytest.mark.parametrize(("estimate", "left"), [(0.0, 0.0), (0.5, 0.5)])
async def test_a_request_without_an_answer_counts_with_its_estimate(
    tmp_path: Path, estimate: float, left: float
) -> None:
    stage = open_stage(tmp_path)
    book = ledger(stage)
    await book.reserve(reservation("a1", 5.0), {})
    book.settle("a1", estimate)
    assert await spent(stage, session=0.25) == ExceededLimit(scope=LimitScope.SESSION, limit=0.25, spent=left)
    rows = await stage.database.read(lambda connection: spent_since(connection, 0))
    assert len(rows) == (1 if estimate else 0)
    stage.database.close()


@pytest.mark.parametrize("checkpoint", [False, True])
async def test_a_crash_leaves_the_reservation_as_spent(tmp_path: Path, checkpoint: bool) -> None:
    stage = open_stage(tmp_path)
    await ledger(stage).reserve(reservation("a1", 5.0, turn="t1"), {})
    turn = Turn(id="t1", messages=(prompt("p1", "Why?"),), open=True)
    await stage.journal.turn_started("s", turn)
    if checkpoint:
        await stage.journal.checkpoint("s", "t1", replace(answer("a1"), cost=0.01, usage=Usage(input=10)))
    stage.database.close()
    again = open_stage(tmp_path, holder=replace(this_process("second"), pid=os.getpid()))
    await again.database.run(lambda connection: connection.execute("DELETE FROM lease") and None)
    await again.conversations.load("s")
    assert await spent(again, session=1.0) == ExceededLimit(scope=LimitScope.SESSION, limit=1.0, spent=5.0)
    [row] = await again.database.read(lambda connection: spent_since(connection, 0))
    assert (row.cost, row.final, row.reserved) == (0.01 if checkpoint else None, False, 5.0)
    again.database.close()


async def test_an_interrupted_answer_and_a_failed_summary_are_not_final(tmp_path: Path) -> None:
    stage = open_stage(tmp_path)
    cut: Message = replace(answer("a1"), cost=0.25, interrupted="cancelled", stop=None)
    await stage.keep("s", Turn(id="t1", messages=(prompt("p1", "Why?"), cut)))
    assert cut.origin is not None
    run = SummaryRun(id="r1", turn="t1", origin=cut.origin, usage=None, seconds=1.0, cost=0.5, failure="Cut.")
    await stage.journal.summary_run("s", run)
    rows = await stage.database.read(lambda connection: spent_since(connection, 0))
    assert [(row.cost, row.final) for row in rows] == [(0.25, False), (0.5, False)]
    assert await spent(stage, session=1.0) == ExceededLimit(scope=LimitScope.SESSION, limit=1.0, spent=0.75)
    stage.database.close()


async def test_a_recovered_database_keeps_the_ledger(tmp_path: Path) -> None:
    stage = open_stage(tmp_path)
    await ledger(stage).reserve(reservation("a1", 5.0), {})
    stage.database.close()
    recover(stage.database.path, lambda _: "ext4")
    again = open_stage(tmp_path)
    assert await spent(again, session=1.0) == ExceededLimit(scope=LimitScope.SESSION, limit=1.0, spent=5.0)
    again.database.close()


@pytest.mark.one_in(8)
@pytest.mark.parametrize("column", ["session", "turn", "model", "reserved", "cost", "final", "usage", "created"])
@pytest.mark.parametrize("value", ["'noon'", "x'ff00'", "-1", "9e999", "'[['", "'{\"input\": 1e999}'"])
async def test_a_damaged_entry_keeps_no_other_from_being_reported(tmp_path: Path, column: str, value: str) -> None:
    stage = open_stage(tmp_path)
    for identity in ("damaged", "sound"):
        assert await ledger(stage).reserve(reservation(identity), {}) is None
    damage = f"UPDATE spending SET {column} = {value} WHERE id = 'damaged'"
    await stage.database.run(lambda connection: connection.execute(damage) and None)
    found = await stage.database.read(lambda connection: spent_since(connection, 0.0))
    by: tuple[By, ...] = ("day", "model", "session")
    for one in by:
        report = spending_report(found, CATALOG, by=one, days=30, now=stage.time.at)
        assert report.total.requests == (1 if column == "created" else 2)
    stage.database.close()
