"""What Ollama refuses in a chat request, or silently misreads."""

from __future__ import annotations

import base64
import binascii
from typing import Any

TOP_LEVEL = frozenset(
    {"model", "messages", "stream", "think", "tools", "options", "keep_alive", "format", "logprobs", "top_logprobs"}
)
MESSAGE = frozenset({"role", "content", "thinking", "images", "tool_calls", "tool_name", "tool_call_id"})
OPTIONS = frozenset(
    {
        "num_ctx",
        "num_predict",
        "temperature",
        "top_p",
        "top_k",
        "min_p",
        "seed",
        "stop",
        "num_keep",
        "repeat_penalty",
        "repeat_last_n",
        "presence_penalty",
        "frequency_penalty",
        "num_gpu",
        "num_thread",
        "num_batch",
        "typical_p",
    }
)
LEVELS = ("low", "medium", "high", "max")


def problems(body: dict[str, Any], *, thinks: bool = True) -> list[str]:
    """One sentence per fault; nothing for a body it would take."""
    found = [f"unknown field {key}" for key in body if key not in TOP_LEVEL]
    if not body.get("model"):
        found.append("model is required")
    found += _settings(body, thinks=thinks)
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return [*found, "messages are missing"]
    for place, message in enumerate(messages):
        found += [f"messages[{place}]: {fault}" for fault in _message(message)]
    return found + _pairs(messages)


def _settings(body: dict[str, Any], *, thinks: bool) -> list[str]:
    found = []
    think = body.get("think")
    if think and not thinks:
        found.append(f'"{body.get("model")}" does not support thinking')
    if isinstance(think, str) and think not in LEVELS:
        found.append(f"invalid think value: {think}")
    if think is not None and not isinstance(think, bool | str):
        found.append("think is neither a bool nor a word")
    options = body.get("options", {})
    found += [f"invalid option provided: {key}" for key in options if key not in OPTIONS]
    if (context := options.get("num_ctx")) is not None and (not isinstance(context, int) or context < 1):
        found.append("num_ctx is not a size")
    for tool in body.get("tools", []):
        function = tool.get("function", {})
        if tool.get("type") != "function" or not function.get("name") or "parameters" not in function:
            found.append("a tool is incomplete")
    return found


def _message(message: dict[str, Any]) -> list[str]:
    found = [f"unknown field {key}" for key in message if key not in MESSAGE]
    role = message.get("role")
    if role not in ("system", "user", "assistant", "tool"):
        found.append(f"invalid role {role}")
    if not isinstance(message.get("content"), str):
        found.append("content is no string")
    elif role != "tool" and not any(message.get(key) for key in ("content", "images", "tool_calls", "thinking")):
        found.append("the message is empty")
    if role == "tool" and not message.get("tool_name"):
        found.append("a result does not name its tool")
    if role != "assistant" and ("thinking" in message or "tool_calls" in message):
        found.append(f"{role} can neither think nor call")
    for call in message.get("tool_calls", []):
        function = call.get("function", {})
        if not function.get("name") or not isinstance(function.get("arguments"), dict):
            found.append("json: cannot unmarshal tool call arguments")
    return found + _images(message)


def _images(message: dict[str, Any]) -> list[str]:
    for image in message.get("images", []):
        try:
            base64.b64decode(image, validate=True)
        except (binascii.Error, ValueError, TypeError):
            return ["illegal base64 data"]
    return []


def _pairs(messages: list[dict[str, Any]]) -> list[str]:
    """Results have no ids here, so they are told apart by their order alone, directly after the calls."""
    found = []
    due: list[str] = []
    for place, message in enumerate(messages):
        if message.get("role") == "tool":
            name = message.get("tool_name", "")
            if due[:1] != [name]:
                found.append(f"messages[{place}]: a result of {name} without its call")
            del due[:1]
            continue
        found += [f"messages[{place}]: {name} was called and never answered" for name in due]
        due = [call.get("function", {}).get("name", "") for call in message.get("tool_calls", [])]
    return found + [f"{name} was called and never answered" for name in due]
