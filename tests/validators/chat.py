"""What real Chat Completions servers refuse, dialect by dialect, in their own words where they are known.

Dialects: openai, openrouter, deepseek, kimi, minimax, qwen, glm, mistral, groq, cerebras, xai, vllm, llamacpp.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

MISTRAL_ID = re.compile(r"[A-Za-z0-9]{9}")
ASKS_FOR_THINKING_BACK = frozenset({"deepseek", "kimi"})
SAMPLING = ("temperature", "top_p", "presence_penalty", "frequency_penalty")
THINKING_FIELDS = {
    "openai": frozenset(),
    "mistral": frozenset(),
    "openrouter": frozenset({"reasoning", "reasoning_details"}),
}
"""Fields of an assistant message that carry thinking, where a server refuses all others."""


def problems(body: dict[str, Any], *, dialect: str = "openai") -> list[str]:
    """Every reason for a 400; empty where the server would answer."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return ["messages: at least one message is needed"]
    return [
        *_shapes(messages),
        *_pairing(messages),
        *_fields(messages, dialect),
        *_order(messages, dialect),
        *_ids(messages, dialect),
        *_thinking_back(body, messages, dialect),
        *_sampling(body, dialect),
        *_limits(body, dialect),
        *_thinking_controls(body, dialect),
        *_tools(body, messages),
    ]


def _shapes(messages: list[dict[str, Any]]) -> Iterator[str]:
    for number, message in enumerate(messages):
        where = f"messages[{number}]"
        role = message.get("role")
        content = message.get("content")
        if role not in ("system", "developer", "user", "assistant", "tool"):
            yield f"{where}: unknown role {role!r}"
        if role in ("user", "system", "developer") and not content:
            yield f"{where}: {role} content is empty"
        if role == "assistant" and not content and not message.get("tool_calls"):
            yield f"{where}: the message must not be empty with role 'assistant'"
        if role == "assistant" and message.get("tool_calls") == []:
            yield f"{where}: tool_calls must not be empty"
        if role == "tool" and not isinstance(content, str | list):
            yield f"{where}: tool content must be text"
        if isinstance(content, list):
            yield from (f"{where}: {problem}" for part in content for problem in _part(part, role))


def _part(part: dict[str, Any], role: object) -> Iterator[str]:
    kind = part.get("type")
    if kind == "text" and not part.get("text"):
        yield "a text part is empty"
    if kind == "image_url" and role not in ("user", "tool"):
        yield f"images are not allowed with role {role}"
    if kind not in ("text", "image_url", "thinking"):
        yield f"unknown part type {kind!r}"


def _pairing(messages: list[dict[str, Any]]) -> Iterator[str]:
    """Every call is answered directly after it, and nothing is answered that was not called."""
    open_ids: list[str] = []
    for number, message in enumerate(messages):
        if message.get("role") == "tool":
            call_id = message.get("tool_call_id")
            if call_id in open_ids:
                open_ids.remove(call_id)
            else:
                yield (
                    f"messages[{number}]: messages with role 'tool' must be a response to a preceding message with "
                    f"'tool_calls' ({call_id})"
                )
            continue
        if open_ids:
            yield (
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(open_ids)}"
            )
        open_ids = []
        for call in message.get("tool_calls") or ():
            yield from _call(call, number)
            if call["id"] in open_ids:
                yield f"messages[{number}]: duplicate tool call id {call['id']}"
            open_ids.append(call["id"])
    if open_ids:
        yield f"tool calls without results at the end: {', '.join(open_ids)}"


def _call(call: dict[str, Any], number: int) -> Iterator[str]:
    function = call.get("function") or {}
    if not call.get("id"):
        yield f"messages[{number}]: a tool call has no id"
    if not re.fullmatch(r"[a-zA-Z0-9_.:-]{1,128}", function.get("name") or ""):
        yield f"messages[{number}]: bad function name {function.get('name')!r}"
    arguments = function.get("arguments")
    try:
        if not isinstance(arguments, str) or not isinstance(json.loads(arguments), dict):
            yield f"messages[{number}]: arguments are not a JSON object in text"
    except ValueError:
        yield f"messages[{number}]: arguments are not JSON"


def _fields(messages: list[dict[str, Any]], dialect: str) -> Iterator[str]:
    allowed = THINKING_FIELDS.get(dialect)
    if allowed is None:
        return
    for number, message in enumerate(messages):
        for field in sorted(message):
            if field.startswith("reasoning") and field not in allowed:
                yield f"messages[{number}]: property '{field}' is unsupported"


def _order(messages: list[dict[str, Any]], dialect: str) -> Iterator[str]:
    if dialect != "mistral":
        return
    roles = [message.get("role") for message in messages]
    for number, (before, role) in enumerate(itertools.pairwise(roles), 1):
        if before == "tool" and role == "user":
            yield f"messages[{number}]: Unexpected role 'user' after role 'tool'"
        if before == role and role in ("user", "assistant"):
            yield f"messages[{number}]: two messages of role '{role}' in a row"
    if roles[-1] == "assistant" and not messages[-1].get("prefix"):
        yield "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant"
    for number, message in enumerate(messages):
        content = message.get("content")
        chunks = [part.get("type") for part in content] if isinstance(content, list) else []
        if chunks.count("thinking") > 1 or "thinking" in chunks[1:]:
            yield f"messages[{number}]: one thinking chunk is allowed, and it stands first"


def _ids(messages: list[dict[str, Any]], dialect: str) -> Iterator[str]:
    for message in messages:
        for call in message.get("tool_calls") or ():
            call_id = call.get("id") or ""
            if dialect == "mistral" and not MISTRAL_ID.fullmatch(call_id):
                yield f"Tool call id was {call_id} but must be a-z, A-Z, 0-9, with a length of 9."
            if dialect == "openai" and len(call_id) > 40:
                yield f"Invalid 'tool_calls[].id': string too long ({len(call_id)}, expected at most 40)"


def _thinking_back(body: dict[str, Any], messages: list[dict[str, Any]], dialect: str) -> Iterator[str]:
    if dialect not in ASKS_FOR_THINKING_BACK or not _thinks(body, dialect):
        return
    for number, message in enumerate(messages):
        thought = message.get("reasoning_content")
        # Kimi K2.5 and K2.6 refuse the empty string as if it were missing.
        if message.get("role") != "assistant" or (isinstance(thought, str) and (thought or dialect != "kimi")):
            continue
        if dialect == "deepseek" and message.get("tool_calls"):
            yield "The reasoning_content in the thinking mode must be passed back to the API."
        elif dialect == "kimi" and message.get("tool_calls"):
            yield (
                f"thinking is enabled but reasoning_content is missing in assistant tool call message at index {number}"
            )


def _thinks(body: dict[str, Any], dialect: str) -> bool:
    thinking = body.get("thinking")
    if isinstance(thinking, dict):
        return thinking.get("type") != "disabled"
    if dialect == "openai":
        return _openai_effort(body) != "none"
    return True


def _openai_effort(body: dict[str, Any]) -> str:
    """The effort in force: what is sent, else the model's default."""
    effort = body.get("reasoning_effort")
    if isinstance(effort, str):
        return effort
    return "medium" if _reasons(body) else "none"


def _reasons(body: dict[str, Any]) -> bool:
    model = str(body.get("model"))
    return bool(re.match(r"(?:o\d|gpt-[5-9])", model)) and "chat" not in model


def _sampling(body: dict[str, Any], dialect: str) -> Iterator[str]:
    sent = [name for name in SAMPLING if name in body]
    if dialect == "kimi":
        sent = [name for name in sent if not (name == "temperature" and body[name] == 1)]
        yield from (f"invalid {name}: only the default is allowed for this model" for name in sent)
    if dialect == "openai" and _reasons(body) and _openai_effort(body) != "none":
        yield from (f"Unsupported parameter: '{name}' is not supported with this model." for name in sent)


def _limits(body: dict[str, Any], dialect: str) -> Iterator[str]:
    if "max_tokens" in body and "max_completion_tokens" in body:
        yield "max_tokens and max_completion_tokens cannot both be set"
    if dialect == "openai" and "max_tokens" in body and _reasons(body):
        yield "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    if dialect in ("deepseek", "mistral", "glm") and "max_completion_tokens" in body:
        yield "max_completion_tokens: extra fields are not permitted"
    if dialect != "openai" and "store" in body:
        yield "store: extra fields are not permitted"
    if dialect == "mistral" and "stream_options" in body:
        yield "stream_options: extra fields are not permitted"


def _thinking_controls(body: dict[str, Any], dialect: str) -> Iterator[str]:
    if dialect == "kimi" and "thinking" in body and "reasoning_effort" in body:
        yield "thinking and reasoning_effort cannot be used together"
    if dialect == "openai":
        if body.get("reasoning_effort") == "max":
            yield "Unsupported value: 'reasoning_effort' does not support 'max' with this model."
        newest = re.match(r"gpt-(?:5\.(?:[4-9]|\d\d)|[6-9])", str(body.get("model")))
        if newest and body.get("tools") and _openai_effort(body) != "none":
            yield "Function tools with reasoning_effort are not supported in /v1/chat/completions. Use /v1/responses."
    if dialect == "openrouter":
        reasoning = body.get("reasoning")
        if isinstance(reasoning, dict) and "effort" in reasoning and "max_tokens" in reasoning:
            yield "Only one of reasoning.effort and reasoning.max_tokens can be specified"
    if dialect == "groq" and "reasoning_format" in body and "include_reasoning" in body:
        yield "reasoning_format and include_reasoning cannot be used together"
    if dialect == "qwen" and body.get("enable_thinking") and not body.get("stream"):
        yield "parameter.enable_thinking must be set to false for non-streaming calls"


def _tools(body: dict[str, Any], messages: list[dict[str, Any]]) -> Iterator[str]:
    if "tools" in body and not body["tools"]:
        yield "tools: [] is too short"
    for tool in body.get("tools") or ():
        function = tool.get("function") or {}
        if tool.get("type") != "function" or not function.get("name"):
            yield "tools: a tool needs type 'function' and a name"
        if not isinstance(function.get("parameters"), dict) or function["parameters"].get("type") != "object":
            yield "tools: parameters must be a JSON Schema object"
