"""A key that is missing: what to do is said, what there is instead is named, and nothing is chosen unasked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.stage import house
from tests.faultserver.server import FaultServer
from tui.app.current_session import DEMO
from tui.domain.errors import ErrorKind, ProviderError
from tui.domain.events import TurnFailed

KEY = "sk-0123456789abcdef0123456789"


async def failure(h, text: str = "Hello") -> ProviderError:
    error = next(event.error for event in await h.say(text) if isinstance(event, TurnFailed))
    assert isinstance(error, ProviderError)
    return error


@pytest.mark.parametrize(
    ("model", "environment", "advice"),
    [
        (
            "anthropic/claude-opus-5/high",
            {"OPENROUTER_API_KEY": KEY},
            (
                "Set it with `/key anthropic`, or put it into `ANTHROPIC_API_KEY`. Create a key at "
                "https://platform.claude.com/settings/keys. Or ask through OpenRouter, whose key was found: "
                "`/model openrouter/anthropic/claude-opus-5`, or with thinking off: "
                "`/model openrouter/anthropic/claude-opus-5/none`."
            ),
        ),
        (
            "deepseek/deepseek-v4-pro/high",
            {"OPENAI_API_KEY": KEY},
            (
                "Set it with `/key deepseek`, or put it into `DEEPSEEK_API_KEY`. Create a key at "
                "https://platform.deepseek.com/api_keys. Or choose another model: `/model`."
            ),
        ),
    ],
)
async def test_a_turn_without_a_key_fails_with_the_choices(
    tmp_path: Path, model: str, environment: dict[str, str], advice: str
) -> None:
    async with house(tmp_path, model=model, environment=environment) as h:
        error = await failure(h)
        assert (error.kind, error.advice) == (ErrorKind.NO_KEY, advice)
        assert str(h.current.spec) == model


async def test_a_refused_key_says_how_another_is_set(tmp_path: Path) -> None:
    refusal = {"status": 401, "json": {"error": {"type": "authentication_error", "message": "invalid x-api-key"}}}
    model, environment = "anthropic/claude-opus-5/high", {"ANTHROPIC_API_KEY": KEY}
    async with FaultServer([[refusal]] * 3) as server, house(tmp_path, model=model, environment=environment) as h:
        h.program.planner.catalog = h.program.catalog.with_base_url("anthropic", server.url)
        await h.services.models.set_model(model)
        error = await failure(h)
    assert error.kind is ErrorKind.AUTH
    assert "The key was refused: `/key anthropic` sets another." in error.advice
    assert KEY not in error.advice


async def test_the_first_key_makes_its_provider_answer_in_the_demos_place(tmp_path: Path) -> None:
    async with house(tmp_path, model=None) as h:
        assert h.current.spec.model == DEMO.model
        said = await h.services.keys.save_key("anthropic", KEY, keep=False)
        assert said.endswith("Anthropic answers from now on.")
        assert h.current.spec.provider == "anthropic"


async def test_a_key_changes_nothing_for_a_model_that_was_chosen(tmp_path: Path) -> None:
    async with house(tmp_path) as h:
        await h.services.keys.save_key("anthropic", KEY, keep=False)
        assert h.current.spec.provider == "demo"
