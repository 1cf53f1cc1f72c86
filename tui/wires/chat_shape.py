"""Message order that strict servers insist on: no two of one role in a row, no user directly after a tool result."""

from __future__ import annotations

from collections.abc import Sequence

Message = dict[str, object]
STAND_IN = "Understood."
"""What the assistant is made to say between tool results and the user, where a server insists on an answer there."""


def stand_between(messages: Sequence[Message]) -> list[Message]:
    """An assistant message wherever a user message follows a tool result."""
    ordered: list[Message] = []
    for message in messages:
        if ordered and ordered[-1]["role"] == "tool" and message["role"] == "user":
            ordered.append({"role": "assistant", "content": STAND_IN})
        ordered.append(message)
    return ordered


def join_same_role(messages: Sequence[Message]) -> list[Message]:
    """Neighbours of one role as one. Tool results stay apart, and nothing is joined behind tool calls."""
    joined: list[Message] = []
    for message in messages:
        last = joined[-1] if joined else None
        if last is not None and _joinable(last, message):
            joined[-1] = _joined(last, message)
        else:
            joined.append(message)
    return joined


def _joinable(last: Message, message: Message) -> bool:
    return last["role"] == message["role"] and message["role"] != "tool" and "tool_calls" not in last


def _joined(last: Message, message: Message) -> Message:
    both = last | message
    both["content"] = _both(last["content"], message["content"], "\n\n")
    for field in ("reasoning_content", "reasoning", "reasoning_text", "reasoning_opaque", "reasoning_details"):
        if field in last and field in message:
            both[field] = _both(last[field], message[field], "")
    return both


def _both(first: object, second: object, between: str) -> object:
    """Strings into a string, parts into parts. Thinking chunks come first, as one: servers refuse several."""
    if not first or not second:
        return first or second
    if isinstance(first, str) and isinstance(second, str):
        return first + between + second
    return _one_thinking_chunk([*_parts(first), *_parts(second)])


def _parts(content: object) -> list[object]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(content) if isinstance(content, list) else []


def _one_thinking_chunk(parts: list[object]) -> list[object]:
    thinking = [part for part in parts if isinstance(part, dict) and part.get("type") == "thinking"]
    if len(thinking) < 2:
        return parts
    inner = [piece for part in thinking for piece in _parts(part.get("thinking"))]
    rest = [part for part in parts if part not in thinking]
    return [thinking[0] | {"thinking": inner}, *rest]
