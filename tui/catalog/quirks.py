"""Differences between servers of one wire, one field each. They are set by data, so no code tests for names.

Every field has a test with it on and one with it off.
"""

from __future__ import annotations

from collections.abc import Mapping

from tui.domain.fast_dataclass import dataclass

WORDS: Mapping[str, tuple[str, ...]] = {
    "thinking_back": (
        *("none", "as_received", "reasoning_content", "reasoning", "reasoning_text", "reasoning_details"),
        *("think_tags", "content_chunks"),
    ),
    "think_tags": ("auto", "always", "forced_open", "never"),
    "system_role": ("system", "developer"),
    "tool_id": ("any", "nine_alnum", "forty"),
    "plain_reasoning": ("none", "content", "any"),
}
"""Accepted words of fields that are words. An error message for a wrong word lists them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quirks:
    """The quirks of all wires. The defaults are the behaviour of the wire's original provider."""

    # Chat Completions and Responses: order of messages
    merge_same_role: bool = False
    """Consecutive messages of one role are sent as one, and the first one is the user's: chat templates of open
    models raise an error where roles do not alternate."""
    assistant_after_tool: bool = False
    """An assistant message is put between tool results and the user (Mistral, chat templates of open models)."""

    # Chat Completions: thinking in the stream
    thinking_in: tuple[str, ...] = ("reasoning_content", "reasoning", "reasoning_text", "thinking")
    """Delta fields that contain thinking. The first non-empty one is used."""
    think_tags: str = "auto"
    """Inline tags: ``auto`` (only when the answer opens with one), ``always``, ``forced_open`` (the prompt opened
    the block, so only the closing tag comes), ``never``."""
    details_in: bool = True
    """Read ``reasoning_details``."""

    # Chat Completions: thinking sent back
    thinking_back: str = "none"
    """none, as_received (in the field it came in: servers nobody described),
    reasoning_content, reasoning, reasoning_text (with ``reasoning_opaque``: GitHub Copilot),
    reasoning_details (the array as received, plus ``reasoning`` where that came too; ``reasoning`` alone without
    an array), think_tags (in the content), content_chunks (Mistral)."""
    thinking_back_empty: bool = False
    """Send the field on every assistant message, even without thinking."""
    empty_thinking: str = ""
    """Value of the field if there was no thinking: Kimi K2.5 and K2.6 refuse "" and accept a blank."""
    tools_keep_thinking: bool = False
    """Send thinking of finished turns that called tools despite the settings: routers forward it to providers that
    refuse the calls without it (OpenRouter)."""

    # Chat Completions: body
    max_tokens_name: str = "max_tokens"
    system_role: str = "system"
    """``developer`` for OpenAI's reasoning models."""
    usage_option: bool = True
    """Ask for usage with ``stream_options.include_usage``."""
    store_false: bool = False
    """Send ``store: false``."""
    cache_key_field: str = ""
    """Body field for the conversation's id, for prompt caches that use one (``prompt_cache_key`` at OpenAI)."""
    content_never_null: bool = False
    """Send "" instead of null as assistant content beside tool calls."""
    tool_id: str = "any"
    """``any``, ``nine_alnum`` (Mistral), ``forty`` (at most 40 characters)."""
    tool_images: bool = False
    """Tool results may contain images."""
    drop_sampling_when_thinking: bool = False
    """temperature and top_p are refused or fixed if thinking is on."""
    never_sampling: bool = False
    """temperature and top_p are always refused."""

    # Responses
    include_encrypted: bool = True
    """Ask for ``reasoning.encrypted_content``."""
    item_ids: bool = True
    """Item ids may be sent back with their items."""
    plain_reasoning: str = "none"
    """Which reasoning items are sent back that have no encrypted content: ``none`` (OpenAI stores nothing and answers
    404), ``content`` (those with the reasoning itself: open models), ``any`` (those with a summary too: xAI)."""

    # Anthropic
    version: str = "2026-10-21"
    """The ``anthropic-version`` header."""
    forbids_sampling: bool = True
    """Sampling fields are refused at this version."""
    empty_signatures: bool = False
    """Thinking blocks may have an empty signature, received and sent (MiniMax)."""

    # Gemini
    skip_signature: str = "skip_thought_signature_validator"
    """Placeholder for the signature that calls of other models lack."""

    usage_merged: bool = True
    """Counts that are missing in a later usage event keep their earlier value. Off for analysing recordings."""

    # Ollama
    send_num_ctx: bool = True
    """Send ``options.num_ctx``. Without it the server truncates silently."""
