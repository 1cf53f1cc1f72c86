from __future__ import annotations

import pytest

from tests.catalog.asking import CATALOG, facts_of, planned
from tui.domain.thinking import PlanState, ThinkingLevel


@pytest.mark.parametrize(
    ("name", "efforts"),
    [
        ("openai/o3", ("low", "medium", "high")),
        ("openai/o3-2025-04-16", ("low", "medium", "high")),
        ("openai/gpt-5", ("minimal", "low", "medium", "high")),
        ("openai/gpt-5-2025-08-07", ("minimal", "low", "medium", "high")),
        ("openai/gpt-5-mini-2025-08-07", ("minimal", "low", "medium", "high")),
        ("openai/gpt-5-pro", ("high",)),
        ("openai/gpt-5-pro-2025-10-06", ("high",)),
        ("openai/gpt-5.1", ("none", "low", "medium", "high")),
        ("openai/gpt-5.1-2025-11-13", ("none", "low", "medium", "high")),
        ("openai/gpt-5-chat-latest", ()),
        ("openai/gpt-5.5-pro", ("medium", "high", "xhigh")),
    ],
)
def test_a_longer_name_is_not_the_shorter_ones(name: str, efforts: tuple[str, ...]) -> None:
    facts = facts_of(name)
    assert (facts.known, facts.controls.efforts) == (True, efforts)


def test_o3_mini_is_not_o3_and_flash_lite_is_not_flash() -> None:
    assert planned("openai/o3-mini", ThinkingLevel.NONE).sent == "medium"
    assert planned("openai/o3", ThinkingLevel.NONE).sent == "low"
    assert planned("google/gemini-2.5-flash-lite", ThinkingLevel.LOW).sent == 8_533
    assert planned("google/gemini-2.5-flash-lite-preview-09-2025", ThinkingLevel.LOW).sent == 8_533
    assert planned("google/gemini-2.5-flash", ThinkingLevel.LOW).sent == 8_192


@pytest.mark.parametrize(
    "name",
    [
        "openai/gpt-5.7",
        "openai/gpt-5.5.1",
        "openai/xgpt-5",
        "openai/gpt-50",
        "anthropic/claude-opus-5-7",
        "anthropic/claude-sonnet-4-9",
        "google/gemini-3.9-pro",
        "moonshot/kimi-k2.8",
        "xai/grok-4.1-fast",
        "groq/moonshotai/kimi-k2-instruct",
        "llama.cpp/some-model",
    ],
)
def test_another_version_is_another_model(name: str) -> None:
    assert not facts_of(name).known


def test_a_size_is_not_a_version() -> None:
    assert facts_of("vllm/Qwen/Qwen3-1.7B-Q4_K_M").known
    assert facts_of("ollama/qwen3:4b").known


def test_unknown_claudes_get_adaptive_thinking_and_never_a_budget() -> None:
    made = planned("anthropic/claude-saga-7", ThinkingLevel.HIGH)
    assert made.fields == {
        "thinking": {"type": "adaptive", "display": "summarized"},
        "output_config": {"effort": "high"},
    }
    assert planned("anthropic/claude-saga-7", ThinkingLevel.NONE).state is PlanState.CANNOT_DISABLE


@pytest.mark.parametrize(
    "name", ["openai/gpt-9", "xai/grok-9", "mistral/mistral-huge", "deepseek/deepseek-v9", "ollama/llama3"]
)
def test_for_unknown_models_nothing_is_sent(name: str) -> None:
    assert [planned(name, asked).fields for asked in (*ThinkingLevel, 16_000)] == [{}] * 5


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("gemini-2.5-ultra", {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}}),
        ("gemini-3.9-pro", {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}}),
        ("gemini-4-krypton", {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}}),
        ("gemini-2.0-flash", {}),
        ("gemini-2.5-flash-image", {}),
        ("gemini-3-pro-image-preview", {}),
        ("gemini-2.5-flash-preview-tts", {}),
        ("gemma-3-27b-it", {}),
        ("learnlm-2.0", {}),
    ],
)
def test_only_thinking_geminis_are_asked_for_their_thoughts(name: str, fields: object) -> None:
    assert planned(f"google/{name}", ThinkingLevel.HIGH).fields == fields


def test_ollama_models_that_do_not_think_are_not_asked_to() -> None:
    assert planned("ollama/qwen3-coder:30b", ThinkingLevel.HIGH).fields == {}


@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        ("minimax/minimax-m2", "MiniMax-M2"),
        ("google/gemini-3.1-pro", "gemini-3.1-pro-preview"),
        ("anthropic/claude-opus-4.5", "claude-opus-4-5"),
        ("anthropic/claude-opus-4-5-latest", "claude-opus-4-5"),
        ("openai/gpt-5-chat-latest", "gpt-5-chat-latest"),
        ("mistral/mistral-medium-latest", "mistral-medium-latest"),
        ("anthropic/claude-sonnet-4-5-20250929", "claude-sonnet-4-5-20250929"),
        ("openrouter/anthropic/claude-opus-5.5", "anthropic/claude-opus-5.5"),
        ("openrouter/anthropic/claude-opus-5.5:nitro", "anthropic/claude-opus-5.5:nitro"),
    ],
)
def test_the_id_that_is_sent_is_the_providers_own(typed: str, sent: str) -> None:
    assert facts_of(typed).id == sent


def test_resold_models_keep_the_makers_facts_but_not_its_wire() -> None:
    at_maker, resold = facts_of("anthropic/claude-sonnet-5-5"), facts_of("openrouter/anthropic/claude-sonnet-5.5")
    assert (resold.context_window, resold.max_output, resold.family) == (1_000_000, at_maker.max_output, "claude")
    assert (resold.wire.value, resold.spelling, resold.bound) == ("openai-chat", "openrouter", False)
    assert resold.provenance["context_window"] == "packaged: models/anthropic.toml"
    assert resold.provenance["spelling"] == "packaged: providers.toml"


def test_minimax_m3_1_speaks_another_wire_at_another_address() -> None:
    facts, minimax = facts_of("minimax/MiniMax-M3.1-Flash"), CATALOG.provider("minimax")
    assert minimax.base_url_for(facts.wire) == "https://api.minimax.io/anthropic"
    assert minimax.base_url_for(facts_of("minimax/MiniMax-M3").wire) == "https://api.minimax.io/v1"
