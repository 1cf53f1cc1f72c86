"""What chat templates of open models refuse: Mistral's, Gemma's and their like raise an error on this order."""

from __future__ import annotations

import itertools
from typing import Any


def chat_problems(messages: list[dict[str, Any]]) -> list[str]:
    """User and assistant alternate, beginning with the user; calls and their results stand between them."""
    spoken = [message for message in messages if message["role"] == "user" or _speaks(message)]
    expected = itertools.cycle(("user", "assistant"))
    for number, (message, role) in enumerate(zip(spoken, expected, strict=False)):
        if message["role"] != role:
            return [f"Conversation roles must alternate user/assistant/user/assistant/...: {number} of {spoken}"]
    return []


def _speaks(message: dict[str, Any]) -> bool:
    return message["role"] == "assistant" and not message.get("tool_calls")


def responses_problems(items: list[dict[str, Any]]) -> list[str]:
    """The same for servers that turn Responses items into messages: the assistant's items in a row become one."""
    messages: list[dict[str, Any]] = []
    for item in items:
        kind = item.get("type", "message")
        if kind == "function_call_output":
            messages.append({"role": "tool"})
            continue
        role = item["role"] if kind == "message" else "assistant"
        if role != "assistant" or not messages or messages[-1]["role"] != "assistant":
            messages.append({"role": role})
        if kind == "function_call":
            messages[-1]["tool_calls"] = [item]
    return chat_problems(messages)
