"""Commands that the user types with ``!``: the rules and the sheet of the shell tool, and output in the draft."""

from __future__ import annotations

import asyncio
import shlex
import time
from pathlib import Path

import pytest

from tests.app.screen_stage import Screen, screen
from tests.app.stage import config
from tests.patience import PATIENCE_S
from tests.ui.stage import type_in, until
from tui.domain.blocks import TextBlock
from tui.ui.dialogs.approval import Approval

RUNS_IT = "enter runs this line in the shell"


def _allow(home: Path, *commands: str) -> None:
    rules = ", ".join(f'"shell(={command}) full"' for command in commands)
    config(home, f"[permissions]\nallow = [{rules}]\n")


async def _until_asked(s: Screen) -> Approval:
    await until(s.pilot, lambda: isinstance(s.app.screen, Approval))
    sheet = s.app.screen
    assert isinstance(sheet, Approval)
    await s.until_it_says("Yes, once")
    sheet._since = 0.0  # as if the user had looked at it for a while
    return sheet


async def _type(s: Screen, line: str) -> None:
    await type_in(s.pilot, line)
    await until(s.pilot, lambda: s.app.chat.composer.text.endswith(line))
    await s.pilot.press("enter")


def _draft(s: Screen) -> str:
    return s.app.chat.composer.text


async def test_the_output_comes_into_the_draft_and_is_sent_only_by_the_user(tmp_path: Path) -> None:
    _allow(tmp_path, "printf hello")
    async with screen(tmp_path, tools=True) as s:
        await type_in(s.pilot, "What is this?")
        await s.pilot.press("ctrl+j")
        await type_in(s.pilot, "!printf hello")
        await s.until_it_says(RUNS_IT)
        await s.pilot.press("enter")
        block = "```console\n$ printf hello\nhello\n```"
        await until(s.pilot, lambda: _draft(s) == f"What is this?\n{block}\n")
        assert s.app.chat.composer.cursor_location == s.app.chat.composer.document.end
        await s.until_it_no_longer_says(RUNS_IT)
        assert s.house.view().turns == ()
        await s.pilot.press("enter")
        await until(s.pilot, lambda: len(s.house.view().turns) == 1)
        assert s.house.view().turns[0].user_blocks == (TextBlock(text=f"What is this?\n{block}"),)
        assert "!printf hello" in s.app.chat.composer.past.prompts


@pytest.mark.frames  # it reads what is below the question
@pytest.mark.one_in(2)
@pytest.mark.parametrize("answer", ["alt+1", "alt+3"])
async def test_a_command_asks_and_runs_once_allowed(tmp_path: Path, answer: str) -> None:
    async with screen(tmp_path, tools=True) as s:
        await _type(s, "!echo one two")
        sheet = await _until_asked(s)
        assert "echo one two" in s.text()
        assert "tell the model" not in s.text()
        await s.until_it_says("waiting for your answer")
        assert "running echo" not in s.text()
        assert "enter send" not in s.text()
        await until(s.pilot, lambda: sheet._call.end_seen)
        await s.pilot.press(answer)
        await until(s.pilot, lambda: _draft(s) == "```console\n$ echo one two\none two\n```\n")
    rules = tmp_path / "config" / "permissions.toml"
    assert rules.exists() == (answer == "alt+3")


@pytest.mark.long
async def test_a_refused_command_says_so_and_stays_in_the_draft(tmp_path: Path) -> None:
    async with screen(tmp_path, tools=True) as s:
        await _type(s, "!touch made")
        await _until_asked(s)
        await s.pilot.press("escape", "escape")
        await s.until_toast("Denied by the user")
        await until(s.pilot, lambda: _draft(s) == "!touch made")
    assert not (tmp_path / "made").exists()


async def test_a_rule_that_denies_holds_for_the_user_too(tmp_path: Path) -> None:
    config(tmp_path, '[permissions]\ndeny = ["shell(touch)"]\n')
    async with screen(tmp_path, tools=True) as s:
        await _type(s, "!touch made")
        await s.until_toast("Denied by the user's rule shell(touch)")
        await until(s.pilot, lambda: _draft(s) == "!touch made")
    assert not (tmp_path / "made").exists()


async def test_without_a_shell_nothing_runs(tmp_path: Path) -> None:
    async with screen(tmp_path, tools=True) as s:
        s.house.program.toolbox.enable("shell", enabled=False)
        await _type(s, "!echo hello")
        await s.until_toast("shell is not available")
        await until(s.pilot, lambda: _draft(s) == "!echo hello")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
async def test_a_running_command_is_shown_and_can_be_stopped(tmp_path: Path, key: str) -> None:
    command = "echo $$ > pid; echo working; sleep 600"
    _allow(tmp_path, command)
    async with screen(tmp_path, size=(80, 24), tools=True) as s:
        await _type(s, f"!{command}")
        await s.until_it_says("esc stops")
        assert f"running {command[:20]}" in s.text()
        pid = tmp_path / "pid"
        await until(s.pilot, lambda: pid.exists() and pid.read_text().endswith("\n"))
        await type_in(s.pilot, "meanwhile")
        await until(s.pilot, lambda: _draft(s) == "meanwhile")
        await s.pilot.press(key)
        await s.until_toast("Stopped. The command may have run in part.")
        assert _draft(s) == f"!{command}\nmeanwhile"
        assert s.app.chat.composer.cursor_location == (1, 9)
        await s.until_it_no_longer_says("esc stops")
        await _until_gone(int(pid.read_text()))


async def _until_gone(pid: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if not Path(f"/proc/{pid}").exists():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("the command still runs")


@pytest.mark.long
async def test_one_command_runs_at_a_time(tmp_path: Path) -> None:
    _allow(tmp_path, "sleep 600", "echo second")
    async with screen(tmp_path, tools=True) as s:
        await _type(s, "!sleep 600")
        await s.until_it_says("esc stops")
        await _type(s, "!echo second")
        await s.until_toast("Another command is still running.")
        assert _draft(s) == "!echo second"


@pytest.mark.long
async def test_a_long_output_is_cut_and_becomes_a_chip_that_is_sent_whole(tmp_path: Path) -> None:
    command = "seq 100000"
    _allow(tmp_path, command)
    async with screen(tmp_path, tools=True) as s:
        await _type(s, f"!{command}")
        await until(s.pilot, lambda: _draft(s).startswith("⟦!seq 100000 "))
        await s.pilot.press("enter")
        await until(s.pilot, lambda: len(s.house.view().turns) == 1)
        [block] = s.house.view().turns[0].user_blocks
        assert isinstance(block, TextBlock)
        assert block.text.startswith("```console\n$ seq 100000\n1\n2\n")
        assert "omitted here" in block.text
        assert len(block.text) < 70_000


async def test_keys_in_the_output_are_removed(tmp_path: Path) -> None:
    key = "sk-ant-api03-" + "Ab1_" * 20
    (tmp_path / "notes").write_text(f"key {key}\n", "utf-8")
    _allow(tmp_path, "cat notes")
    async with screen(tmp_path, tools=True, environment={"ANTHROPIC_API_KEY": key}) as s:
        await _type(s, "!cat notes")
        await until(s.pilot, lambda: "```console" in _draft(s))
        assert "sk-ant" not in _draft(s)
        assert "key " in _draft(s)


@pytest.mark.long
async def test_a_command_of_a_session_that_is_left_is_stopped(tmp_path: Path) -> None:
    command = "echo $$ > pid; sleep 600"
    _allow(tmp_path, command)
    async with screen(tmp_path, tools=True) as s:
        await s.ask("hello")
        await _type(s, f"!{command}")
        pid = tmp_path / "pid"
        await until(s.pilot, lambda: pid.exists() and pid.read_text().endswith("\n"))
        await s.pilot.press("ctrl+n")
        await s.until_toast("Stopped.")
        await _until_gone(int(pid.read_text()))
        assert _draft(s) == ""


@pytest.mark.long
async def test_leaving_ends_the_command(tmp_path: Path) -> None:
    command = "echo $$ > pid; sleep 600"
    _allow(tmp_path, command)
    async with screen(tmp_path, tools=True) as s:
        await _type(s, f"!{command}")
        pid = tmp_path / "pid"
        await until(s.pilot, lambda: pid.exists() and pid.read_text().endswith("\n"))
    await _until_gone(int(pid.read_text()))


async def test_what_a_command_says_is_not_run_again(tmp_path: Path) -> None:
    """Output that looks like a command, a file or a slash command stays text."""
    said = "!touch made\\n/quit\\n@notes\\n"
    command = f"printf {shlex.quote(said)}"
    config(tmp_path, f"[permissions]\nallow = ['''shell(={command}) full''', 'shell(touch) rw']\n")
    async with screen(tmp_path, tools=True) as s:
        await _type(s, f"!{command}")
        await until(s.pilot, lambda: "@notes" in _draft(s) and _draft(s).endswith("```\n"))
        await s.pilot.press("up", "up")
        await until(s.pilot, lambda: s.app.chat.composer.cursor_location[0] > 0)
        await s.pilot.press("enter")
        await until(s.pilot, lambda: len(s.house.view().turns) == 1)
    assert not (tmp_path / "made").exists()
