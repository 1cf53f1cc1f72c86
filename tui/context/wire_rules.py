"""What each wire accepts in a history, as data, so that no code tests for the name of a wire."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Literal, assert_never

from tui.catalog.facts import Quirks
from tui.domain.blocks import ThinkingBlock
from tui.domain.fast_dataclass import dataclass
from tui.domain.messages import WireName
from tui.domain.request import ChatRequest, Outgoing
from tui.domain.thinking import ThinkingForm

ThinkingNeeds = Literal["signature", "encrypted", "text_or_signature", "text", "as_quirks_say"]
"""What a thinking block must have to be encoded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WireRules:
    """The requirements of one wire on a history."""

    thinking_needs: ThinkingNeeds
    signed_empty_text: bool = False
    """An empty text with a signature is sent as a part."""
    opaque: bool = False
    """Opaque items of this wire can be sent back."""
    opaque_refused: frozenset[str] = frozenset()
    """Opaque items that are not sent back, by type or by the name of the server's tool."""
    off_drops_thinking: bool = False
    """If thinking is off, no thinking of the history is sent."""
    trailing_thinking: bool = False
    """Thinking may be the last block of a message, because it is a field and not an item of a list."""
    blank_text: bool = True
    """Text of only white space is accepted."""
    budget_leads_calls: bool = False
    """With a thinking budget, the open tool loop must start with thinking."""
    ids_need_thinking: bool = False
    """An item's id must not be sent without the thinking item before it."""
    calls_last: bool = False
    """A message that calls tools must end with a call."""
    flatten_without_tools: bool = False
    """A request without tools must not have tool calls in its history."""
    starts_with_user: bool = False
    joins_answers: bool = False
    """Two answers in a row can be encoded as one message."""
    pauses: bool = False
    """The provider may ask for its own unfinished message back as the last one."""
    prefill: bool = False
    """The history may end with an assistant message."""
    assistant_images: bool = False
    documents: bool = True
    """The format has a place for PDFs."""
    image_urls: bool = True
    result_images: bool = False
    failed_result_images: bool = False


NEVER_SENT_BACK = frozenset({"groundingMetadata"})
"""Gemini says this about an answer; it is no part of the answer."""
ONLY_WITH_BETAS = frozenset(
    {"advisor", "advisor_tool_result", "compaction", "fallback", "mcp_tool_use", "mcp_tool_result", "mcp_tool_listing"}
)
"""Anthropic accepts these only with beta headers that ponder never sends."""

_ANTHROPIC = WireRules(
    thinking_needs="signature",
    opaque=True,
    opaque_refused=ONLY_WITH_BETAS,
    off_drops_thinking=True,
    blank_text=False,
    budget_leads_calls=True,
    calls_last=True,
    pauses=True,
    flatten_without_tools=True,
    starts_with_user=True,
    result_images=True,
)
_RESPONSES = WireRules(
    thinking_needs="encrypted",
    opaque=True,
    off_drops_thinking=True,
    ids_need_thinking=True,
    prefill=True,
    result_images=True,
    failed_result_images=True,
)
_CHAT = WireRules(
    thinking_needs="as_quirks_say",
    joins_answers=True,
    trailing_thinking=True,
    flatten_without_tools=True,
    starts_with_user=True,
)
_GEMINI = WireRules(
    thinking_needs="text_or_signature",
    signed_empty_text=True,
    opaque=True,
    opaque_refused=NEVER_SENT_BACK,
    trailing_thinking=True,
    starts_with_user=True,
    assistant_images=True,
    image_urls=False,
)
_OLLAMA = WireRules(
    thinking_needs="text",
    trailing_thinking=True,
    flatten_without_tools=True,
    image_urls=False,
    documents=False,
)

RULES: Mapping[WireName, WireRules] = {
    WireName.ANTHROPIC: _ANTHROPIC,
    WireName.OPENAI_RESPONSES: _RESPONSES,
    WireName.OPENAI_CHAT: _CHAT,
    WireName.GEMINI: _GEMINI,
    WireName.OLLAMA: _OLLAMA,
}


def can_carry(block: ThinkingBlock, wire: WireRules, quirks: Quirks) -> bool:
    """Return whether a block and its provider state can be encoded on this wire."""
    provider_state = block.provider_state
    match wire.thinking_needs:
        case "signature":
            return bool(provider_state and (provider_state.signature or provider_state.encrypted)) or (
                quirks.empty_signatures and bool(block.text)
            )
        case "encrypted":
            return bool(provider_state and (provider_state.encrypted or _readable_item(block, quirks)))
        case "text_or_signature":
            return bool(block.text or (provider_state and provider_state.signature))
        case "text":
            return bool(block.text)
        case "as_quirks_say":
            in_details = quirks.thinking_back in ("reasoning_details", "as_received")
            has_details = in_details and bool(provider_state and provider_state.raw)
            if quirks.thinking_back == "as_received" and block.wire_field in (None, "think_tags"):
                return has_details
            return quirks.thinking_back != "none" and (bool(block.text) or has_details)
        case _:
            assert_never(wire.thinking_needs)


def _readable_item(block: ThinkingBlock, quirks: Quirks) -> bool:
    """Return whether a reasoning item without encrypted content may be sent back for its text."""
    if (
        quirks.plain_reasoning == "none"
        or not block.text
        or block.provider_state is None
        or not block.provider_state.raw
    ):
        return False
    return quirks.plain_reasoning == "any" or block.form is ThinkingForm.FULL


def takes_blank_thinking(wire: WireRules, quirks: Quirks) -> bool:
    """Return whether an answer without thinking can be sent with a blank thinking field."""
    fields = ("as_received", "reasoning_content", "reasoning", "reasoning_text")
    return wire.thinking_needs == "as_quirks_say" and quirks.thinking_back in fields


SPELLED = {
    "generation.temperature": frozenset({"temperature"}),
    "generation.topP": frozenset({"top_p", "topP"}),
}


def dropped_settings(request: ChatRequest, wire: WireName, quirks: Quirks) -> Iterator[str]:
    """Yield a warning for each. The request is encoded to find out, so that only the encoder knows the rules."""
    from tui.wires.wire import wire_named  # not at start-up: most requests have none of these settings

    wished = {"generation.temperature": request.temperature, "generation.topP": request.top_p}
    bare = replace(request, outgoing=Outgoing(messages=()), tools=(), system="")
    carried = frozenset(_field_names(wire_named(wire).encode(bare, quirks).body))
    for setting, value in wished.items():
        if value is not None and not SPELLED[setting] & carried:
            yield f"`{setting}` is not sent: {request.model} does not accept it at this thinking level."


def _field_names(body: Mapping[str, object]) -> Iterator[str]:
    for name, value in body.items():
        yield name
        if isinstance(value, Mapping):
            yield from map(str, value)
