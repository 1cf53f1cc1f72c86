"""Servers nobody here has seen before: a config.toml row and nothing else makes three turns with a tool work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes.stage import spoken
from tests.fakes.toolbox import result
from tests.key_canary import OWN_KEY
from tests.patience import PATIENCE_S
from tests.providers.conftest import Client, request
from tests.providers.more_strangers import Ollamalike, OpenResponder, Responder, Stern, Tagged, Unsigned
from tests.providers.odd_strangers import Bearing, Fussy, Handmade, Naming, Particular, Toolless, Unstreaming, Wrapping
from tests.providers.strangers import (
    Claudelike,
    Gateway,
    GeminiArray,
    Geminilike,
    Json,
    LlamaCpp,
    Stranger,
    Strict,
    Vllm,
    serving,
)
from tui.app.current_session import CurrentSession, first_spec
from tui.app.launch_options import LaunchOptions
from tui.app.session_storage import InMemorySessions
from tui.bootstrap.program import build_program
from tui.cli.main import main
from tui.domain.blocks import TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock
from tui.domain.events import AppEvent, TurnFailed, TurnFinished
from tui.domain.messages import Role, Turn
from tui.domain.request import ToolSchema
from tui.domain.tool_run import ToolRun

PROMPTS = ("Hello.", "Look into the folder.", "Thank you.")


class Folder:
    """Lists a folder that is not there."""

    def schemas(self) -> tuple[ToolSchema, ...]:
        parameters = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
        return (ToolSchema(name="list_dir", description="List a folder.", parameters=parameters),)

    async def run(self, call: ToolCallBlock, run: ToolRun) -> ToolResultBlock:
        return result(call, "a.txt\nb.txt")


def converse(home: Path, model: str, prompts: tuple[str, ...] = PROMPTS) -> list[TurnFinished | TurnFailed]:
    """How each turn of such a conversation ended."""
    return [event for event in heard(home, model, prompts) if isinstance(event, TurnFinished | TurnFailed)]


def heard(home: Path, model: str, prompts: tuple[str, ...]) -> list[AppEvent]:
    """The prompts one after the other in one session, by everything the program is made of."""
    environment = {"PONDER_HOME": str(home), "MY_KEY": OWN_KEY, "VLLM_TEST_KEY": "vllm-key-123456"}
    program = build_program(environment, LaunchOptions(model=model))
    assert program.problems == []
    program.session_toolbox = Folder()
    program.engine.start()
    current = CurrentSession(program, InMemorySessions(), interactive=True)
    current.start(first_spec(program, []))

    async def talk() -> list[AppEvent]:
        _, subscription = current.session.attach()
        told: list[AppEvent] = []
        for prompt in prompts:
            await current.call(current.session.submit((TextBlock(text=prompt),)))
            async for batch in subscription.batches(0):
                events: list[AppEvent] = [stamped.event for stamped in batch]
                told += events
                if any(isinstance(event, TurnFinished | TurnFailed) for event in events):
                    break
        await current.close()
        return told

    try:
        return asyncio.run(asyncio.wait_for(talk(), PATIENCE_S))
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
    "bearing": (Bearing, 'wire = "anthropic"\nbase_url = "{url}"\nkey_env = ["MY_KEY"]'),
    "gemini-like": (Geminilike, 'wire = "gemini"\nbase_url = "{url}/v1beta"\nkey_env = ["MY_KEY"]'),
    "gemini-like without version": (Geminilike, 'wire = "gemini"\nbase_url = "{url}"\nkey_env = ["MY_KEY"]'),
    "gemini-like array": (GeminiArray, 'wire = "gemini"\nbase_url = "{url}/v1beta"\nkey_env = ["MY_KEY"]'),
    "stern": (Stern, 'wire = "openai-chat"\nbase_url = "{url}/v1"\nauth = "none"'),
    "tagged": (Tagged, 'wire = "openai-chat"\nbase_url = "{url}/v1"\nauth = "none"'),
    "claude-like, unsigned": (Unsigned, 'wire = "anthropic"\nbase_url = "{url}"\nkey_env = ["MY_KEY"]'),
    "responses": (Responder, 'wire = "openai-responses"\nbase_url = "{url}/v1"\nkey_env = ["MY_KEY"]'),
    "responses without version": (Responder, 'wire = "openai-responses"\nbase_url = "{url}"\nkey_env = ["MY_KEY"]'),
    "responses, nothing encrypted": (OpenResponder, 'wire = "openai-responses"\nbase_url = "{url}/v1"\nauth = "none"'),
    "responses, typed": (Particular, 'wire = "openai-responses"\nbase_url = "{url}/v1"\nauth = "none"'),
    "fussy": (Fussy, 'wire = "openai-chat"\nbase_url = "{url}/v1"\nauth = "none"'),
    "wrapping": (Wrapping, 'wire = "openai-chat"\nbase_url = "{url}/v1"\nauth = "none"'),
    "unstreaming": (Unstreaming, 'wire = "openai-chat"\nbase_url = "{url}/v1"\nauth = "none"'),
    "handmade": (Handmade, 'wire = "openai-chat"\nbase_url = "{url}/v1"\nauth = "none"'),
    "naming": (Naming, 'wire = "openai-chat"\nbase_url = "{url}/v1"\nauth = "none"'),
    "ollama-like": (Ollamalike, 'wire = "ollama"\nbase_url = "{url}"\nauth = "none"'),
}


REFUSED = {Stern: 2, Bearing: 1, Fussy: 1, Wrapping: 1, Unstreaming: 1, Particular: 2}
"""Requests a server may refuse before it is understood: one for each thing it does not take, in all three turns."""


@pytest.mark.one_in(8)
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


def test_a_second_run_does_not_pay_for_the_same_refusals(tmp_path: Path) -> None:
    row = ROWS["responses, typed"][1]
    with serving(Particular) as (url, server):
        home = configured(tmp_path, "[providers.mine]\n" + row.format(url=url) + "\n")
        for _ in range(2):
            converse(home, "mine/my-model", ("Hello.",))
    assert (len(server.seen), len(server.refused)) == (4, 2)
    assert set(server.seen[-1]).isdisjoint(Particular.unknown)


def test_what_a_server_can_do_after_its_next_start_is_forgotten_with_the_session(tmp_path: Path) -> None:
    row = ROWS["fussy"][1]
    with serving(Toolless) as (url, server):
        home = configured(tmp_path, "[providers.mine]\n" + row.format(url=url) + "\n")
        ends = [converse(home, "mine/my-model", ("Hello.", "Thank you.")) for _ in range(2)]
    assert len(server.refused) == 2
    assert {words_of(end.turn) for both in ends for end in both} == {("Fine, then.", 1, 0)}


@pytest.mark.parametrize(("wire", "base"), [("anthropic", ""), ("anthropic", "/v1"), ("gemini", "/v1beta")])
def test_a_gateway_lists_its_models_whatever_wire_it_is_asked_on(
    wire: str, base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PONDER_HOME", str(tmp_path))
    monkeypatch.setenv("MY_KEY", OWN_KEY)
    with serving(Bearing) as (url, _):
        configured(tmp_path, f'[providers.mine]\nwire = "{wire}"\nbase_url = "{url}{base}"\nkey_env = ["MY_KEY"]\n')
        assert main(["models", "--refresh", "mine"]) == 0
    printed = capsys.readouterr()
    assert (printed.err, "mine/my-model" in printed.out) == ("mine: 1 model\n", True)


@pytest.mark.parametrize(
    ("kind", "configured_wire", "spoken_wire"),
    [
        (Tagged, "openai-responses", "openai-chat"),
        (Tagged, "anthropic", "openai-chat"),
        (OpenResponder, "openai-chat", "openai-responses"),
        (Unsigned, "openai-chat", "anthropic"),
        (Ollamalike, "openai-chat", "ollama"),
    ],
)
async def test_an_answer_in_another_format_is_named(
    kind: type[Stranger], configured_wire: str, spoken_wire: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kind, "problem", lambda self, body: None)
    asked = request("Hello.", system="Brief.")
    monkeypatch.setattr(kind, "answer", _answering(kind))
    with serving(kind) as (url, _):
        outcome = await client.ask(url, configured_wire, asked=asked)
    assert outcome.error is not None
    told = f"The server answers as `{spoken_wire}`, not as `{configured_wire}`."
    assert (outcome.error.message, outcome.error.retryable) == (told, False)


def _answering(kind: type[Stranger]) -> Callable[[Stranger, Json], None]:
    """Whatever it was asked: it answers as it always does."""
    answer = kind.answer
    said: list[Json] = [{"role": "user", "content": "Hello."}]
    return lambda self, body: answer(self, {"model": "m", "messages": said, "input": said})
