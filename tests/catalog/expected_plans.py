"""Every model of the tables, and the fields that none, low, med and high must become on its wire."""

from __future__ import annotations

from tests.catalog.wire_fields import (
    Fields,
    adaptive,
    bound,
    claude_budget,
    deepseek,
    effort,
    gemini_budget,
    glm,
    grok,
    level,
    openrouter,
    qwen,
    responses,
    split,
    thinking,
)

Row = tuple[Fields, ...]

ALWAYS_BOUND: Row = (bound("low"), bound("low"), bound("medium"), bound("high"))
ALWAYS_ADAPTIVE: Row = (adaptive("low"), adaptive("low"), adaptive("medium"), adaptive("high"))
ADAPTIVE: Row = (thinking("disabled"), adaptive("low"), adaptive("medium"), adaptive("high"))
CLAUDE_64K: Row = (thinking("disabled"), claude_budget(22_016), claude_budget(43_008), claude_budget(59_904))
CLAUDE_32K: Row = (thinking("disabled"), claude_budget(11_349), claude_budget(21_674), claude_budget(32_000))
NONE_TO_HIGH: Row = (responses("none"), responses("low"), responses("medium"), responses("high"))
LOW_TO_HIGH: Row = (responses("low"), responses("low"), responses("medium"), responses("high"))
MINIMAL_TO_HIGH: Row = (responses("minimal"), responses("low"), responses("medium"), responses("high"))
MEDIUM_TO_HIGH: Row = (responses("medium"), responses("medium"), responses("medium"), responses("high"))
HIGH_ONLY: Row = (responses("high"), responses("high"), responses("high"), responses("high"))
GEMINI_3: Row = (level("LOW"), level("LOW"), level("MEDIUM"), level("HIGH"))
GEMINI_3_MINIMAL: Row = (level("MINIMAL"), level("LOW"), level("MEDIUM"), level("HIGH"))
GROK: Row = (grok("low"), grok("low"), grok("medium"), grok("high"))
DEEPSEEK: Row = (thinking("disabled"), deepseek("low"), deepseek("high"), deepseek("max"))
KIMI_3: Row = (effort("low"), effort("low"), effort("high"), effort("max"))
TOGGLE: Row = (thinking("disabled"), thinking("enabled"), thinking("enabled"), thinking("enabled"))
SPLIT: Row = (split(), split(), split(), split())
NOTHING: Row = ({}, {}, {}, {})
QWEN: Row = ({"enable_thinking": False}, qwen(thinking_budget=21_845), qwen(thinking_budget=43_690), qwen())
QWEN_TOGGLE: Row = ({"enable_thinking": False}, qwen(), qwen(), qwen())
QWEN_38: Row = tuple(qwen(preserve_thinking=True, **effort(word)) for word in ("low", "low", "medium", "xhigh"))
GLM_53: Row = (glm("low"), glm("low"), glm("high"), glm("max"))
MISTRAL: Row = (effort("none"), effort("high"), effort("high"), effort("high"))
MINIMAX_EFFORT: Row = tuple(
    thinking("adaptive", output_config={"effort": word}) for word in ("low", "low", "medium", "high")
)


def enabled(tokens: int) -> Fields:
    return {"thinking": {"type": "enabled", "budget_tokens": tokens}}


def words(*sent: str, **more: object) -> Row:
    return tuple(effort(word, **more) for word in sent)


PLANS: dict[str, Row] = {
    "anthropic/claude-fable-5-2": ALWAYS_BOUND,
    "anthropic/claude-fable-5-1": ALWAYS_BOUND,
    "anthropic/claude-fable-5": ALWAYS_ADAPTIVE,
    "anthropic/claude-mythos-5": ALWAYS_ADAPTIVE,
    "anthropic/claude-mythos-5-1": ALWAYS_BOUND,
    "anthropic/claude-mythos-5-2": ALWAYS_BOUND,
    "anthropic/claude-opus-5-5": ALWAYS_BOUND,
    "anthropic/claude-opus-5": ADAPTIVE,
    "anthropic/claude-sonnet-5-5": (thinking("between_tools"), bound("low"), bound("medium"), bound("high")),
    "anthropic/claude-sonnet-5": ADAPTIVE,
    "anthropic/claude-haiku-5-5": (thinking("disabled"), bound("low"), bound("medium"), bound("high")),
    "anthropic/claude-opus-4-8": ADAPTIVE,
    "anthropic/claude-opus-4-7": ADAPTIVE,
    "anthropic/claude-opus-4-6": ADAPTIVE,
    "anthropic/claude-sonnet-4-6": ADAPTIVE,
    "anthropic/claude-opus-4-5": CLAUDE_64K,
    "anthropic/claude-opus-4-5-20251101": CLAUDE_64K,
    "anthropic/claude-sonnet-4-5": CLAUDE_64K,
    "anthropic/claude-sonnet-4-5-20250929": CLAUDE_64K,
    "anthropic/claude-haiku-4-5": CLAUDE_32K,
    "anthropic/claude-haiku-4-5-20251001": CLAUDE_32K,
    "anthropic/claude-3-7-sonnet": CLAUDE_32K,
    "anthropic/claude-sonnet-4-20250514": CLAUDE_64K,
    "openai/gpt-6-astra": LOW_TO_HIGH,
    "openai/gpt-6.1-sol": LOW_TO_HIGH,
    "openai/gpt-6.1-terra": NONE_TO_HIGH,
    "openai/gpt-6-sol": NONE_TO_HIGH,
    "openai/gpt-6-luna": NONE_TO_HIGH,
    "openai/gpt-5.6-sol": NONE_TO_HIGH,
    "openai/gpt-5.6-terra": NONE_TO_HIGH,
    "openai/gpt-5.6-luna": NONE_TO_HIGH,
    "openai/gpt-5.5": NONE_TO_HIGH,
    "openai/gpt-5.4": NONE_TO_HIGH,
    "openai/gpt-5.4-mini": NONE_TO_HIGH,
    "openai/gpt-5.4-nano": NONE_TO_HIGH,
    "openai/gpt-5.2": NONE_TO_HIGH,
    "openai/gpt-5.3-codex": NONE_TO_HIGH,
    "openai/gpt-5.1": NONE_TO_HIGH,
    "openai/gpt-5.2-pro": MEDIUM_TO_HIGH,
    "openai/gpt-5.4-pro": MEDIUM_TO_HIGH,
    "openai/gpt-5.5-pro": MEDIUM_TO_HIGH,
    "openai/gpt-5": MINIMAL_TO_HIGH,
    "openai/gpt-5-mini": MINIMAL_TO_HIGH,
    "openai/gpt-5-nano": MINIMAL_TO_HIGH,
    "openai/gpt-5-pro": HIGH_ONLY,
    "openai/o3": LOW_TO_HIGH,
    "openai/o3-pro": LOW_TO_HIGH,
    "openai/o4-mini": LOW_TO_HIGH,
    "openai/o1": (responses("medium"), responses("low"), responses("medium"), responses("high")),
    "openai/o3-mini": (responses("medium"), responses("low"), responses("medium"), responses("high")),
    "google/gemini-4-argon": GEMINI_3,
    "google/gemini-3.8-flash": GEMINI_3,
    "google/gemini-3.7-flash": GEMINI_3,
    "google/gemini-3.6-flash": GEMINI_3_MINIMAL,
    "google/gemini-3.5-flash": GEMINI_3_MINIMAL,
    "google/gemini-3.5-flash-lite": GEMINI_3_MINIMAL,
    "google/gemini-3.1-flash-lite": GEMINI_3_MINIMAL,
    "google/gemini-3.1-pro-preview": GEMINI_3,
    "google/gemini-3-flash-preview": GEMINI_3_MINIMAL,
    "google/gemini-3-pro-preview": (level("LOW"), level("LOW"), level("HIGH"), level("HIGH")),
    "google/gemini-2.5-pro": tuple(map(gemini_budget, (128, 11_008, 21_888, 32_768))),
    "google/gemini-2.5-flash": tuple(map(gemini_budget, (0, 8_192, 16_384, 24_576))),
    "google/gemini-2.5-flash-lite": tuple(map(gemini_budget, (0, 8_533, 16_554, 24_576))),
    "deepseek/deepseek-v4-pro": DEEPSEEK,
    "deepseek/deepseek-flash": DEEPSEEK,
    "deepseek/deepseek-v4-flash": DEEPSEEK,
    "deepseek/deepseek-reasoner": NOTHING,
    "deepseek/deepseek-chat": NOTHING,
    "moonshot/kimi-k3": KIMI_3,
    "moonshot/kimi-k3.1-pro": KIMI_3,
    "moonshot/kimi-k3.1-pro-highspeed": KIMI_3,
    "moonshot/kimi-k2.7-code": NOTHING,
    "moonshot/kimi-k2.7-code-highspeed": NOTHING,
    "moonshot/kimi-k2.6": TOGGLE,
    "moonshot/kimi-k2.5": TOGGLE,
    "moonshot/kimi-k2-thinking": NOTHING,
    "minimax/MiniMax-M3.1-Flash": MINIMAX_EFFORT,
    "minimax/MiniMax-M3": (
        split(**thinking("disabled")),
        *(split(**thinking("adaptive")) for _ in range(3)),
    ),
    "minimax/MiniMax-M2": SPLIT,
    "minimax/MiniMax-M2.1": SPLIT,
    "minimax/MiniMax-M2.5": SPLIT,
    "minimax/MiniMax-M2.7": SPLIT,
    "alibaba/qwen3.8-max": QWEN_38,
    "alibaba/qwen3.8-flash": QWEN_38,
    "alibaba/qwen3.7-max": QWEN,
    "alibaba/qwen3.7-plus": QWEN,
    "alibaba/qwen3.6-flash": QWEN,
    "alibaba/qwen3.5-397b-a17b": QWEN,
    "alibaba/qwen-plus": QWEN_TOGGLE,
    "alibaba/qwen3-max": QWEN_TOGGLE,
    "alibaba/qwen3-32b": QWEN_TOGGLE,
    "meta/muse-spark-1.3": MINIMAL_TO_HIGH,
    "meta/muse-spark-1.2": MINIMAL_TO_HIGH,
    "meta/muse-spark-1.1": MINIMAL_TO_HIGH,
    "xai/grok-4.7": GROK,
    "xai/grok-4.6": GROK,
    "xai/grok-4.5": GROK,
    "xai/grok-4.3": (grok("none"), grok("low"), grok("medium"), grok("high")),
    "xai/grok-4.20-reasoning": NOTHING,
    "zai/glm-5.3": GLM_53,
    "zai/glm-5.3-flash": GLM_53,
    "zai/glm-5.3-highspeed": GLM_53,
    "zai/glm-5.2": (thinking("disabled"), glm("high"), glm("high"), glm("max")),
    "zai/glm-5.1": TOGGLE,
    "zai/glm-5": TOGGLE,
    "zai/glm-5-turbo": TOGGLE,
    "zai/glm-4.7": TOGGLE,
    "zai/glm-4.6": TOGGLE,
    "mistral/mistral-large-4": words("low", "low", "medium", "high"),
    "mistral/mistral-medium-3.5": MISTRAL,
    "mistral/mistral-small-2603": MISTRAL,
    "mistral/magistral-medium-latest": tuple({"prompt_mode": "reasoning"} for _ in range(4)),
    "groq/openai/gpt-oss-120b": words("low", "low", "medium", "high", include_reasoning=True),
    "groq/openai/gpt-oss-20b": words("low", "low", "medium", "high", include_reasoning=True),
    "groq/qwen/qwen3.8-27b": (
        effort("none"),
        *words("low", "medium", "high", reasoning_format="parsed"),
    ),
    "cerebras/gpt-oss-120b": words("low", "low", "medium", "high", reasoning_format="parsed"),
    "cerebras/qwen-3.8-27b": (
        effort("none"),
        *words("low", "medium", "high", reasoning_format="parsed"),
    ),
    "ollama/gpt-oss:20b": tuple({"think": word} for word in ("low", "low", "medium", "high")),
    "ollama/qwen3:8b": tuple({"think": on} for on in (False, True, True, True)),
    "openrouter/anthropic/claude-opus-5.5": tuple(openrouter(effort=word) for word in ("low", "low", "medium", "high")),
    "openrouter/anthropic/claude-sonnet-4.5": (
        {"reasoning": {"effort": "none"}},
        *(openrouter(max_tokens=tokens) for tokens in (22_016, 43_008, 59_904)),
    ),
    "openrouter/google/gemini-3.1-pro-preview": tuple(
        openrouter(effort=word) for word in ("low", "low", "medium", "high")
    ),
    "openrouter/moonshotai/kimi-k2.6": (
        {"reasoning": {"effort": "none"}},
        *(openrouter() for _ in range(3)),
    ),
    "openrouter/minimax/minimax-m2": NOTHING,
    "litellm-proxy/anthropic/claude-sonnet-4.5": (
        thinking("disabled"),
        *(enabled(tokens) for tokens in (22_016, 43_008, 59_904)),
    ),
    "litellm-proxy/gemini/gemini-3.1-pro-preview": words("low", "low", "medium", "high"),
    "llama.cpp/unsloth/Qwen3-4B-GGUF": tuple(
        {"chat_template_kwargs": {"enable_thinking": on}} for on in (False, True, True, True)
    ),
    "vllm/Qwen/Qwen3.5-9B": tuple(
        {"chat_template_kwargs": {"enable_thinking": on}} for on in (False, True, True, True)
    ),
    "vllm/openai/gpt-oss-120b": words("low", "low", "medium", "high"),
    "lmstudio/qwen/qwen3-8b": (effort("none"), {}, {}, {}),
}
"""Model → fields for none, low, med, high."""
