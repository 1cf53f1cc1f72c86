"""Questions while an answer runs: about tool calls, spending and forms; and what else is entered meanwhile."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.app.side_server import SideServer
from tests.app.stage import config
from tests.app.test_budget import ANSWER, KEY, MODEL, USED, configure
from tests.fakes.sdk_servers import sdk_server
from tests.faultserver.player import Step as FaultStep
from tests.faultserver.server import FaultServer
from tests.linear.stage import Lines, lines
from tests.tools.scripted_model import ScriptedModel, Step
from tui.domain.blocks import TextBlock, ToolCallBlock
from tui.domain.tool_run import ToolRun
from tui.linear import approvals

CALL: Step = [("shell", {"command": "touch made  here\nrm -f \u202egone"})]
PROMPT = "Answer 1 to 5: "


@asynccontextmanager
async def asked(home: Path, *more: Step) -> AsyncIterator[tuple[Lines, ScriptedModel, list[str]]]:
    """A model has called a tool, and the user is asked."""
    with ScriptedModel([CALL, *more]) as model:
        config(home, model.config("openai-chat"))
        async with lines(home, model=None, tools=True) as s:
            yield s, model, await s.ask("go", PROMPT)


async def test_a_call_is_shown_whole_and_only_a_number_answers(tmp_path: Path) -> None:
    async with asked(tmp_path, "done", "second") as (s, model, about):
        whole = about[about.index("Question: Run a command") :]
        assert whole[1] == f"in {tmp_path}"
        call = whole.index("Text of the call, 2 lines:")
        assert whole[call:] == [
            "Text of the call, 2 lines:",
            "  touch made··here",
            "  rm -f \\u{202E}gone",
            "End of the call.",
            "1 yes, once",
            "2 yes, exactly this command for this session",
            "3 always allow exactly this command",
            "4 no",
            "5 no, and tell the model why",
        ]
        assert await s.reply("9", PROMPT) == ["There is no 9."]
        assert await s.reply("and then?", PROMPT) == ["Queued. It is sent when this answer ends."]
        assert (await s.reply("/set ui.bell", "leave: "))[0].startswith("ui.bell is ")
        assert (await s.reply("", PROMPT))[0] == "Still asked: Run a command"
        assert s.house.view().queue == ("and then?",)
        assert await s.reply("5", "reads it: ") == []
        said = await s.reply("too dangerous")
        assert "Tool shell: denied, not run." in said
        assert "From the queue: and then?" in said
        assert "too dangerous" in json.dumps(model.bodies[1])
        assert not (tmp_path / "made").exists()


async def test_a_number_entered_before_the_question_was_read_is_no_answer(tmp_path: Path) -> None:
    async with asked(tmp_path, "done") as (s, _, _):
        approvals.QUIET_S = 1_000.0
        assert await s.reply("1", PROMPT) == ["That was entered before the question could be read. Answer again."]
        assert len(s.house.view().approvals) == 1


async def test_a_yes_runs_the_call(tmp_path: Path) -> None:
    async with asked(tmp_path, "done") as (s, _, _):
        said = await s.reply("1")
        assert "done" in said
        assert (tmp_path / "made").exists()


async def test_ctrl_c_stops_the_turn_and_withdraws_the_question(tmp_path: Path) -> None:
    async with asked(tmp_path) as (s, _, _):
        s.app.typed_input.interrupt()
        await s.hear("The question was withdrawn.\n")
        await s.hear("you> ")
        assert s.house.view().approvals == ()


async def test_a_request_over_the_limit_is_asked_about(tmp_path: Path) -> None:
    async with FaultServer([ANSWER], bill=USED, honest=True, own_ids=True) as server:
        configure(tmp_path, server, "turn = 0.01")
        async with lines(tmp_path, model=MODEL, environment=KEY) as s:
            about = await s.ask("Why?", "Answer 1 to 3: ")
            assert about[0] == "Question: This request may cost up to $0.10; $0 of $0.010 are spent in this turn."
            assert "Because." in await s.reply("1")


@pytest.mark.skipif(find_spec("mcp") is None, reason="the MCP SDK is not installed")
@pytest.mark.long
async def test_a_form_of_a_server_is_filled_in(tmp_path: Path) -> None:
    command, arguments = sdk_server("mcp_forms.py")
    row = f"command = {json.dumps(command)}\nargs = {json.dumps(arguments)}\nstart_timeout = 50\n"
    config(tmp_path, f"[mcp.servers.shop]\n{row}")

    async def once(*_: object) -> str:
        return "once"

    async with lines(tmp_path) as s:
        await s.hear("you> ")
        await s.until_done(s.house.program.engine.call(s.house.program.toolbox.ready()))
        block = ToolCallBlock(call_id="c", name="mcp_shop__order", arguments="{}")
        run = ToolRun(ask=once, settle=lambda _: None, progress=lambda _: None, tainted=False)
        call = s.house.program.engine.call(s.house.program.toolbox.run(block, run))
        about = await s.hear("Name: ")
        assert "The MCP server shop asks, not ponder:\n  What do you order?\n" in about
        assert await s.reply("x", "Name: ") == ["Error: Name needs at least 2 characters."]
        await s.reply("Ada", "Email: ")
        await s.reply("ada@example.com", "enter alone for 2: ")
        await s.reply("3", "Weight: ")
        await s.reply("", "leave: ")
        await s.choose("yes", "leave: ")
        said = await s.choose("large", "leave: ")
        assert said == [
            *("Name: Ada", "Email: ada@example.com", "Amount: 3", "Weight: empty", "Gift: yes", "Size: large"),
            *("1 send this to shop", "2 decline", "3 enter it again"),
        ]
        s.enter("1")
        await s.until_done(call)
        (text,) = call.result().content
        assert isinstance(text, TextBlock)
        order = (
            "{'name': 'Ada', 'email': 'ada@example.com', 'amount': 3, 'weight': None, 'gift': True, 'size': 'large'}"
        )
        assert text.text.endswith(f"accept {order}")


async def test_a_long_wait_is_asked_about(tmp_path: Path) -> None:
    limited: list[FaultStep] = [
        {"status": 429, "h": {"retry-after": "120"}, "json": {"error": {"message": "Slow down."}}}
    ]
    async with FaultServer([limited, ANSWER], bill=USED, own_ids=True) as server:
        configure(tmp_path, server, "")
        async with lines(tmp_path, model=MODEL, environment=KEY) as s:
            said = await s.ask("Why?", "leave: ")
            *_, error, wait, now, stop = said
            assert error.startswith("Error: Slow down.")
            assert re.search(r" The provider asks to wait 2 m \d\d s\.$", error)
            assert [wait, now, stop] == ["1 wait", "2 send it again now", "3 stop"]
            assert "Because." in await s.reply("2")


async def test_quitting_asks_while_something_runs(tmp_path: Path) -> None:
    async with SideServer() as server:
        config(tmp_path, server.config())
        async with lines(tmp_path, model=None) as s:
            await s.hear("you> ")
            s.enter("first")
            server.say("first", "One.\n\n")
            await s.hear("One.\n")
            s.app.typed_input.take(None)
            about = await s.hear("leave: ")
            assert (
                "1 session still at work:\nfirst, running\nWhat has arrived is kept.\n1 stop and quit\n2 stay\n"
                in about
            )
            s.enter("2")
            server.say("first", "Two.\n\n")
            await s.hear("Two.\n")
            s.enter("/quit")
            await s.hear("leave: ")
            s.enter("1")
            assert await s.ended() == 0


async def test_a_session_in_the_background_is_told_of_and_opened(tmp_path: Path) -> None:
    async with SideServer() as server:
        config(tmp_path, server.config())
        async with lines(tmp_path, model=None, stored_in="file") as s:
            await s.hear("you> ")
            s.enter("first")
            server.say("first", "One.\n\n")
            await s.hear("One.\n")
            s.enter("/new")
            await s.hear("A new session.")
            await s.hear("you> ")
            server.say("first", "Two.")
            server.finish("first")
            await s.hear('"first" has answered. /next opens it.\n')
            said = await s.ask("/next")
            assert said[0].startswith('Session "first", 1 turn.')
            assert "Two." in await s.ask("/show")
