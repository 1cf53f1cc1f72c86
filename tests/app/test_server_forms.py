"""Forms of MCP servers on the screen: filled in, declined, left, withdrawn."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.app.screen_stage import Screen, screen
from tests.app.stage import config
from tests.fakes.sdk_servers import sdk_server
from tests.ui.stage import type_in, until
from tui.domain.blocks import TextBlock, ToolCallBlock, ToolResultBlock
from tui.domain.tool_run import ToolRun
from tui.ui.dialogs import server_form
from tui.ui.dialogs.server_form import ServerForm
from tui.ui.panels.row_list import RowList

pytestmark = pytest.mark.skipif(find_spec("mcp") is None, reason="the MCP SDK is not installed")


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers are taken however soon they come."""
    monkeypatch.setattr(server_form, "QUIET_S", 0.0)


async def _once(*_: object) -> str:
    return "once"


@asynccontextmanager
async def _opened(home: Path, *program: str) -> AsyncIterator[Screen]:
    command, arguments = sdk_server(*program)
    row = f"command = {json.dumps(command)}\nargs = {json.dumps(arguments)}\nstart_timeout = 50\n"
    config(home, f"[mcp.servers.shop]\n{row}")
    async with screen(home) as s:
        started = s.house.program.engine.call(s.house.program.toolbox.ready())
        await until(s.pilot, started.done)
        yield s


def _call(s: Screen, tool: str, **arguments: object) -> Future[ToolResultBlock]:
    """A call that the user has allowed, as the engine makes it."""
    block = ToolCallBlock(call_id="c", name=f"mcp_shop__{tool}", arguments=json.dumps(arguments))
    run = ToolRun(ask=_once, settle=lambda _: None, progress=lambda _: None, tainted=False)
    return s.house.program.engine.call(s.house.program.toolbox.run(block, run))


async def _asked(s: Screen) -> ServerForm:
    await until(s.pilot, lambda: isinstance(s.app.screen, ServerForm))
    await s.until_it_says("shop asks")
    assert isinstance(s.app.screen, ServerForm)
    return s.app.screen


async def _said(s: Screen, call: Future[ToolResultBlock]) -> str:
    await until(s.pilot, call.done)
    await until(s.pilot, lambda: s.app.screen is s.app.chat)
    (block,) = call.result().content
    assert isinstance(block, TextBlock)
    return block.text.partition("\n\n")[2]


async def _go_to(s: Screen, row: str) -> None:
    """Move to a row of the form, from above or below."""
    rows = s.app.screen.query_one(RowList)
    for key in ("down",) * 9 + ("up",) * 9:
        if rows.chosen == row:
            return
        before = rows.chosen
        await s.pilot.press(key)
        await until(s.pilot, lambda: rows.chosen != before)  # noqa: B023 - awaited here
    raise AssertionError(f"there is no {row}")


NAME, EMAIL, AMOUNT, GIFT, LARGE = "field 0 ", "field 1 ", "field 2 ", "field 4 ", "field 5 1"


async def test_a_form_is_filled_in_and_sent(tmp_path: Path) -> None:
    async with _opened(tmp_path, "mcp_forms.py") as s:
        call = _call(s, "order")
        await _asked(s)
        await s.until_it_says("As on the parcel")
        assert "What do you order?" in s.text()
        await type_in(s.pilot, "A")
        await s.pilot.press("tab")
        await type_in(s.pilot, "ada@example.com")
        await s.pilot.press("enter", "backspace")
        await type_in(s.pilot, "3")
        await s.until_it_says("Amount  3")
        await _go_to(s, GIFT)
        await s.pilot.press("space")
        await s.until_it_says("[x] Gift")
        await _go_to(s, LARGE)
        await s.pilot.press("enter")
        await s.until_it_says("(•) large")
        await _go_to(s, "send")
        await s.pilot.press("enter")
        await s.until_it_says("✗ Name needs at least 2 characters.")
        assert not call.done()
        await s.pilot.press("down")
        await _go_to(s, NAME)
        await type_in(s.pilot, "da")
        await s.until_it_says("Name *  Ada")
        await _go_to(s, "send")
        await s.pilot.press("enter")
        assert await _said(s, call) == (
            "accept {'name': 'Ada', 'email': 'ada@example.com', 'amount': 3, 'weight': None, 'gift': True, "
            "'size': 'large'}"
        )


@pytest.mark.long
async def test_escape_gives_no_answer_and_a_row_declines(tmp_path: Path) -> None:
    async with _opened(tmp_path, "mcp_forms.py") as s:
        call = _call(s, "order")
        await _asked(s)
        await s.pilot.press("escape")
        assert await _said(s, call) == "cancel "
        call = _call(s, "order")
        await _asked(s)
        await _go_to(s, "decline")
        await s.pilot.press("enter")
        assert await _said(s, call) == "decline "


@pytest.mark.long
async def test_an_address_is_shown_in_full_and_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[object] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("tui.ui.terminal.desktop_programs.Links.clicked", lambda _, href: opened.append(href))
    asked = {"mode": "url", "message": "Log in", "url": "https://ex\u00e4mple.com/a?b=c", "elicitationId": "e"}
    async with _opened(tmp_path, "plain_mcp_server.py", "asks") as s:
        call = _call(s, "t", forms=[asked])
        await _asked(s)
        await s.until_it_says("https://ex\u00e4mple.com/a?b=c")
        assert "if you trust xn--exmple-cua.com" in s.text()
        await s.pilot.press("enter")  # meant for the draft: nothing is selected yet
        assert not call.done()
        await s.pilot.press("down", "enter")
        await s.until_toast("Copied")
        await s.pilot.press("down", "enter")
        assert json.loads(await _said(s, call)) == [{"action": "accept"}]
    assert opened == []


@pytest.mark.long
async def test_a_form_that_nobody_waits_for_any_more_closes(tmp_path: Path) -> None:
    async with _opened(tmp_path, "mcp_forms.py") as s:
        call = _call(s, "order")
        await _asked(s)
        call.cancel()
        await s.until_toast("shop no longer waits for an answer.")
        await until(s.pilot, lambda: s.app.screen is s.app.chat)


@pytest.mark.long
async def test_two_forms_are_asked_one_after_the_other(tmp_path: Path) -> None:
    form = {"message": "First", "requestedSchema": {"type": "object", "properties": {"a": {"type": "boolean"}}}}
    async with _opened(tmp_path, "plain_mcp_server.py", "asks") as s:
        call = _call(s, "t", forms=[form, {**form, "message": "Second"}])
        await _asked(s)
        await s.until_it_says("First")
        await s.pilot.press("space", "down", "enter")
        await s.until_it_says("Second")
        await s.pilot.press("down", "enter")
        assert json.loads(await _said(s, call)) == [{"action": "accept", "content": {"a": True}}, {"action": "accept"}]


@pytest.mark.long
async def test_what_was_meant_for_the_draft_sends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A form may appear in the middle of a word, and a message may have several lines."""
    form = {"message": "Say", "requestedSchema": {"type": "object", "properties": {"a": {"type": "string"}}}}
    async with _opened(tmp_path, "plain_mcp_server.py", "asks") as s:
        monkeypatch.setattr(server_form, "QUIET_S", 1_000.0)
        call = _call(s, "t", forms=[form])
        sheet = await _asked(s)
        await type_in(s.pilot, "ord")
        await s.pilot.press("enter")
        assert sheet.query_one(RowList).chosen == "send"
        await type_in(s.pilot, "and")
        await s.pilot.press("enter", "enter")
        await s.pilot.pause()
        assert s.app.screen is sheet
        assert not call.done()
        monkeypatch.setattr(server_form, "QUIET_S", 0.0)
        await s.pilot.press("enter")
        assert json.loads(await _said(s, call)) == [{"action": "accept", "content": {"a": "ord"}}]
