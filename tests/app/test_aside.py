"""Side questions over the running conversation: what is sent, what stays, what it costs."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.app.billing_server import BillingServer
from tests.app.screen_stage import Screen, screen
from tests.app.stage import config
from tests.app.test_cached_conversation import prepare
from tests.faultserver.player import Step
from tests.faultserver.server import FaultServer
from tests.ui.stage import until
from tui.domain.blocks import ToolCallBlock
from tui.engine.side_turns import DIRECTLY
from tui.engine.state import Phase
from tui.providers.demo.responses import DemoUsage
from tui.ui.dialogs.approval import Approval
from tui.ui.dialogs.aside import Aside
from tui.ui.dialogs.sheet import Sheet

TABLES = ("session", "turn", "message", "block", "summary_run", "spending")
KEY = {"ANTHROPIC_API_KEY": "sk-ant-test-0123456789abcdef"}
MODEL = "anthropic/claude-sonnet-4-5/low"


def rows(home: Path, *tables: str) -> dict[str, list[tuple[object, ...]]]:
    """Everything in these tables, byte for byte."""
    [path] = home.rglob("sessions.db")
    with closing(sqlite3.connect(path)) as connection:
        return {table: connection.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall() for table in tables}


def sheet(s: Screen) -> Aside:
    found = s.app.screen
    assert isinstance(found, Aside)
    return found


async def aside(s: Screen, question: str) -> None:
    await s.enter(f"/aside {question}")
    await until(s.pilot, lambda: any(isinstance(screen, Aside) for screen in s.app.screen_stack))


async def answered(s: Screen) -> None:
    await until(s.pilot, lambda: sheet(s).is_over)


async def closed(s: Screen) -> None:
    """Close the sheet and wait until its answer is forgotten and its cost is on the screen."""
    await s.pilot.press("escape")
    await until(s.pilot, lambda: not isinstance(s.app.screen, Sheet))
    side_turns = s.house.current.session.side_turns
    await until(s.pilot, lambda: not side_turns.open_ids())
    await s.caught_up()


def texts(body: dict[str, Any]) -> list[Any]:
    """The messages of a request without the marks of the cache, which move."""
    return [
        {**message, "content": [{k: v for k, v in item.items() if k != "cache_control"} for item in message["content"]]}
        for message in body["messages"]
    ]


async def test_the_history_and_the_next_request_are_what_they_were(tmp_path: Path) -> None:
    async with BillingServer((2, 0, 0, 0, 0)) as server, screen(tmp_path, **prepare(tmp_path, server)) as s:
        await s.ask("Why? " * 10)
        await s.ask("And? " * 10)
        before = rows(tmp_path, "turn", "message", "block")
        next_body = (await s.house.services.chat.wire_preview("Then?"))["body"]
        view = s.house.view()
        await aside(s, "What is a bloom filter?")
        await answered(s)
        assert "Answer 3." in s.text()
        assert "sees 2 earlier turns" in s.text()
        await closed(s)
        assert rows(tmp_path, "turn", "message", "block") == before
        assert (await s.house.services.chat.wire_preview("Then?"))["body"] == next_body
        assert s.house.view().turns == view.turns
        main, side = server.charges[-2:]
        assert side.usage.read == main.usage.read + main.usage.written > 0, "the whole previous request is read"
        for name in ("model", "system", "tools", "thinking", "max_tokens", "cache_control"):
            assert side.body.get(name) == main.body.get(name), name
        assert "tool_choice" not in side.body
        prefix = texts(main.body)
        assert texts(side.body)[: len(prefix)] == prefix
        last = texts(side.body)[-1]["content"]
        assert [item["text"] for item in last] == ["What is a bloom filter?", DIRECTLY]
        await s.ask("Then?")
        assert server.charges[-1].usage.read == main.usage.read + main.usage.written, "and so does the next one"


@pytest.mark.long
async def test_its_cost_is_on_the_bill_and_stays_there(tmp_path: Path) -> None:
    async with BillingServer((0, 0, 0)) as server:
        started = prepare(tmp_path, server)
        async with screen(tmp_path, **started) as s:
            session = s.house.current.session_id
            await s.ask("Why? " * 10)
            await aside(s, "What else?")
            await answered(s)
            await closed(s)
            bill = s.house.services.chat.bill()
            assert bill.cost.dollars == pytest.approx(server.dollars, abs=1e-9)
            assert [row.for_summaries for row in bill.models] == [False]
            [row] = await s.house.services.library.sessions()
            assert row.cost == pytest.approx(server.dollars, abs=1e-9)
            assert "What else?" not in str(rows(tmp_path, *TABLES)), "nothing of a closed aside is stored but its cost"
        async with screen(tmp_path, reopen=session, **started) as s:
            assert s.house.services.chat.bill().cost.dollars == pytest.approx(server.dollars, abs=1e-9)


async def test_a_kept_answer_is_a_branch_beside_what_follows(tmp_path: Path) -> None:
    async with BillingServer((0, 0, 0, 0)) as server, screen(tmp_path, **prepare(tmp_path, server)) as s:
        await s.ask("Why? " * 10)
        await aside(s, "What else?")
        await answered(s)
        await s.pilot.press("k")
        await s.until_toast("Kept as a branch")
        await closed(s)
        assert [turn.messages[0].blocks for turn in s.house.view().turns] != []
        await s.ask("And?")
        turns = s.house.view().turns
        assert len(turns) == 2
        names = await s.house.current.storage.siblings(s.house.current.session_id, turns[1].id)
        assert len(names) == 2
        assert names[1] == turns[1].id, "the conversation goes on as it did"
        await s.enter("/branch previous")
        await until(s.pilot, lambda: [turn.id for turn in s.house.view().turns] == [turns[0].id, names[0]])
        assert s.house.services.chat.bill().cost.dollars == pytest.approx(server.dollars, abs=1e-9)
        [row] = await s.house.services.library.sessions()
        assert row.cost == pytest.approx(server.dollars, abs=1e-9)


@pytest.mark.long
async def test_a_kept_answer_does_not_become_the_path_when_the_user_comes_back_to_it(tmp_path: Path) -> None:
    async with BillingServer((0, 0, 0)) as server:
        started = prepare(tmp_path, server)
        async with screen(tmp_path, **started) as s:
            session = s.house.current.session_id
            await s.ask("Why? " * 10)
            path = [turn.id for turn in s.house.view().turns]
            await aside(s, "What else?")
            await answered(s)
            await s.pilot.press("k")
            await s.until_toast("Kept as a branch")
            await closed(s)
            await s.enter("/retry")
            await until(s.pilot, lambda: [turn.id for turn in s.house.view().turns] not in ([], path))
            await s.enter("/branch previous")
            await until(s.pilot, lambda: [turn.id for turn in s.house.view().turns] == path)
        async with screen(tmp_path, reopen=session, **started) as s:
            assert [turn.id for turn in s.house.view().turns] == path


@pytest.mark.long
async def test_in_a_new_session_the_kept_answer_is_the_first_turn(tmp_path: Path) -> None:
    async with BillingServer((0, 0)) as server, screen(tmp_path, **prepare(tmp_path, server)) as s:
        await aside(s, "What is it?")
        await answered(s)
        await s.pilot.press("k")
        await s.until_toast("Kept")
        await closed(s)
        assert len(s.house.view().turns) == 1
        [row] = await s.house.services.library.sessions()
        assert (row.title, row.turns) == ("What is it?", 1)


MAIN: list[Step] = [{"say": "thinking", "text": "I think long."}, {"hold": 1}]
SIDE: list[Step] = [
    {"say": "thinking", "text": "Short."},
    {"say": "text", "text": "A **sketch** of a set."},
    {"end": True},
]
HELD: list[Step] = [{"say": "text", "text": "It begins"}, {"hold": 1}]
ANSWER: list[Step] = [{"say": "text", "text": "Because."}, {"end": True}]


def connect(home: Path, server: FaultServer, more: str = "") -> dict[str, Any]:
    config(home, f'[providers.anthropic]\nbase_url = "{server.url}"\n{more}')
    return {"model": MODEL, "environment": KEY, "stored_in": "file"}


def faults(*script: Sequence[Step], **options: Any) -> FaultServer:
    return FaultServer(script, honest=True, own_ids=True, **options)


async def test_it_is_answered_while_the_main_turn_streams(tmp_path: Path) -> None:
    async with faults(ANSWER, MAIN, SIDE) as server, screen(tmp_path, **connect(tmp_path, server)) as s:
        await s.ask("First?")
        await s.enter("Second?")
        await until(s.pilot, lambda: s.house.view().phase is Phase.THINKING)
        running = s.house.view().open_turn
        await aside(s, "What is a bloom filter?")
        await answered(s)
        assert "A sketch of a set." in s.text()
        assert "sees 1 earlier turn" in s.text()
        assert s.house.view().phase is Phase.THINKING
        assert s.house.view().open_turn == running
        asked = [message["content"][-1]["text"] for message in server.seen[2].json["messages"]]
        assert asked == ["First?", "Because.", "What is a bloom filter?"], "the running prompt is not part of it"
        await closed(s)
        assert s.house.view().phase is Phase.THINKING


async def test_escape_stops_it_and_the_main_turn_goes_on(tmp_path: Path) -> None:
    async with faults(ANSWER, MAIN, HELD) as server, screen(tmp_path, **connect(tmp_path, server)) as s:
        await s.ask("First?")
        await s.enter("Second?")
        await until(s.pilot, lambda: s.house.view().phase is Phase.THINKING)
        await aside(s, "Beside it?")
        await s.until_it_says("It begins")
        await closed(s)
        await until(s.pilot, lambda: server.seen[2].closed_at is not None)
        assert s.house.view().phase is Phase.THINKING
        assert server.seen[1].closed_at is None
        assert s.house.services.chat.bill().cost.unknown == 1, "what a stopped answer cost is not known exactly"


@pytest.mark.long
async def test_a_failure_is_shown_in_the_sheet_and_nowhere_else(tmp_path: Path) -> None:
    broken: list[Step] = [{"status": 400, "json": {"error": {"type": "invalid_request_error", "message": "No such."}}}]
    async with faults(ANSWER, broken) as server, screen(tmp_path, **connect(tmp_path, server)) as s:
        await s.ask("First?")
        await aside(s, "Beside it?")
        await answered(s)
        assert "No such." in s.text()
        await closed(s)
        assert "No such." not in s.text()
        assert s.house.services.chat.bill().cost.unknown == 0


@pytest.mark.long
async def test_calls_are_refused_and_the_model_answers_without(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("secret")
    call: list[Step] = [{"call": "read_file", "args": {"path": "notes.md"}}, {"end": True}]
    async with faults(ANSWER, call, SIDE) as server, screen(tmp_path, tools=True, **connect(tmp_path, server)) as s:
        await s.ask("First?")
        await aside(s, "What is in my notes?")
        await answered(s)
        assert "A sketch of a set." in s.text()
        sent = str(server.seen[2].json["messages"][-1])
        assert "Tools are not available" in sent
        assert "secret" not in sent
        calls = [block for turn in s.house.view().turns for m in turn.messages for block in m.blocks]
        assert not any(isinstance(block, ToolCallBlock) for block in calls)


@pytest.mark.long
async def test_the_spending_limit_asks_about_it(tmp_path: Path) -> None:
    priced = '[models."anthropic/claude-sonnet-4-5"]\nprice = { input = 10.0, output = 100.0 }\n'
    more = f"[generation]\nmaxOutput = 2000\n[budget]\nsession = 0.31\n{priced}"
    used = DemoUsage(input=1_000, thinking=0, answer=1_000)
    async with faults(ANSWER, SIDE, bill=used) as server, screen(tmp_path, **connect(tmp_path, server, more)) as s:
        await s.ask("First?")
        await aside(s, "Beside it?")
        await until(s.pilot, lambda: isinstance(s.app.screen, Approval))
        await s.until_it_says("may cost up to")
        assert s.house.view().phase is Phase.IDLE
        assert len(server.seen) == 1
        [asked] = s.house.view().approvals
        await s.house.services.chat.answer_approval(asked.call_id, "once")
        await until(s.pilot, lambda: isinstance(s.app.screen, Aside))
        await answered(s)
        await closed(s)
        assert s.house.view().phase is Phase.IDLE
        assert s.house.services.chat.bill().cost.dollars == pytest.approx(0.22, abs=0.001)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_it_fits_every_size(tmp_path: Path, size: tuple[int, int]) -> None:
    async with faults(SIDE) as server, screen(tmp_path, size=size, **connect(tmp_path, server)) as s:
        await aside(s, "What is a bloom filter?")
        await answered(s)
        for words in ("What is a bloom filter?", "A sketch of a set.", "keep as a branch", "close"):
            assert words in s.text()
