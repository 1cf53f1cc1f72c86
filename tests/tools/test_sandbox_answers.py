"""What the sandbox says to the model and to the user, and what is offered with it and without it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.fakes.bench import open_bench, outcome
from tests.tools.sandboxes import HERE, every_sandbox, needs_sandbox
from tui.domain.blocks import ToolCallBlock
from tui.domain.tool_run import ToolRun
from tui.tools.permissions.permissions import Policy
from tui.tools.sandbox.sandbox import Kernel


@every_sandbox
async def test_a_command_that_the_sandbox_stops_says_so_and_the_next_time_the_user_is_asked(
    tmp_path: Path, kernel: Kernel
) -> None:
    bench = open_bench(tmp_path, kernel=kernel, permissions={"allow": ["shell(touch) ro"]})
    good, text = outcome(await bench.call("shell", command="touch new.txt"))
    assert (good, bench.user.asked) == (False, [])
    assert "by the rule `shell(touch) ro` it may read, but not write or use the network" in text
    assert "Call it again unchanged to ask the user." in text
    assert "`shell(=touch new.txt) full`" in text
    again = outcome(await bench.call("shell", "once", command="touch new.txt"))
    assert again == (True, "(no output, exit code 0)")
    assert "The sandbox stopped this command before. It now runs without a sandbox" in bench.user.asked[0].note
    assert bench.user.asked[0].patterns[0] == "shell(=touch new.txt) full"
    assert (bench.folder / "new.txt").exists()


@needs_sandbox
async def test_headless_a_stopped_command_names_the_rule_that_would_let_it_run(tmp_path: Path) -> None:
    bench = open_bench(tmp_path, policy=Policy(interactive=False, allow=("shell(touch) ro",)))
    await bench.call("shell", command="touch new.txt")
    good, text = outcome(await bench.call("shell", command="touch new.txt"))
    assert not good
    assert "--allow 'shell(=touch new.txt) full'" in text


@pytest.mark.one_in(3)
@every_sandbox
async def test_an_answer_for_always_runs_at_its_own_strength_at_once(tmp_path: Path, kernel: Kernel) -> None:
    bench = open_bench(tmp_path, kernel=kernel)
    bench.write("a.txt", "one\n")
    await bench.call("shell", "shell(sort) ro", command="sort -o b.txt a.txt")
    assert not (bench.folder / "b.txt").exists()
    await bench.call("shell", "shell(uniq) rw", command="uniq a.txt b.txt")
    assert (bench.folder / "b.txt").exists()
    assert "Runs without a sandbox, with network. The answers that say so use " in bench.user.asked[0].note


async def test_without_a_sandbox_only_the_exact_command_is_offered_and_prefix_rules_ask(tmp_path: Path) -> None:
    bench = open_bench(tmp_path, kernel=Kernel(), permissions={"allow": ["shell(touch)", "shell(ls) ro"]})
    for command in ("touch x", "ls"):
        assert not outcome(await bench.call("shell", command=command))[0]
        assert [asked.patterns for asked in bench.user.asked] == [(f"shell(={command}) full",)]
        assert "Runs without a sandbox, with network." in bench.user.asked[0].note
    await bench.call("shell", "shell(=touch x) full", command="touch x")
    assert outcome(await bench.call("shell", command="touch x"))[0]
    assert bench.user.asked == []


async def test_a_sandbox_that_cannot_be_set_up_runs_nothing(tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'no permission to make a namespace' >&2\nexit 1\n")
    broken.chmod(0o755)
    kernel = Kernel(seccomp=True, bubblewrap=str(broken))
    bench = open_bench(tmp_path, kernel=kernel, permissions={"allow": ["shell rw"]})
    good, text = outcome(await bench.call("shell", command="touch x"))
    assert (good, (bench.folder / "x").exists()) == (False, False)
    assert text == ("The sandbox could not be set up, so the command was not run: no permission to make a namespace")


@every_sandbox
async def test_where_the_working_folder_holds_the_home_folder_nothing_may_write_it(
    tmp_path: Path, kernel: Kernel
) -> None:
    home = tmp_path / "ws" / "ann"
    home.mkdir(parents=True)
    bench = open_bench(tmp_path, kernel=kernel, home=home, permissions={"allow": ["shell(touch) rw", "shell(ls)"]})
    for command in ("touch x", "ls"):
        assert not outcome(await bench.call("shell", command=command))[0]
        assert len(bench.user.asked) == 1
        assert not any(pattern.endswith(" rw") for pattern in bench.user.asked[0].patterns)


@pytest.mark.one_in(3)
@every_sandbox
async def test_a_question_settled_by_a_rule_runs_at_the_strength_of_that_rule(tmp_path: Path, kernel: Kernel) -> None:
    bench = open_bench(tmp_path, kernel=kernel)
    bench.write("a.txt", "one\n")
    waiting: dict[str, asyncio.Future[str]] = {}

    async def ask(call: ToolCallBlock, *_: object) -> str:
        waiting[call.call_id] = asyncio.get_running_loop().create_future()
        return await waiting[call.call_id]

    def settle(call: ToolCallBlock) -> None:
        waiting[call.call_id].set_result("once")

    async def run(name: str, command: str) -> bool:
        block = ToolCallBlock(call_id=name, name="shell", arguments=json.dumps({"command": command}))
        tool_run = ToolRun(ask=ask, settle=settle, progress=lambda _: None, tainted=False)
        return not (await bench.toolbox.run(block, tool_run)).failed

    async with asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(run("reading", "sort a.txt"))
        writing = tasks.create_task(run("writing", "sort -o b.txt a.txt"))
        while len(waiting) < 2:
            await asyncio.sleep(0.01)
        waiting["reading"].set_result("shell(sort) ro")
    assert (reading.result(), writing.result(), (bench.folder / "b.txt").exists()) == (True, False, False)


async def test_rules_of_an_older_file_grant_nothing_more_than_before(tmp_path: Path) -> None:
    """They had no strength: with a sandbox they write the working folder at most, without one they ask."""
    bench = open_bench(tmp_path, kernel=Kernel())
    bench.permissions_file.write_text('allow = ["shell(sort)", "shell(=echo a; echo b)"]\n')
    outside = tmp_path / "x"
    without = open_bench(tmp_path, kernel=Kernel())
    without.write("a.txt", "one\n")
    for command in (f"sort -o {outside} a.txt", "echo a; echo b"):
        assert not outcome(await without.call("shell", command=command))[0]
        assert len(without.user.asked) == 1
    if HERE.strengths:
        within = open_bench(tmp_path)
        await within.call("shell", command=f"sort -o {outside} a.txt")
        assert within.user.asked == []
        assert outcome(await within.call("shell", command="echo a; echo b")) == (True, "a\nb")
    assert not outside.exists()


@needs_sandbox
async def test_words_that_a_command_found_are_no_refusal(tmp_path: Path) -> None:
    bench = open_bench(tmp_path, permissions={"allow": ["shell(grep) ro", "shell(cat) ro"]})
    bench.write("a.py", "raise OSError('permission denied')  # EPERM\n")
    assert outcome(await bench.call("shell", command="grep -n denied a.py"))[1].startswith("1:raise")
    good, text = outcome(await bench.call("shell", command="cat a.py"))
    assert (good, "sandbox" in text) == (True, False)
    assert outcome(await bench.call("shell", command="cat a.py"))[0]
    assert bench.user.asked == []
