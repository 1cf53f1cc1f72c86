"""A server that refuses to be asked for caching is asked once more without, and remembered."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.app.stage import config, house
from tests.faultserver.player import Step
from tests.faultserver.server import FaultServer
from tui.domain.events import Notice, TurnFinished

ANSWER: list[Step] = [{"say": "text", "text": "Because."}, {"end": True}]
KEYS = {
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "alibaba": "DASHSCOPE_API_KEY",
}
WIRES = {
    "anthropic": "anthropic",
    "openai": "openai-responses",
    "openrouter": "chat-openrouter",
    "alibaba": "openai-chat",
}
CLAUDE_REFUSES = {
    "type": "error",
    "error": {"type": "invalid_request_error", "message": "cache_control: Extra inputs are not permitted"},
}
ROUTED = (
    '{"type":"error","error":{"type":"invalid_request_error",'
    '"message":"messages.0.content.0.cache_control: Extra inputs are not permitted"}}'
)
REFUSALS: dict[str, tuple[str, str, Mapping[str, object]]] = {
    "claude": ("anthropic/claude-opus-5", "cache_control", CLAUDE_REFUSES),
    "claude, of a lifetime": (
        "anthropic/claude-opus-5",
        "cache_control",
        {
            "type": "error",
            "error": {"type": "invalid_request_error", "message": "cache_control.ttl: Input is not '5m'"},
        },
    ),
    "claude, in words": (
        "anthropic/claude-opus-5",
        "cache_control",
        {"error": {"type": "invalid_request_error", "message": "This model does not support prompt caching."}},
    ),
    "openrouter": (
        "openrouter/anthropic/claude-opus-5",
        "cache_control",
        {
            "error": {
                "message": "Provider returned error",
                "code": 400,
                "metadata": {"raw": ROUTED, "provider_name": "Elsewhere"},
            },
            "user_id": "u",
        },
    ),
    "openrouter, by a path": (
        "openrouter/anthropic/claude-opus-5",
        "cache_control",
        {"error": {"message": "Unrecognized key: 'messages[0].content[0].cache_control'", "code": 400}},
    ),
    "qwen": (
        "alibaba/qwen-plus",
        "cache_control",
        {"error": {"message": "Invalid value: cache_control", "type": "invalid_request_error", "code": "400"}},
    ),
    "openai": (
        "openai/gpt-6-sol",
        "prompt_cache_options",
        {
            "error": {
                "message": "Unknown parameter: 'prompt_cache_options'.",
                "type": "invalid_request_error",
                "param": "prompt_cache_options",
                "code": "unknown_parameter",
            }
        },
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
async def test_it_is_asked_once_more_without_and_remembered(case: str, tmp_path: Path) -> None:
    model, name, error = REFUSALS[case]
    provider = model.partition("/")[0]
    scripts: list[list[Step]] = [[{"status": 400, "json": error}], ANSWER]
    async with FaultServer(scripts, wire=WIRES[provider], honest=True) as server:
        config(tmp_path, f'[providers.{provider}]\nbase_url = "{server.url}"\n')
        started = {"model": f"{model}/low", "environment": {KEYS[provider]: "sk-test-0123456789abcdef"}}
        async with house(tmp_path, **started) as h:  # type: ignore[arg-type]  # the keywords differ in type
            heard = await h.say("Why?")
            assert isinstance(heard[-1], TurnFinished)
            assert f"`{name}` is not supported here: sent without it." in [
                event.text for event in heard if isinstance(event, Notice)
            ]
            await h.say("And?")
        async with house(tmp_path, **started) as h:  # type: ignore[arg-type]
            assert isinstance((await h.say("Again?"))[-1], TurnFinished)
        asked = [name.encode() in seen.body for seen in server.seen if seen.method == "POST"]
    assert asked == [True, False, False, False]
