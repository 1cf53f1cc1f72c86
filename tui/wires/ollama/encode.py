"""Encoding of requests for Ollama's /api/chat. What is sent was decided before; this only writes it."""

from __future__ import annotations

from collections.abc import Mapping

from tui.catalog.facts import Quirks
from tui.domain.blocks import ImageBlock, TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock
from tui.domain.messages import Role
from tui.domain.request import ChatRequest, OutgoingMessage, ToolSchema
from tui.wires.json_text import NotJSON, loads
from tui.wires.wire import Encoded

Spelled = dict[str, object]


def encode(request: ChatRequest, quirks: Quirks) -> Encoded:
    """Return path, body and headers of the request."""
    messages: list[Spelled] = [{"role": "system", "content": request.system}] if request.system else []
    for message in request.outgoing.messages:
        messages += _messages(message)
    body: Spelled = {"model": request.model, "messages": messages, "stream": request.stream}
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if options := _options(request, quirks):
        body["options"] = options
    _merge(body, request.plan.fields)
    _merge(body, request.extra_body)
    return Encoded(path="/api/chat", body=body, headers=dict(request.plan.headers))


def _options(request: ChatRequest, quirks: Quirks) -> Spelled:
    options: Spelled = {}
    if quirks.send_num_ctx and request.num_ctx is not None:
        options["num_ctx"] = request.num_ctx
    most = request.max_output if request.plan.max_output is None else request.plan.max_output
    if most is not None:
        options["num_predict"] = most
    if quirks.never_sampling or (quirks.drop_sampling_when_thinking and request.plan.thinks):
        return options
    if request.temperature is not None:
        options["temperature"] = request.temperature
    if request.top_p is not None:
        options["top_p"] = request.top_p
    return options


def _merge(body: Spelled, fields: Mapping[str, object]) -> None:
    for key, value in fields.items():
        present = body.get(key)
        if isinstance(value, Mapping) and isinstance(present, Mapping):
            merged = dict(present)
            _merge(merged, value)
            body[key] = merged
        else:
            body[key] = value


def _tool(tool: ToolSchema) -> Spelled:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def _messages(message: OutgoingMessage) -> list[Spelled]:
    if message.role is Role.ASSISTANT:
        return [_assistant(message)]
    spelled = [_result(block) for block in message.blocks if isinstance(block, ToolResultBlock)]
    texts = [block.text for block in message.blocks if isinstance(block, TextBlock)]
    pictures = [block.data for block in message.blocks if isinstance(block, ImageBlock) and block.data is not None]
    if texts or pictures:
        user: Spelled = {"role": "user", "content": "\n\n".join(texts)}
        if pictures:
            user["images"] = pictures
        spelled.append(user)
    return spelled


def _assistant(message: OutgoingMessage) -> Spelled:
    """Return one message with content, thinking and calls; the format does not keep their order."""
    spelled: Spelled = {
        "role": "assistant",
        "content": "".join(block.text for block in message.blocks if isinstance(block, TextBlock)),
    }
    thinking = "".join(block.text for block in message.blocks if isinstance(block, ThinkingBlock))
    if thinking:
        spelled["thinking"] = thinking
    if calls := [_call(block) for block in message.blocks if isinstance(block, ToolCallBlock)]:
        spelled["tool_calls"] = calls
    return spelled


def _call(block: ToolCallBlock) -> Spelled:
    """Return a call. Arguments must be an object; others are sent as {}. Calls have no ids: results follow in order."""
    try:
        arguments = loads(block.arguments) if block.arguments.strip() else {}
    except NotJSON:
        arguments = {}
    return {"function": {"name": block.name, "arguments": arguments if isinstance(arguments, dict) else {}}}


def _result(block: ToolResultBlock) -> Spelled:
    texts = [part.text for part in block.content if isinstance(part, TextBlock)]
    pictures = [part.data for part in block.content if isinstance(part, ImageBlock) and part.data is not None]
    result: Spelled = {"role": "tool", "tool_name": block.name, "content": "\n".join(texts)}
    if pictures:
        result["images"] = pictures
    return result
