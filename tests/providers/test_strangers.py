"""Servers nobody here has seen before: a config.toml row and nothing else makes three turns with a tool work."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.fakes.stage import spoken
from tests.fakes.toolbox import result
from tests.providers.more_strangers import Ollamalike, OpenResponder, Responder, Stern, Tagged, Unsigned
from tests.providers.strangers import (
    Claudelike,
    Gateway,
    GeminiArray,
    Geminilike,
    LlamaCpp,
    Stranger,
    Strict,
    Vllm,
    serving,
)
from tui.domain.blocks import TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock
from tui.domain.events import AppEvent, TurnFailed, TurnFinished
from tui.domain.messages import Role, Turn
from tui.domain.request import ToolSchema
from tui.engine.ports import ToolRun
from tui.wiring.open_session import OpenSession, first_spec
from tui.wiring.program import build_program
from tui.wiring.storage import KeptInMemory
from tui.wiring.wishes import Wishes

PROMPTS = ("Hello.", "Look into the folder.", "Thank you.")


class Folder:
    """Lists a folder that is not there."""

    def schemas(self) -> tuple[ToolSchema, ...]:
        parameters = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
        return (ToolSchema(name="list_dir", description="List a folder.", parameters=parameters),)

    async def run(self, call: ToolCallBlock, run: ToolRun) -> ToolResultBlock:
        return result(call, "a.txt\nb.txt")


def converse(home: Path, model: str, prompts: tuple[str, ...] = PROMPTS) -> list[TurnFinished | TurnFailed]:
    """The prompts one after the other in one session, by everything the program is made of; how each turn ended."""
    environment = {"PONDER_HOME": str(home), "MY_KEY": "key-of-mine-9876", "VLLM_TEST_KEY": "vllm-key-123456"}
    program = build_program(environment, Wishes(model=model))
    assert program.problems == []
    program.toolbox = Folder()
    program.engine.start()
    current = OpenSession(program, KeptInMemory(), interactive=True)
    current.start(first_spec(program, []))

    async def talk() -> list[TurnFinished | TurnFailed]:
        _, subscription = current.session.attach()
        ends: list[TurnFinished | TurnFailed] = []
        for prompt in prompts:
            await current.call(current.session.submit((TextBlock(text=prompt),)))
            async for batch in subscription.batches(0):
                events: list[AppEvent] = [stamped.event for stamped in batch]
                end = [event for event in events if isinstance(event, TurnFinished | TurnFailed)]
                ends += end
                if end:
                    break
        await current.close()
        return ends

    try:
        return asyncio.run(asyncio.wait_for(talk(), 40))
    finally:
        program.close()


def configured(home: Path, row: str) -> Path:
    path = home / "config"
    path.mkdir(parents=True, exist_ok=True)
    (path / "config.toml").write_text(row, encoding="utf-8")
    return home


def words_of(turn: Turn) -> tuple[str, int, int]:
    """What a turn said at its end, how many messages thought, how many calls it made."""
    answers = [message for message in turn.messages if message.role is Role.ASSISTANT and not message.superseded]
    thought = sum(any(isinstance(block, ThinkingBlock) and block.text for block in one.blocks) for one in answers)
    calls = sum(isinstance(block, ToolCallBlock) for one in answers for block in one.blocks)
    return spoken(answers[-1]).strip(), thought, calls


GATEWAY = """wire = "openai-chat"
base_url = "{url}/api"
key_env = ["MY_KEY"]
headers = {{ X-Team = "blue" }}
extra_body = {{ metadata = {{ team = "blue" }} }}"""
ROWS: dict[str, tuple[type[Stranger], str]] = {
    "llama": (LlamaCpp, 'wire = "openai-chat"\nbase_url = "{url}/v1"\nauth = "none"'),
    "llama without version": (LlamaCpp, 'wire = "openai-chat"\nbase_url = "{url}"\nauth = "none"'),
    "llama's whole endpoint": (LlamaCpp, 'wire = "openai-chat"\nbase_url = "{url}/v1/chat/completions"\nauth = "none"'),
    "strict": (Strict, 'wire = "openai-chat"\nbase_url = "{url}/v1"\nkey_env = ["MY_KEY"]'),
    "vllm": (Vllm, 'wire = "openai-chat"\nbase_url = "{url}/v1"\nkey_env = ["VLLM_TEST_KEY"]'),
    "gateway": (
        Gateway,
        GATEWAY,
    ),
    "claude-like": (Claudelike, 'wire = "anthropic"\nbase_url = "{url}"\nkey_env = ["MY_KEY"]'),
    "claude-like with version": (Claudelike, 'wire = "anthropic"\nbase_url = "{url}/v1"\nkey_env = ["MY_KEY"]'),
    "claude-like with bearer": (
        Claudelike,
        'wire = "anthropic"\nbase_url = "{url}"\nauth = "bearer"\nkey_env = ["MY_KEY"]',
    ),
    "gemini-like": (Geminilike, 'wire = "gemini"\nbase_url = "{url}/v1beta"\nkey_env = ["MY_KEY"]'),
    "gemini-like without version": (Geminilike, 'wire = "gemini"\nbase_url = "{url}"\nkey_env = ["MY_KEY"]'),
    "gemini-like array": (GeminiArray, 'wire = "gemini"\nbase_url = "{url}/v1beta"\nkey_env = ["MY_KEY"]'),
    "stern": (Stern, 'wire = "openai-chat"\nbase_url = "{url}/v1"\nauth = "none"'),
    "tagged": (Tagged, 'wire = "openai-chat"\nbase_url = "{url}/v1"\nauth = "none"'),
    "claude-like, unsigned": (Unsigned, 'wire = "anthropic"\nbase_url = "{url}"\nkey_env = ["MY_KEY"]'),
    "responses": (Responder, 'wire = "openai-responses"\nbase_url = "{url}/v1"\nkey_env = ["MY_KEY"]'),
    "responses without version": (Responder, 'wire = "openai-responses"\nbase_url = "{url}"\nkey_env = ["MY_KEY"]'),
    "responses, nothing encrypted": (OpenResponder, 'wire = "openai-responses"\nbase_url = "{url}/v1"\nauth = "none"'),
    "ollama-like": (Ollamalike, 'wire = "ollama"\nbase_url = "{url}"\nauth = "none"'),
}


REFUSED = {Stern: 2}
"""Requests a server may refuse before it is understood: ``stream_options`` once, thinking sent back once."""


@pytest.mark.parametrize("name", ROWS)
def test_three_turns_with_thinking_and_a_tool_work_by_a_row_alone(name: str, tmp_path: Path) -> None:
    kind, row = ROWS[name]
    with serving(kind) as (url, server):
        home = configured(tmp_path, "[providers.mine]\n" + row.format(url=url) + "\n")
        ends = converse(home, "mine/my-model")
    assert len(server.refused) <= REFUSED.get(kind, 0), server.refused
    assert [type(end).__name__ for end in ends] == ["TurnFinished"] * 3
    calls = 2 if kind is LlamaCpp else 1
    assert [words_of(end.turn) for end in ends] == [
        ("Fine, then.", 1, 0),
        ("Fine, then.", 2, calls),
        ("Fine, then.", 1, 0),
    ]
