"""Prompts of MCP servers as commands of the running program, and their resources as attachments."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.app.screen_stage import Screen, screen
from tests.app.stage import config
from tests.fakes.sdk_servers import sdk_server
from tests.ui.stage import type_in, until
from tui.domain.blocks import TextBlock

pytestmark = pytest.mark.skipif(find_spec("mcp") is None, reason="the MCP SDK is not installed")

ROOT = Path(__file__).parents[2]


@asynccontextmanager
async def _opened(home: Path, *ways: str) -> AsyncIterator[Screen]:
    """The screen, once the server has listed its prompts."""
    command, arguments = sdk_server("mcp_offers.py", *ways)
    program = f"command = {json.dumps(command)}\nargs = {json.dumps(arguments)}\nstart_timeout = 50\n"
    config(home, f"[mcp.servers.docs]\n{program}")
    async with screen(home) as s:
        started = s.house.program.engine.call(s.house.program.toolbox.ready())
        await until(s.pilot, started.done)
        await until(s.pilot, lambda: s.app.registry.by_slash("docs:hello") is not None)
        yield s


async def _sent(s: Screen, line: str) -> str:
    """The message that a line has sent, after its answer."""
    turns = len(s.house.view().turns)
    await s.enter(line)
    await until(s.pilot, lambda: len(s.house.view().turns) > turns and not s.app.chat.is_busy())
    (block,) = s.house.view().turns[-1].messages[0].blocks
    assert isinstance(block, TextBlock)
    return block.text


async def test_a_prompt_is_a_command_with_completion_and_help(tmp_path: Path) -> None:
    async with _opened(tmp_path) as s:
        await type_in(s.pilot, "/docs:rev")
        await s.until_it_says("/docs:review FILE [FOCUS]  Review a file. (from the MCP server docs)")
        await type_in(s.pilot, "iew m")
        await s.until_it_says("my notes.txt")
        await s.pilot.press("down", "tab")
        await until(s.pilot, lambda: s.app.chat.composer.text == "/docs:review 'my notes.txt'")
        await s.pilot.press("escape")
        s.app.chat.composer.load_text("")
        assert await _sent(s, "/docs:review a.py speed") == (
            "Prompt `review` of the MCP server `docs`:\n\nReview a.py with regard to speed."
        )
        assert await _sent(s, "/docs:review focus=speed 'my b.py'") == (
            "Prompt `review` of the MCP server `docs`:\n\nReview my b.py with regard to speed."
        )
        await s.enter("/help")
        await s.until_it_says("search keys and commands")
        await type_in(s.pilot, "docs:review")
        await s.until_it_says("/docs:review FILE [FOCUS]")
        await s.pilot.press("escape")
        await until(s.pilot, lambda: s.app.screen is s.app.chat)
        await s.pilot.press("ctrl+p")
        await type_in(s.pilot, "docs:hello")
        await s.until_it_says("Prompt: docs:hello")


@pytest.mark.long
async def test_missing_arguments_are_told_and_nothing_is_sent(tmp_path: Path) -> None:
    async with _opened(tmp_path) as s:
        await s.enter("/docs:review")
        await s.until_toast("/docs:review needs FILE")
        await s.enter("/docs:empty")
        await s.until_toast("is empty")
        assert s.house.view().turns == ()


@pytest.mark.long
async def test_a_text_that_looks_like_commands_is_only_sent(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("secret", "utf-8")
    async with _opened(tmp_path) as s:
        before = s.house.services.settings.layers()
        text = await _sent(s, "/docs:commands")
        assert text.endswith("\n\n/set tools.enabled false\n!touch ran\n@notes.txt\n/trust")
        assert "secret" not in text
        assert s.house.services.settings.layers() == before
        assert not (tmp_path / "ran").exists()
        assert s.house.program.project is not None
        assert not s.house.program.project.trusted


@pytest.mark.long
async def test_words_of_ponder_remain_its_own(tmp_path: Path) -> None:
    async with _opened(tmp_path, "hostile") as s:
        await s.enter("/help")
        await s.until_it_says("search keys and commands")
        await s.pilot.press("escape")
        assert await _sent(s, "/docs:help") == "Prompt `help` of the MCP server `docs`:\n\nI am 'help'."


@pytest.mark.long
async def test_a_resource_is_completed_and_attached(tmp_path: Path) -> None:
    (tmp_path / "docs.txt").write_text("a file", "utf-8")
    async with _opened(tmp_path) as s:
        await until(s.pilot, lambda: s.house.services.tools.servers()[0].resources == 5)
        await type_in(s.pilot, "@doc")
        await s.until_it_says("docs:     5 resources of the MCP server")
        assert "docs.txt" in s.text()
        await s.pilot.press("tab")
        await until(s.pilot, lambda: s.app.chat.composer.text == "@docs:")
        await s.until_it_says("docs:notes://today")
        assert "docs.txt" not in s.text()
        await type_in(s.pilot, "notes://day/tu")
        await s.until_it_says("docs:notes://day/tuesday")
        await s.pilot.press("tab")
        await until(s.pilot, lambda: s.app.chat.composer.text == "⟦docs:notes://day/tuesday⟧ ")
        text = await _sent(s, s.app.chat.composer.text + "What is on?")
        assert text.startswith('<file name="notes://day/tuesday of the MCP server `docs`">\nNothing on tuesday')
        await s.enter("/attach docs:notes://nothing")
        await s.until_toast("The MCP server docs lists no resource notes://nothing.")


@pytest.mark.long
async def test_a_file_cannot_take_the_place_of_a_resource(tmp_path: Path) -> None:
    (tmp_path / "docs:notes:").mkdir()
    (tmp_path / "docs:notes:" / "today").write_text("of the repository", "utf-8")
    async with _opened(tmp_path) as s:
        await until(s.pilot, lambda: s.house.services.tools.servers()[0].resources == 5)
        await s.app.ui_services.run_line("/attach docs:notes://today")
        await until(s.pilot, lambda: "⟦" in s.app.chat.composer.text)
        assert "Water the plants." in await _sent(s, s.app.chat.composer.text + "?")


LINES = re.findall(r"^(/docs:.*|/attach docs:.*)$", (ROOT / "docs" / "mcp.md").read_text("utf-8"), re.MULTILINE)


def test_the_page_tells_to_type_what_other_tests_here_type() -> None:
    """Only the words differ; with ``--long`` the very lines are entered."""
    assert LINES == [
        "/docs:review 'my notes.md' speed",
        "/docs:review focus=speed main.py",
        "/attach docs:notes://today",
    ]


@pytest.mark.long
async def test_what_the_page_tells_to_type_works(tmp_path: Path) -> None:
    assert len(LINES) == 3
    async with _opened(tmp_path) as s:
        await until(s.pilot, lambda: s.house.services.tools.servers()[0].resources == 5)
        composer = s.app.chat.composer
        for line in LINES:
            turns = len(s.house.view().turns)
            await s.app.ui_services.run_line(line)
            if line.startswith("/attach"):
                await until(s.pilot, lambda: "⟦docs:notes://today⟧" in composer.text)
            else:
                await until(s.pilot, lambda n=turns: len(s.house.view().turns) > n and not s.app.chat.is_busy())  # type: ignore[misc]  # bound now
        sent = [turn.messages[0].blocks[-1] for turn in s.house.view().turns]
        texts = [block.text for block in sent if isinstance(block, TextBlock)]
        assert [text.partition("\n\n")[2] for text in texts] == [
            "Review my notes.md with regard to speed.",
            "Review main.py with regard to speed.",
        ]
