"""What the Anthropic Messages API refuses, in its own words where they are known."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

TOP_LEVEL = frozenset(
    {
        "model",
        "max_tokens",
        "messages",
        "system",
        "stream",
        "thinking",
        "output_config",
        "tools",
        "tool_choice",
        "temperature",
        "top_p",
        "top_k",
        "stop_sequences",
        "metadata",
        "service_tier",
        "container",
        "context_management",
        "mcp_servers",
        "cache_control",
        "inference_geo",
    }
)
SAMPLING = ("temperature", "top_p", "top_k")
NO_SAMPLING_FROM = "2026-10-21"
TOOL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
MEDIA_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
EFFORTS = frozenset({"low", "medium", "high", "xhigh", "max"})
BINDING_BETA = "thinking-binding-controls-2026-08-01"
INTERLEAVED_BETA = "interleaved-thinking-2025-05-14"
ALL_BETAS = {"anthropic-beta": f"{BINDING_BETA},{INTERLEAVED_BETA}"}
BLOCK_KEYS = {
    "text": frozenset({"type", "text", "citations", "cache_control"}),
    "thinking": frozenset({"type", "thinking", "signature"}),
    "redacted_thinking": frozenset({"type", "data"}),
    "tool_use": frozenset({"type", "id", "name", "input", "caller", "cache_control"}),
    "tool_result": frozenset({"type", "tool_use_id", "content", "is_error", "cache_control"}),
    "image": frozenset({"type", "source", "cache_control"}),
}
"""Kinds of ours; others are the server's own and taken as they are."""
OF_ASSISTANT = frozenset({"thinking", "redacted_thinking", "tool_use"})
OF_USER = frozenset({"tool_result", "image"})
THINKING = ("thinking", "redacted_thinking")


def problems(
    body: dict[str, Any],
    *,
    headers: Mapping[str, str] | None = None,
    strict_thinking: bool = True,
    empty_signatures: bool = False,
) -> list[str]:
    """Every reason for a 400; empty where the server would answer.

    Without ``headers`` whatever hangs on a header counts as asked for. ``strict_thinking`` is off for models that
    never ask for thinking back; ``empty_signatures`` is on for servers of others that neither give nor check them.
    """
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return ["messages: at least one message is required"]
    messages = [{**message, "content": _blocks(message)} for message in messages]
    found = [
        *_top_level(body, headers or {}),
        *_thinking_controls(body, ALL_BETAS if headers is None else headers),
        *_tools(body, messages),
        *_roles(messages),
        *_contents(messages),
        *_pairing(messages),
    ]
    if not empty_signatures:
        found += _signatures(messages)
    if strict_thinking:
        found += _thinking_first(body, messages)
    return found


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())


def _top_level(body: dict[str, Any], headers: Mapping[str, str]) -> Iterator[str]:
    yield from (f"{key}: Extra inputs are not permitted" for key in body if key not in TOP_LEVEL)
    if not body.get("model"):
        yield "model: Field required"
    limit = body.get("max_tokens")
    if limit is None:
        yield "max_tokens: Field required"
    elif not isinstance(limit, int) or limit < 1:
        yield "max_tokens: Input should be greater than or equal to 1"
    if headers.get("anthropic-version") == NO_SAMPLING_FROM:
        yield from (f"{key}: Extra inputs are not permitted" for key in SAMPLING if key in body)
    system = body.get("system")
    texts = [system] if isinstance(system, str) else [block.get("text") for block in system or ()]
    if any(not str(words).strip() for words in texts):
        yield "system: text content blocks must be non-empty"


def _thinking_controls(body: dict[str, Any], headers: Mapping[str, str]) -> Iterator[str]:
    effort = body.get("output_config", {}).get("effort", "low")
    if effort not in EFFORTS:
        yield f"output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max', not {effort!r}"
    thinking = body.get("thinking")
    if thinking is None:
        return
    kind = thinking.get("type")
    if kind not in ("enabled", "adaptive", "disabled", "between_tools"):
        yield "thinking.type: Field required"
    if "block_binding" in thinking and (kind != "adaptive" or BINDING_BETA not in headers.get("anthropic-beta", "")):
        yield "thinking.block_binding: Extra inputs are not permitted"
    if kind in ("disabled", "between_tools") and effort in ("xhigh", "max"):
        yield f"output_config.effort: {effort} needs thinking"
    if kind == "enabled":
        yield from _budget(body, thinking.get("budget_tokens"), headers)
    elif "budget_tokens" in thinking:
        yield f"thinking.{kind}.budget_tokens: Extra inputs are not permitted"
    if kind in ("enabled", "adaptive"):
        yield from _sampling_while_thinking(body)


def _budget(body: dict[str, Any], budget: object, headers: Mapping[str, str]) -> Iterator[str]:
    if not isinstance(budget, int):
        yield "thinking.enabled.budget_tokens: Field required"
    elif budget < 1024:
        yield "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
    elif budget >= body.get("max_tokens", 0):
        interleaved = body.get("tools") and INTERLEAVED_BETA in headers.get("anthropic-beta", "")
        if not interleaved:
            yield "`max_tokens` must be greater than `thinking.budget_tokens`."


def _sampling_while_thinking(body: dict[str, Any]) -> Iterator[str]:
    if body.get("temperature", 1) != 1:
        yield "`temperature` may only be set to 1 when thinking is enabled."
    if body.get("top_p", 1) < 0.95:
        yield "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled."
    if "top_k" in body:
        yield "`top_k` must be unset when thinking is enabled."
    if body.get("tool_choice", {}).get("type") in ("any", "tool"):
        yield "Thinking may not be enabled when tool_choice forces tool use."


def _tools(body: dict[str, Any], messages: list[dict[str, Any]]) -> Iterator[str]:
    tools = body.get("tools") or []
    names = Counter(tool.get("name") for tool in tools)
    if any(count > 1 for count in names.values()):
        yield "tools: Tool names must be unique."
    for number, tool in enumerate(tools):
        if "input_schema" not in tool:
            continue
        schema = tool["input_schema"]
        if not TOOL_NAME.fullmatch(str(tool.get("name"))):
            yield f"tools.{number}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
        if schema.get("type") != "object":
            yield f"tools.{number}.custom.input_schema.type: Field required"
        if schema.keys() & {"oneOf", "allOf", "anyOf"}:
            yield f"tools.{number}.custom.input_schema: oneOf, allOf, or anyOf are not supported at the top level"
    used = any(block.get("type") in ("tool_use", "tool_result") for message in messages for block in message["content"])
    if used and not tools:
        yield "Requests which have `tool_use` or `tool_result` blocks must define tools."


def _roles(messages: list[dict[str, Any]]) -> Iterator[str]:
    roles = [message.get("role") for message in messages]
    yield from (f"messages: Unexpected role {role!r}" for role in roles if role not in ("user", "assistant"))
    if roles[0] != "user":
        yield 'messages: first message must use the "user" role'
    for before, role in itertools.pairwise(roles):
        if before == role:
            yield f'messages: roles must alternate between "user" and "assistant", but found multiple "{role}" in a row'
    if roles[-1] == "assistant" and all(block.get("type") in BLOCK_KEYS for block in messages[-1]["content"]):
        yield "This model does not support assistant message prefill. The conversation must end with a user message."


def _contents(messages: list[dict[str, Any]]) -> Iterator[str]:
    for number, message in enumerate(messages):
        if not message["content"]:
            yield f"messages.{number}: all messages must have non-empty content"
        for position, block in enumerate(message["content"]):
            where = f"messages.{number}.content.{position}"
            yield from (f"{where}: {problem}" for problem in _block(block, message.get("role")))


def _block(block: dict[str, Any], role: str | None) -> Iterator[str]:
    kind = block.get("type")
    if kind in (OF_USER if role == "assistant" else OF_ASSISTANT):
        yield f"`{kind}` blocks are not permitted in `{role}` messages"
    if kind not in BLOCK_KEYS:
        if role != "assistant" or not kind:
            yield f"Input tag {kind!r} found using 'type' does not match any of the expected tags"
        return
    yield from (f"{kind}.{key}: Extra inputs are not permitted" for key in block.keys() - BLOCK_KEYS[kind])
    if kind == "text":
        yield from _text(block.get("text"))
    elif kind == "image":
        yield from _image(block.get("source") or {})
    elif kind == "tool_use":
        yield from _tool_use(block)
    elif kind == "tool_result":
        yield from _tool_result(block)


def _text(words: object) -> Iterator[str]:
    if not isinstance(words, str) or not words:
        yield "messages: text content blocks must be non-empty"
    elif not words.strip():
        yield "messages: text content blocks must contain non-whitespace text"


def _image(source: dict[str, Any]) -> Iterator[str]:
    if source.get("type") == "url":
        if not source.get("url"):
            yield "image.source.url: Field required"
    elif source.get("media_type") not in MEDIA_TYPES:
        yield "image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
    elif not source.get("data"):
        yield "image.source.base64.data: image cannot be empty"


def _tool_use(block: dict[str, Any]) -> Iterator[str]:
    if not TOOL_ID.fullmatch(str(block.get("id"))):
        yield "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
    if not block.get("name"):
        yield "tool_use.name: String should have at least 1 character"
    if not isinstance(block.get("input"), dict):
        yield "tool_use.input: Input should be a valid dictionary"


def _tool_result(block: dict[str, Any]) -> Iterator[str]:
    content = block.get("content") or []
    parts: list[dict[str, Any]] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for part in parts:
        if part.get("type") == "text":
            yield from _text(part.get("text"))
        elif part.get("type") != "image":
            yield f"tool_result.content: unexpected {part.get('type')!r}"
        elif block.get("is_error"):
            yield "tool_result: all content must be type `text` if `is_error` is true"
        else:
            yield from _image(part.get("source") or {})


def _pairing(messages: list[dict[str, Any]]) -> Iterator[str]:
    """Every call is answered at the start of the very next message, once, and nothing else is answered."""
    asked: list[object] = []
    everything: Counter[object] = Counter()
    for number, message in enumerate(messages):
        content = message["content"]
        results = [block.get("tool_use_id") for block in content if block.get("type") == "tool_result"]
        leading = _leading_results(content)
        if missing := [str(call) for call in asked if call not in leading]:
            yield (
                f"messages.{number - 1}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the "
                "next message."
            )
        for result, times in Counter(results).items():
            if result not in asked:
                yield f"messages.{number}: unexpected `tool_use_id` found in `tool_result` blocks: {result}."
            elif times > 1:
                yield f"each tool_use must have a single result. Found multiple `tool_result` blocks with id: {result}"
        asked = [block.get("id") for block in content if block.get("type") == "tool_use"]
        if asked and content[-1].get("type") != "tool_use":
            yield f"messages.{number}: `tool_use` ids were found without `tool_result` blocks immediately after"
        everything.update(asked)
    if asked:
        yield f"messages.{len(messages) - 1}: `tool_use` ids were found without `tool_result` blocks immediately after"
    if any(times > 1 for times in everything.values()):
        yield "messages: `tool_use` ids must be unique"


def _leading_results(content: list[dict[str, Any]]) -> list[object]:
    leading = []
    for block in content:
        if block.get("type") != "tool_result":
            break
        leading.append(block.get("tool_use_id"))
    return leading


def _signatures(messages: list[dict[str, Any]]) -> Iterator[str]:
    for number, message in enumerate(messages):
        for position, block in enumerate(message["content"]):
            where = f"messages.{number}.content.{position}"
            if block.get("type") == "thinking" and not block.get("signature"):
                yield f"{where}: Invalid `signature` in `thinking` block"
            if block.get("type") == "redacted_thinking" and not block.get("data"):
                yield f"{where}: Invalid `data` in `redacted_thinking` block"


def _thinking_first(body: dict[str, Any], messages: list[dict[str, Any]]) -> Iterator[str]:
    """With a budget, the step whose tools were just run must open with the thinking that led to it."""
    if body.get("thinking", {}).get("type") != "enabled" or len(messages) < 2:
        return
    step, answer = messages[-2:]
    in_tool_loop = any(block.get("type") == "tool_result" for block in answer["content"])
    if in_tool_loop and step["content"] and (kind := step["content"][0].get("type")) not in THINKING:
        yield (
            f"messages.{len(messages) - 2}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
            f"`{kind}`. When `thinking` is enabled, a final `assistant` message must start with a thinking block."
        )
