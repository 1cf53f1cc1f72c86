"""Model, level and profile changes leave a sentence in the conversation; headless runs say what the plan warns of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.app.conftest import Run
from tests.app.screen_stage import Screen, screen
from tests.app.stage import config
from tests.ui.stage import until
from tui.ui.transcript.section import block_text

CANNOT = "This model cannot switch thinking off"


def lines(s: Screen) -> str:
    """Everything that the conversation says, without toasts."""
    sections = s.app.chat.transcript.column.sections
    return "\n".join(block_text(block) for section in sections for block in section.blocks)


CHANGES = (
    ("/model anthropic/claude-sonnet-4-5/high", ("Anthropic · claude-sonnet-4-5 · anthropic", "64,000", "59,904")),
    ("/model openai/gpt-5/none", ("OpenAI · gpt-5 · openai-responses", "minimal", CANNOT)),
    ("/model moonshot/kimi-k2-thinking/low", ("kimi-k2-thinking · openai-chat", "no key")),
    ("/thinking 12345", ("claude-opus-4-5 · anthropic", "12,345")),
    ("/thinking none", ("claude-opus-4-5 · anthropic", "off")),
    ("/profile load gpt", ("Profile gpt", "OpenAI · ", "openai-responses")),
    ("/profile load terse", ("Profile terse", "claude-opus-4-5 · anthropic", "off")),
)


async def until_changed(s: Screen, before: str) -> None:
    await until(s.pilot, lambda: lines(s) != before)


async def until_added(s: Screen, before: str, said: tuple[str, ...]) -> None:
    await until(s.pilot, lambda: all(words in lines(s).removeprefix(before) for words in said))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", ["/model", "/thinking", "/profile"])
async def test_the_sentence_stays_in_the_conversation(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "config" / "profiles"
    folder.mkdir(parents=True)
    (folder / "terse.toml").write_text("[reasoning]\nenabled = false\n")
    keys = {"OPENAI_API_KEY": "sk-test-0123456789abcdef"}
    async with screen(tmp_path, model="demo/fast/low", environment=keys) as s:
        await s.ask("Hello")
        for command, said in (change for change in CHANGES if change[0].startswith(f"{kind} ")):
            before = lines(s)
            await s.enter("/model anthropic/claude-opus-4-5/med")
            await until_changed(s, before)
            before = lines(s)
            await s.enter(command)
            await s.until_it_says(said[0].split(" · ")[0])
            await until_added(s, before, said)
            assert lines(s).startswith(before), "what was said before stays"


@pytest.mark.long
async def test_stepping_with_a_key_leaves_no_lines(tmp_path: Path) -> None:
    async with screen(tmp_path, model="anthropic/claude-opus-4-5/low") as s:
        for _ in range(3):
            await s.pilot.press("shift+tab")
        await s.until_it_says("claude-opus-4-5 · none")
        assert "claude-opus-4-5" not in lines(s)


def run(ponder: Run, *how: str) -> tuple[str, str]:
    asked = ("-p", "Hello", "-m", "demo/fast/none", "--set", "generation.temperature=0.3")
    code, out, err = ponder(*asked, *how)
    assert code == 0, err
    return out, err


@pytest.mark.parametrize("how", [(), ("--json",), ("--jsonl",)])
def test_headless_runs_say_the_warnings_of_the_plan(ponder: Run, tmp_path: Path, how: tuple[str, ...]) -> None:
    config(tmp_path, '[models."demo/fast"]\nbudget = [1024, 64000]\ncan_disable = false\n')
    out, err = run(ponder, *how)
    said = err if not how else "\n".join(json.loads(out.splitlines()[-1])["warnings"])
    assert CANNOT in said
