"""The toolbox as the engine uses it: definitions, arguments, results, and a task through the turn loop."""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from tests.fakes.backend import FakeBackend, Script, answer, calls
from tests.fakes.bench import Bench, open_bench, outcome, words
from tests.fakes.clock import FakeClock
from tests.fakes.journal import MemoryJournal
from tests.fakes.planner import SPEC, FakeCompressor, FakePlanner
from tui.context.estimate import tool_tokens
from tui.domain.blocks import TextBlock, ToolCallBlock, ToolResultBlock
from tui.domain.errors import UsageError
from tui.domain.events import ApprovalAsked, Stamped, TurnFailed, TurnFinished
from tui.domain.listing import ToolInfo
from tui.engine.ports import Ports, Toolbox
from tui.engine.session import Opening, Session
from tui.engine.settings import EngineSettings
from tui.tools.builtin.search_tools import ListDir

NAMES = ["read_file", "list_dir", "glob", "grep", "write_file", "edit_file", "shell", "fetch_url"]


def test_the_workbench_is_a_toolbox(bench: Bench) -> None:
    toolbox: Toolbox = bench.toolbox
    assert [schema.name for schema in toolbox.schemas()] == NAMES


def test_definitions_are_what_every_provider_takes(bench: Bench) -> None:
    for schema in bench.toolbox.schemas():
        assert schema.parameters["type"] == "object"
        text = json.dumps(schema.parameters)
        assert [word for word in ("anyOf", "oneOf", "$ref", "$defs", '"title"') if word in text] == []
        assert schema.parameters["additionalProperties"] is False
        assert 20 < len(schema.description) < 400


def test_all_definitions_together_cost_little(bench: Bench) -> None:
    assert sum(row.tokens for row in bench.toolbox.rows(tool_tokens)) < 1_300


def test_tools_are_listed_with_their_policy(bench: Bench) -> None:
    assert [(row.name, row.source, row.enabled, row.policy) for row in bench.toolbox.rows(tool_tokens)] == [
        (name, "built in", True, "allow" if name in NAMES[:4] else "ask") for name in NAMES
    ]
    assert isinstance(bench.toolbox.rows(tool_tokens)[0], ToolInfo)


async def test_a_tool_that_is_switched_off_is_neither_offered_nor_run(bench: Bench) -> None:
    bench.toolbox.enable("shell", enabled=False)
    assert "shell" not in [schema.name for schema in bench.toolbox.schemas()]
    assert outcome(await bench.call("shell", "once", command="true")) == (False, "The tool `shell` is disabled.")
    bench.toolbox.enable("shell", enabled=True)
    assert [schema.name for schema in bench.toolbox.schemas()] == NAMES
    with pytest.raises(UsageError):
        bench.toolbox.enable("nope", enabled=False)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"pth": "a"}, "`path`: Field required; `pth`: Extra inputs are not permitted."),
        ({"path": 3}, "`path`: Input should be a valid string."),
        ({"path": "a", "offset": "2"}, "`offset`: Input should be a valid integer."),
        ({"path": "a", "offset": 0}, "`offset`: Input should be greater than or equal to 1."),
    ],
)
async def test_wrong_arguments_are_answered_with_the_right_ones(
    bench: Bench, arguments: dict[str, Any], complaint: str
) -> None:
    assert outcome(await bench.call("read_file", **arguments)) == (
        False,
        f"Wrong arguments: {complaint} `read_file` takes: path, offset (optional), limit (optional). Not executed.",
    )


async def test_an_unknown_tool_is_an_answer(bench: Bench) -> None:
    assert outcome(await bench.call("rm_rf")) == (False, "There is no tool `rm_rf`.")


async def test_known_secrets_are_taken_out_of_what_the_model_is_told(bench: Bench) -> None:
    bench.toolbox = replace(bench.toolbox, redact=lambda text: text.replace("sk-canary", "***"))
    bench.write("a.txt", "key=sk-canary")
    assert words(await bench.call("read_file", path="a.txt")) == "1\tkey=***"


@asynccontextmanager
async def _session(bench: Bench, backend: FakeBackend, *, interactive: bool) -> AsyncIterator[Session]:
    ids = itertools.count(1)
    ports = Ports(
        backend=backend,
        journal=MemoryJournal(),
        planner=FakePlanner(),
        compressor=FakeCompressor(),
        clock=FakeClock(),
        toolbox=bench.toolbox,
        new_id=lambda: f"id{next(ids)}",
        draw=lambda: 0.5,
        interactive=interactive,
    )
    session = Session(ports, Opening(session="s", spec=SPEC, settings=EngineSettings()))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(session.run())
        await asyncio.sleep(0)
        yield session
        await session.close()


async def _errand(bench: Bench, *, interactive: bool) -> tuple[list[str], list[ToolResultBlock]]:
    """Find a function, change it, run the tests: what was asked about, and what came of each call."""
    bench.write("calc.py", "def double(x):\n    return x + x + 1\n")
    bench.write("check.py", "from calc import double\nassert double(2) == 4, double(2)\nprint('passed')\n")
    run = json.dumps({"command": f"{sys.executable} -B check.py"})
    edit = {"path": "calc.py", "old_text": "return x + x + 1", "new_text": "return x + x"}
    scripts: list[Script] = [
        calls(("a", "grep", '{"pattern": "def double"}'), ("b", "glob", '{"pattern": "*.py"}')),
        calls(("c", "read_file", '{"path": "calc.py"}'), ("d", "shell", run)),
        calls(("e", "edit_file", json.dumps(edit))),
        calls(("f", "shell", run)),
        answer("Fixed."),
    ]
    async with _session(bench, FakeBackend(scripts), interactive=interactive) as session:
        _, subscription = session.attach()
        await session.submit((TextBlock(text="Fix double and run the tests."),))
        asked: list[str] = []
        while True:
            for stamped in subscription.drain():
                match stamped:
                    case Stamped(event=ApprovalAsked() as sheet):
                        asked.append(sheet.summary)
                        await session.answer_approval(sheet.call_id, "once")
                    case Stamped(event=TurnFinished(turn=turn) | TurnFailed(turn=turn)):
                        results = [block for message in turn.messages for block in message.blocks]
                        return asked, [block for block in results if isinstance(block, ToolResultBlock)]
            await asyncio.sleep(0.005)


async def test_a_coding_errand_works_with_a_user_who_says_yes(bench: Bench) -> None:
    asked, results = await _errand(bench, interactive=True)
    assert asked == ["Run a command", "Edit calc.py", "Run a command"]
    assert [words(result).split("\n")[-1] for result in results] == [
        "calc.py:1: def double(x):",
        "check.py",
        "2\t    return x + x + 1",
        "(exit code 1)",
        "Wrote `calc.py`: 2 lines, 32 bytes.",
        "passed",
    ]


@pytest.mark.long
async def test_a_coding_errand_works_headless_with_what_the_command_line_allows(tmp_path: Path) -> None:
    from tui.tools.permissions.permissions import Policy

    allow = ("write(*.py)", f"shell({sys.executable} -B check.py)")
    asked, results = await _errand(
        open_bench(tmp_path, policy=Policy(interactive=False, allow=allow)), interactive=False
    )
    assert (asked, [result.failed for result in results]) == ([], [False, False, False, True, False, False])
    assert words(results[-1]) == "passed"


async def test_a_coding_errand_headless_without_allowances_changes_nothing(tmp_path: Path) -> None:
    from tui.tools.permissions.permissions import NO_APPROVAL, Policy

    bench = open_bench(tmp_path, policy=Policy(interactive=False))
    asked, results = await _errand(bench, interactive=False)
    refused = [words(result) for result in results if result.failed]
    assert (asked, len(refused) == 3 and all(text.startswith(NO_APPROVAL) for text in refused)) == ([], True)
    assert "x + x + 1" in (bench.folder / "calc.py").read_text()


class _Nothing(BaseModel):
    """No arguments."""


async def test_a_tool_with_a_fault_of_its_own_raises_and_the_engine_answers_for_it(bench: Bench) -> None:
    listing = bench.toolbox.tools["list_dir"]
    assert isinstance(listing, ListDir)
    broken = replace(listing, arguments=_Nothing)
    bench.toolbox.tools = {**bench.toolbox.tools, "list_dir": broken}
    with pytest.raises(TypeError):
        await bench.toolbox.run(ToolCallBlock(call_id="c", name="list_dir", arguments="{}"), bench.user.run())
