"""Joins neighbouring messages of one role, for servers that require alternating roles."""

from __future__ import annotations

Message = dict[str, object]


def join(messages: list[Message], more: list[Message]) -> None:
    """Append ``more``; joins the last message and the first of ``more`` if they have the same role."""
    if messages and more and messages[-1]["role"] == more[0]["role"]:
        messages[-1] = _joined(messages[-1], more[0])
        more = more[1:]
    messages += more


def _joined(last: Message, message: Message) -> Message:
    both = last | message
    both["content"] = _both(last["content"], message["content"], "\n\n")
    for field in ("reasoning_content", "reasoning", "reasoning_text", "reasoning_opaque", "reasoning_details"):
        if field in last and field in message:
            both[field] = _both(last[field], message[field], "")
    return both


def _both(first: object, second: object, between: str) -> object:
    """Join strings, or lists of parts. Thinking becomes one part at the front, because servers reject several."""
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
