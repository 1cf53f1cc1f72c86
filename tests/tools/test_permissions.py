"""Answers become rules, files are read warily, and a run without anybody to ask allows nothing by itself."""

from __future__ import annotations

import asyncio
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.bench import Bench, open_bench, outcome
from tests.tools.sandboxes import needs_sandbox
from tui.context.estimate import tool_tokens
from tui.domain.blocks import DENIED, ToolCallBlock
from tui.domain.errors import ConfigError
from tui.domain.tool_run import ToolRun
from tui.tools.permissions.permissions import NO_APPROVAL, TOO_LONG, Policy

EDIT: dict[str, Any] = {"path": "a.txt", "old_text": "one", "new_text": "two"}


async def test_once_is_once(bench: Bench) -> None:
    asked = [(await bench.call("shell", "once", command="true"), len(bench.user.asked)) for _ in range(2)]
    assert [(outcome(result), sheets) for result, sheets in asked] == [((True, "(no output, exit code 0)"), 1)] * 2
    assert not bench.permissions_file.exists()


async def test_a_session_answer_holds_for_the_same_command_only(bench: Bench) -> None:
    await bench.call("shell", "session", command="echo a && echo b")
    again = outcome(await bench.call("shell", command="echo a && echo b"))
    other = outcome(await bench.call("shell", command="echo a && echo c"))
    assert (again, other) == ((True, "a\nb"), (False, DENIED))


async def test_a_session_answer_to_an_edit_opens_the_working_folder_but_not_its_guarded_places(bench: Bench) -> None:
    bench.write("a.txt", "one one-and-a-half")
    bench.write(".git/config", "one")
    refused = await bench.call("edit_file", "session", **EDIT)
    await bench.call("edit_file", "session", path="a.txt", old_text="one one", new_text="two")
    silent = await bench.call("write_file", path="new/b.txt", content="x")
    guarded = await bench.call("edit_file", path=".git/config", old_text="one", new_text="two")
    assert [result.failed for result in (refused, silent, guarded)] == [True, False, True]
    asked = bench.user.asked[0]
    assert (asked.patterns, asked.note.split("\n")[0]) == ((), "This folder always needs approval.")


@needs_sandbox
async def test_always_is_written_to_the_file_and_holds_for_the_next_program(bench: Bench, tmp_path: Path) -> None:
    await bench.call("shell", "shell(echo hello) ro", command="echo hello world")
    offers = ("shell(=echo hello world) full", "shell(echo hello) ro", "shell(echo hello) rw")
    assert bench.user.asked[0].patterns == offers
    assert tomllib.loads(bench.permissions_file.read_text()) == {"allow": ["shell(echo hello) ro"]}
    assert bench.permissions_file.stat().st_mode & 0o777 == 0o600
    later = open_bench(tmp_path)
    assert outcome(await later.call("shell", command="echo hello you")) == (True, "hello you")
    assert outcome(await later.call("shell", command="echo bye")) == (False, DENIED)


@pytest.mark.parametrize("answer", ["", "yes", "always", "shell", "shell(rm)", "*", "ONCE", "no", "no: "])
async def test_an_answer_that_was_not_offered_is_no(bench: Bench, answer: str) -> None:
    assert outcome(await bench.call("shell", answer, command="echo hi")) == (False, DENIED)
    assert not bench.permissions_file.exists()


async def test_the_users_reason_reaches_the_model(bench: Bench) -> None:
    result = await bench.call("shell", "no: use make instead", command="gcc a.c")
    assert outcome(result) == (False, f"{DENIED} The user says: use make instead")


async def test_a_denial_by_rule_names_the_rule_and_asks_nobody(tmp_path: Path) -> None:
    bench = open_bench(tmp_path, permissions={"deny": ["shell(rm)"]})
    result = await bench.call("shell", "once", command="rm -rf .")
    assert outcome(result) == (False, "Denied by the user's rule `shell(rm)`. Not executed.")
    assert bench.user.asked == []


async def test_after_words_of_others_an_allowed_command_asks_and_offers_no_always(bench: Bench) -> None:
    await bench.call("shell", "shell(=echo hi) full", command="echo hi")
    result = await bench.call("shell", "once", command="echo hi", tainted=True)
    assert (outcome(result), bench.user.asked[0].patterns) == ((True, "hi"), ())
    assert bench.user.asked[0].note.startswith("This conversation contains untrusted content")


BROKEN = ["allow = [", "allow = 3", 'allow = ["shell"]\ndeny = [3]', 'deny = ["shell(rm"]', "\x00", 'sudo = ["shell"]']
BROKEN += ['deny = ["shel(rm)"]', 'ask = ["write_fiel"]']


@pytest.mark.parametrize("text", BROKEN)
async def test_a_broken_rules_file_means_ask(tmp_path: Path, text: str) -> None:
    bench = open_bench(tmp_path)
    bench.permissions_file.write_text(text)
    bench = open_bench(tmp_path)
    bench.write("a.txt", "x")
    assert [type(problem) for problem in bench.toolbox.problems] == [ConfigError]
    assert [row.policy for row in bench.toolbox.rows(tool_tokens)] == ["ask"] * 8
    await bench.call("read_file", path="a.txt")
    assert bench.user.asked[0].note.startswith("Your permission rules could not be read")


async def test_a_rule_about_a_tool_there_is_not_is_told_with_the_nearest(tmp_path: Path) -> None:
    rules = {"allow": ["shel(pwd)", "mcp_web__search", "read*", "network"]}
    problems = open_bench(tmp_path, permissions=rules).toolbox.problems
    assert [(problem.message, getattr(problem, "nearest", None)) for problem in problems] == [
        ("The rule `shel(pwd)` names an unknown tool.", ("shell",))
    ]


@needs_sandbox
async def test_a_wrong_rule_that_allows_is_dropped_and_the_others_hold(tmp_path: Path) -> None:
    bench = open_bench(tmp_path, permissions={"allow": ["*", "read(/**)", "shell(pwd)"]})
    assert len(bench.toolbox.problems) == 2
    assert [(row.name, row.policy) for row in bench.toolbox.rows(tool_tokens)][:2] == [
        ("read_file", "allow"),
        ("list_dir", "allow"),
    ]
    assert not (await bench.call("shell", command="pwd")).failed


async def test_the_answer_for_the_session_names_its_rule_and_is_not_offered_where_it_would_allow_nothing(
    bench: Bench,
) -> None:
    async def rule(tool: str, *, tainted: bool = False, **arguments: object) -> str:
        await bench.call(tool, tainted=tainted, **arguments)
        return bench.user.asked[0].session

    assert await rule("write_file", path="a.txt", content="x") == "write(**)"
    assert await rule("write_file", path="../b.txt", content="x") == f"write({bench.folder.parent}/b.txt)"
    assert await rule("shell", command="echo hi") == "shell(=echo hi) full"
    assert await rule("write_file", path=".git/hooks/x", content="x") == ""
    assert await rule("write_file", tainted=True, path="a.txt", content="x") == ""


async def test_a_rule_is_not_added_to_a_file_that_was_broken_meanwhile(bench: Bench) -> None:
    bench.permissions_file.write_text("allow = [")
    result = await bench.call("shell", "shell(=echo hi) full", command="echo hi")
    assert (outcome(result), bench.permissions_file.read_text()) == ((True, "hi"), "allow = [")
    assert [type(problem) for problem in bench.toolbox.problems] == [ConfigError]


async def test_files_of_the_working_folder_grant_nothing(bench: Bench, tmp_path: Path) -> None:
    for name in ("permissions.toml", ".ponder/permissions.toml", "config.toml", "ponder.toml"):
        bench.write(name, 'allow = ["shell"]\n[permissions]\nallow = ["shell"]\n')
    later = open_bench(tmp_path)
    assert outcome(await later.call("shell", command="echo hi")) == (False, DENIED)


class _Slow:
    """A user whose answers come when the test says so."""

    def __init__(self) -> None:
        self.open: dict[str, asyncio.Future[str]] = {}

    async def ask(self, call: ToolCallBlock, *_: object) -> str:
        self.open[call.call_id] = asyncio.get_running_loop().create_future()
        return await self.open[call.call_id]

    def settle(self, call: ToolCallBlock) -> None:
        self.open[call.call_id].set_result("once")

    def run(self) -> ToolRun:
        return ToolRun(ask=self.ask, settle=self.settle, progress=lambda _: None, tainted=False)


@pytest.mark.parametrize("answer", ["session", "write({ws}/**)"])
async def test_an_answer_that_is_a_rule_settles_the_other_questions_that_it_speaks_for(
    bench: Bench, answer: str
) -> None:
    user = _Slow()
    places = ["a.txt", "b.txt", "c/d.txt", ".git/hooks/x", "../outside.txt"]

    async def write(path: str) -> bool:
        call = ToolCallBlock(call_id=path, name="write_file", arguments=json.dumps({"path": path, "content": "x"}))
        return not (await bench.toolbox.run(call, user.run())).failed

    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(write(path)) for path in places]
        while len(user.open) < len(places):
            await asyncio.sleep(0)
        user.open["b.txt"].set_result(answer.format(ws=bench.folder))
        while not all(user.open[path].done() for path in places[:3]):
            await asyncio.sleep(0)
        still_asked = [path for path in places if not user.open[path].done()]
        for path in still_asked:
            user.open[path].set_result("no")
    assert still_asked == [".git/hooks/x", "../outside.txt"]
    assert [task.result() for task in running] == [True, True, True, False, False]


@needs_sandbox
async def test_headless_denies_what_asks_and_runs_what_the_command_line_allows(tmp_path: Path) -> None:
    policy = Policy(interactive=False, allow=("shell(echo *)", "write"))
    bench = open_bench(tmp_path, policy=policy)
    assert outcome(await bench.call("shell", command="echo hi")) == (True, "hi")
    way_out = " The user can allow it beforehand with `--allow 'shell(=echo hi; id) full'`."
    assert outcome(await bench.call("shell", command="echo hi; id")) == (False, NO_APPROVAL + way_out)
    assert outcome(await bench.call("shell", command="echo hi", tainted=True)) == (False, NO_APPROVAL)
    assert not (await bench.call("write_file", path="x.txt", content="x")).failed
    refused, text = outcome(await bench.call("write_file", path="../x.txt", content="x"))
    assert (refused, text) == (
        False,
        f"{NO_APPROVAL} The user can allow it beforehand with `--allow 'write({tmp_path}/x.txt)'`.",
    )
    assert bench.user.asked == []


async def test_a_call_that_is_too_long_to_be_shown_is_refused_without_a_question(bench: Bench) -> None:
    for content in ("x\n" * 100_001, "x" * 2_000_000):
        assert outcome(await bench.call("write_file", "once", path="a.txt", content=content)) == (False, TOO_LONG)
        assert bench.user.asked == []
    assert not (await bench.call("write_file", "once", path="a.txt", content="x\n" * 100_000)).failed
    assert len(bench.user.asked[0].detail) == 300_000


async def test_a_long_call_that_a_rule_allows_is_not_shown_and_runs(tmp_path: Path) -> None:
    bench = open_bench(tmp_path, permissions={"allow": ["write(**)"]})
    assert not (await bench.call("write_file", path="a.txt", content="x\n" * 200_000)).failed


def test_a_wrong_allow_on_the_command_line_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        open_bench(tmp_path, policy=Policy(allow=("*",)))
