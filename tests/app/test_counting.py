"""``/tokens exact``: the providers that count are asked as they want to be, the others not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.app.stage import house
from tests.faultserver.server import FaultServer
from tui.domain.blocks import TextBlock
from tui.domain.errors import ErrorKind, ProviderError, UsageError
from tui.domain.messages import Message, Role, Turn
from tui.domain.usage import Certainty

KEYS = dict.fromkeys(
    ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "DEEPSEEK_API_KEY"), "sk-0123456789abcdef0123456789"
)
COUNTING = {
    "anthropic/claude-opus-5/high": ("/v1/messages/count_tokens", {"input_tokens": 1234}, ("messages", "thinking")),
    "openai/gpt-5.6-sol/high": ("/responses/input_tokens", {"input_tokens": 1234}, ("input", "reasoning")),
    "llama.cpp/qwen3/16k": (
        "/chat/completions/input_tokens",
        {"input_tokens": 1234},
        ("messages", "reasoning_budget_tokens"),
    ),
    "google/gemini-3.8-flash/high": (
        "/models/gemini-3.8-flash:countTokens",
        {"totalTokens": 1234},
        ("generateContentRequest",),
    ),
}


async def counted(tmp_path: Path, model: str, script: list[dict[str, Any]]):
    provider = model.partition("/")[0]
    async with FaultServer([script]) as server, house(tmp_path, model=None, environment=KEYS) as h:
        h.program.planner.catalog = h.program.catalog.with_base_url(provider, server.url)
        await h.services.models.set_model(model)
        await h.services.settings.assign("generation.system", "Be brief.")
        asked = Turn(
            id="t", messages=(Message(id="u", role=Role.USER, blocks=(TextBlock(text="How many tokens is this?"),)),)
        )
        h.current.session._conversation.turns = (asked,)
        return await h.services.chat.count_exactly(), server.seen


async def test_after_an_exact_count_the_meter_says_that_number_until_something_is_added(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        await h.say("Why is the sky blue?")
        exact = await h.services.chat.count_exactly()
        counted, typing = await h.meter(), await h.meter("And why red at dusk?")
        assert (counted.effective, counted.certainty) == (exact, Certainty.REPORTED)
        assert typing.effective > counted.effective
        assert typing.certainty is Certainty.ESTIMATED
        assert h.view().meter == counted


@pytest.mark.parametrize("model", COUNTING)
async def test_a_provider_that_counts_is_asked_with_what_would_be_sent(tmp_path: Path, model: str) -> None:
    path, answer, fields = COUNTING[model]
    count, [seen] = await counted(tmp_path, model, [{"status": 200, "json": answer}])
    assert (count, seen.method, seen.path.partition("?")[0]) == (1234, "POST", path)
    assert all(field in seen.json for field in fields)
    assert not {"stream", "max_tokens", "max_output_tokens"} & set(seen.json)
    assert "Be brief." in seen.body.decode()


async def test_before_the_first_prompt_there_is_nothing_to_count(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        with pytest.raises(UsageError, match="nothing to count"):
            await h.services.chat.count_exactly()


async def test_nobody_else_is_asked(tmp_path: Path) -> None:
    count, seen = await counted(tmp_path, "deepseek/deepseek-v4-pro/high", [{"status": 500, "json": {}}])
    assert (count, seen) == (None, [])


@pytest.mark.parametrize("model", COUNTING)
async def test_a_refused_count_is_an_error_with_its_reason(tmp_path: Path, model: str) -> None:
    body = {"error": {"type": "authentication_error", "message": "invalid key", "status": "UNAUTHENTICATED"}}
    with pytest.raises(ProviderError) as problem:
        await counted(tmp_path, model, [{"status": 401, "json": body}])
    assert problem.value.kind is ErrorKind.AUTH


@pytest.mark.parametrize("model", COUNTING)
async def test_an_answer_without_a_number_is_none(tmp_path: Path, model: str) -> None:
    count, _ = await counted(tmp_path, model, [{"status": 200, "json": {"unexpected": True}}])
    assert count is None
