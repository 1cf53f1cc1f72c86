"""The demo: every wire through the real pipeline, thinking that really has to come back, trouble on request."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.clock import virtually
from tests.providers.conftest import Outcome, plan, target
from tests.validators import anthropic, chat, gemini, responses
from tui.catalog.catalog import packaged_catalog
from tui.domain.blocks import TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.messages import Origin, Role, WireName
from tui.domain.request import ChatRequest, Outgoing, OutgoingMessage, ToolSchema
from tui.domain.stream import Finish
from tui.providers.backend import ProviderBackend
from tui.providers.demo.requests import ParsedRequest
from tui.providers.demo.scripts import script_for
from tui.providers.demo.server import DEMO_HOST, DemoServer
from tui.providers.http.connection import InProcessResponse
from tui.providers.http.request import HttpRequest
from tui.providers.http.transport import Transport
from tui.providers.keys import Keys
from tui.ui.chat.empty_state import PROMPTS

CATALOG = packaged_catalog()
MODELS = ("fast", "demo", "responses", "chat", "gemini")
models = pytest.mark.parametrize("model", MODELS)
FIELDS: Mapping[WireName, Mapping[str, object]] = {
    WireName.ANTHROPIC: {"thinking": {"type": "enabled", "budget_tokens": 2000}},
    WireName.OPENAI_RESPONSES: {"reasoning": {"effort": "high", "summary": "auto"}},
    WireName.OPENAI_CHAT: {"reasoning_effort": "high"},
    WireName.GEMINI: {"generationConfig": {"thinkingConfig": {"includeThoughts": True, "thinkingBudget": 2000}}},
}
VALIDATORS = {"/messages": anthropic, "/responses": responses, "/completions": chat, ":streamGenerateContent": gemini}
PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = tuple(ToolSchema(name=name, description=name, parameters=PATH) for name in ("list_dir", "read_file"))


class Demo:
    """The demo behind the real backend; every request it gets must pass the strict validators too."""

    def __init__(self, folder: Path, speed: float) -> None:
        self._server = DemoServer(speed=speed)
        self.backend = ProviderBackend(
            Keys(folder / "c.toml", environ={}), lambda: Transport(environ={}, in_process={DEMO_HOST: self._answer})
        )
        self.problems: list[str] = []

    async def _answer(self, request: HttpRequest) -> InProcessResponse:
        path = request.url.partition("?")[0]
        for end, validator in VALIDATORS.items():
            if path.endswith(end):
                dialect = {"dialect": "deepseek"} if validator is chat else {}
                self.problems += validator.problems(json.loads(request.body or b""), **dialect)
        return await self._server.answer(request)

    async def ask(self, model: str, *messages: OutgoingMessage, thinks: bool = True, tools: bool = True) -> Outcome:
        facts = CATALOG.find("demo", model)
        fields = FIELDS[facts.wire] if thinks else {}
        asked = ChatRequest(
            model=model, outgoing=Outgoing(messages=messages), plan=plan(fields), tools=TOOLS if tools else (),
            max_output=8000, system="Be brief.",
        )  # fmt: skip
        outcome = Outcome()
        try:
            async for batch in self.backend.stream(target(CATALOG.provider("demo"), facts), asked):
                outcome.events.extend(batch)
        except ProviderError as error:
            outcome.error = error
        return outcome


@pytest.fixture
async def demo(tmp_path: Path) -> AsyncIterator[Demo]:
    demo = Demo(tmp_path, speed=0.0)
    yield demo
    await demo.backend.aclose()


def user(text: str) -> OutgoingMessage:
    return OutgoingMessage(role=Role.USER, blocks=(TextBlock(text=text),))


def loop(model: str, outcome: Outcome, *, signed: bool = True) -> list[OutgoingMessage]:
    """The answer and the results of its calls, as they go back."""
    facts = CATALOG.find("demo", model)
    origin = Origin(provider="demo", wire=facts.wire, host=DEMO_HOST, model=model, family=facts.family)
    blocks = outcome.blocks.blocks()
    if not signed:
        kept = [block for block in blocks if not isinstance(block, ThinkingBlock)]
        blocks = tuple(
            replace(block, provider_state=None) if isinstance(block, ToolCallBlock) else block for block in kept
        )
    results = tuple(
        ToolResultBlock(call_id=call.call_id, name=call.name, content=(TextBlock(text="README.md\ntui/\ntests/"),))
        for call in blocks
        if isinstance(call, ToolCallBlock)
    )
    return [
        OutgoingMessage(role=Role.ASSISTANT, blocks=blocks, origin=origin, in_open_loop=True),
        OutgoingMessage(role=Role.TOOL, blocks=results, in_open_loop=True),
    ]


@models
async def test_a_tool_loop_carries_its_thinking_there_and_back(demo: Demo, model: str) -> None:
    asked = user("list the files and read README.md")
    first = await demo.ask(model, asked)
    calls = [block for block in first.blocks.blocks() if isinstance(block, ToolCallBlock)]
    assert [(call.name, json.loads(call.arguments)) for call in calls] == [
        ("list_dir", {"path": "."}),
        ("read_file", {"path": "README.md"}),
    ]
    assert first.blocks.stop is not None
    assert (first.blocks.stop.finish, bool(first.thinking)) == (Finish.TOOL_USE, True)
    second = await demo.ask(model, asked, *loop(model, first))
    assert (second.error, "Result 2" in second.text, "README.md" in second.text) == (None, True, True)
    third = await demo.ask(model, asked, *loop(model, first), *loop(model, second)[:1], user("thank you"))
    assert (third.error, third.complete, demo.problems) == (None, True, [])


async def test_the_prompts_of_the_first_screen_get_answers_that_fit(demo: Demo) -> None:
    sky, sorting, files = [await demo.ask("demo", user(prompt)) for prompt in PROMPTS]
    assert "Olbers" in sky.thinking
    assert "the universe has an age" in sky.text
    assert "Timsort" in sorting.thinking
    assert "| heap |" in sorting.text
    assert "```python" in sorting.text
    calls = [
        [block.name for block in answer.blocks.blocks() if isinstance(block, ToolCallBlock)]
        for answer in (sky, sorting, files)
    ]
    assert calls == [[], [], ["list_dir"]]


@models
async def test_thinking_that_does_not_come_back_is_refused(demo: Demo, model: str) -> None:
    asked = user("list the files")
    first = await demo.ask(model, asked)
    second = await demo.ask(model, asked, *loop(model, first, signed=False))
    assert second.error is not None
    assert second.error.status == 400
    assert second.error.kind in (ErrorKind.INVALID_SIGNATURE, ErrorKind.THINKING_MISSING, ErrorKind.INVALID_REQUEST)


async def test_changed_thinking_is_refused(demo: Demo) -> None:
    asked = user("list the files")
    answer, results = loop("fast", await demo.ask("fast", asked))
    changed = tuple(replace(b, text=b.text + "!") if isinstance(b, ThinkingBlock) else b for b in answer.blocks)
    outcome = await demo.ask("fast", asked, replace(answer, blocks=changed), results)
    assert outcome.error is not None
    assert outcome.error.kind is ErrorKind.INVALID_SIGNATURE


@models
async def test_usage_tells_thinking_from_answer(demo: Demo, model: str) -> None:
    usage = (await demo.ask(model, user("hello"))).blocks.usage
    assert usage is not None
    assert usage.input is not None
    assert usage.output is not None
    assert usage.thinking is not None
    assert 0 < usage.thinking < usage.output < (usage.total or 0) == usage.input + usage.output


@models
async def test_without_thinking_there_is_none(demo: Demo, model: str) -> None:
    outcome = await demo.ask(model, user("hello"), thinks=False)
    assert (outcome.error, outcome.thinking, outcome.text.startswith("## Welcome")) == (None, "", True)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("hello", "`demo/responses`"),
        ("show me markdown with a table and code", "```python"),
        ("think about it", "stripFromContext"),
        ("how full is the context?", "/compress"),
        ("how do I set a key?", "ponder auth set"),
        ("what about errors", "`error 429`"),
        ("list the files", "no tools were offered"),
        ("fix the bug", "no tools were offered"),
    ],
)
async def test_the_words_choose_the_page(demo: Demo, words: str, part: str) -> None:
    assert part in (await demo.ask("fast", user(words), tools=False)).text


@pytest.mark.one_in(5)
@models
@pytest.mark.parametrize(
    ("words", "kind", "retryable"),
    [
        ("error 429", ErrorKind.RATE_LIMIT, True),
        ("error hours", ErrorKind.RATE_LIMIT, True),
        ("error quota", ErrorKind.BILLING, False),
        ("error 500", ErrorKind.SERVER, True),
        ("error 401", ErrorKind.AUTH, False),
        ("error 400", ErrorKind.INVALID_REQUEST, False),
        ("error overflow", ErrorKind.CONTEXT_OVERFLOW, False),
        ("error overloaded", ErrorKind.OVERLOADED, True),
        ("cut", ErrorKind.TRUNCATED, True),
    ],
)
async def test_trouble_comes_when_it_is_asked_for(
    demo: Demo, model: str, words: str, kind: ErrorKind, retryable: bool
) -> None:
    outcome = await demo.ask(model, user(words))
    assert outcome.error is not None
    assert (outcome.error.kind, outcome.error.retryable) == (kind, retryable)


@pytest.mark.parametrize("words", ["error 429", "error overloaded", "cut", "error 500"])
async def test_the_second_attempt_works_and_the_trouble_can_be_had_again(demo: Demo, words: str) -> None:
    outcomes = [await demo.ask("fast", user(words)) for _ in range(3)]
    assert [outcome.error is None for outcome in outcomes] == [False, True, False]
    assert "as you asked" in outcomes[1].text


async def test_a_summary_and_a_title_can_be_had(demo: Demo) -> None:
    summary = await demo.ask("fast", user("Summarise the conversation so far."), tools=False)
    title = await demo.ask(
        "fast", user("Give this conversation a title of at most five words: " + "x" * 80), tools=False
    )
    assert (summary.text.splitlines()[0], title.text) == (
        "The user explored the demo. Said so far:",
        "A walk through ponder",
    )


def test_the_pace_is_that_of_the_model_and_can_be_set(tmp_path: Path) -> None:
    async def seconds(model: str, speed: float) -> float:
        demo = Demo(tmp_path, speed)
        began = asyncio.get_running_loop().time()
        await demo.ask(model, user("hello"))
        taken = asyncio.get_running_loop().time() - began
        await demo.backend.aclose()
        return taken

    usual = virtually(seconds("demo", 1.0))
    assert usual > 2 * virtually(seconds("fast", 1.0))
    assert virtually(seconds("demo", 0.5)) == pytest.approx(usual / 2)


def test_every_model_of_the_demo_says_that_it_is_none() -> None:
    facts = list(CATALOG.models("demo"))
    assert sorted(fact.id for fact in facts) == sorted(MODELS)
    assert all("demonstration" in fact.notes[0] for fact in facts)


def test_a_long_prompt_is_answered_at_once_whatever_it_is() -> None:
    for pasted in ("a" * 3_000_000, "list " * 600_000, "a/" * 1_500_000):
        asked = ParsedRequest(prompts=(pasted,), system="", tools={"list_dir": {}}, results=(), thinks=True)
        began = time.process_time()
        script_for(asked, attempt=1)
        assert time.process_time() - began < 5  # quadratic searches took minutes
