"""Encoding of requests for OpenAI Responses. What is sent was decided before; this module only writes it."""

from __future__ import annotations

from collections.abc import Sequence

from tui.catalog.facts import Quirks
from tui.domain.blocks import (
    Block,
    DocumentBlock,
    ImageBlock,
    OpaqueBlock,
    ProviderState,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from tui.domain.messages import Role
from tui.domain.request import ChatRequest, OutgoingMessage, ToolSchema
from tui.domain.thinking import PlanState
from tui.wires.cache_marks import cache_options
from tui.wires.json_text import NotJSON, extend_fields, loads, merge_fields
from tui.wires.openai_responses.items import ANNOTATIONS
from tui.wires.wire import EncodedRequest

LEAST_OUTPUT = 16
"""The API rejects smaller output limits."""
LONGEST_ID = 64
"""The API rejects longer item ids (GitHub Copilot sends some) and accepts the item without its id."""
WITHOUT_ENCRYPTED_REASONING = (PlanState.UNSUPPORTED,)
"""Plans without reasoning: models that cannot think reject a request for encrypted reasoning."""
Item = dict[str, object]


def encode(request: ChatRequest, quirks: Quirks) -> EncodedRequest:
    """Return path, body and headers of the request."""
    body: dict[str, object] = {
        "model": request.model,
        "input": _input(request, quirks),
        "stream": request.stream,
        "store": False,
    }
    if request.system:
        body["instructions"] = request.system
    if quirks.include_encrypted and request.plan.state not in WITHOUT_ENCRYPTED_REASONING:
        body["include"] = ["reasoning.encrypted_content"]
    if request.tools or request.server_tools:
        body["tools"] = [*map(_tool, request.tools), *(dict(tool.item) for tool in request.server_tools)]
        for tool in request.server_tools:
            extend_fields(body, tool.fields)
    _limits(body, request, quirks)
    if request.cache_key:
        body["prompt_cache_key"] = request.cache_key
    if quirks.prompt_cache == "options" and request.cache_ttl is not None:
        body["prompt_cache_options"] = cache_options(request.cache_ttl)
    merge_fields(body, request.plan.fields)
    if request.answer_format is not None:
        merge_fields(body, request.answer_format.fields)
    merge_fields(body, request.extra_body)
    headers = dict(request.plan.headers)
    if quirks.cache_key_header and request.cache_key:
        headers[quirks.cache_key_header] = request.cache_key
    return EncodedRequest(path="/responses", body=body, headers=headers)


def _limits(body: dict[str, object], request: ChatRequest, quirks: Quirks) -> None:
    most = request.max_output if request.plan.max_output is None else request.plan.max_output
    if most is not None:
        body["max_output_tokens"] = max(most, LEAST_OUTPUT)
    if quirks.never_sampling or (quirks.drop_sampling_when_thinking and request.plan.thinks):
        return
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.top_p is not None:
        body["top_p"] = request.top_p


def _tool(tool: ToolSchema) -> Item:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
        "strict": False,
    }


def _input(request: ChatRequest, quirks: Quirks) -> list[Item]:
    items: list[Item] = []
    for message in request.outgoing.messages:
        spelled = _items(message, quirks)
        if message.joined and items and spelled and items[-1].get("role") == spelled[0].get("role") == "user":
            items[-1]["content"] = [*_parts(items[-1]), *_parts(spelled[0])]
            spelled = spelled[1:]
        items += spelled
    return items


def _parts(item: Item) -> list[object]:
    content = item["content"]
    return content if isinstance(content, list) else [content]


def _items(message: OutgoingMessage, quirks: Quirks) -> Sequence[Item]:
    if message.role is Role.ASSISTANT:
        return _assistant(message.blocks, quirks)
    items: list[Item] = []
    content: list[Item] = []
    for block in message.blocks:
        if isinstance(block, ToolResultBlock):
            items.append(_result(block))
        elif isinstance(block, TextBlock | ImageBlock | DocumentBlock):
            content.append(_input_part(block))
    if content:
        items.append({"type": "message", "role": "user", "content": content})
    return items


def _input_part(block: TextBlock | ImageBlock | DocumentBlock) -> Item:
    if isinstance(block, TextBlock):
        return {"type": "input_text", "text": block.text}
    if isinstance(block, DocumentBlock):
        data = f"data:{block.media_type};base64,{block.data}"
        return {"type": "input_file", "filename": block.name, "file_data": data}
    url = block.url if block.data is None else f"data:{block.media_type};base64,{block.data}"
    return {"type": "input_image", "image_url": url or "", "detail": "auto"}


def _result(block: ToolResultBlock) -> Item:
    output: object
    if any(isinstance(part, ImageBlock) for part in block.content):
        output = [_input_part(part) for part in block.content]
    else:
        output = "\n".join(part.text for part in block.content if isinstance(part, TextBlock))
    return {"type": "function_call_output", "call_id": block.call_id, "output": output}


def _assistant(blocks: Sequence[Block], quirks: Quirks) -> list[Item]:
    items: list[Item] = []
    open_id: str | None = None
    before: Block | None = None
    for block in blocks:
        if isinstance(block, TextBlock):
            identity = _id(block.provider_state, quirks)
            if identity is None and isinstance(before, TextBlock) and _continues(block, before, quirks):
                items[-1]["content"] = f"{items[-1]['content']}{block.text}"
            elif identity is not None and identity == open_id:
                parts = items[-1]["content"]
                assert isinstance(parts, list)
                parts.append(_output_part(block))
            else:
                items.append(_message(block, identity))
            open_id, before = identity, block
            continue
        open_id, before = None, block
        if (item := _item(block, quirks)) is not None:
            items.append(item)
    return items


def _continues(block: TextBlock, before: TextBlock, quirks: Quirks) -> bool:
    """Whether this is a part of the same text: other providers cut a text at its citations."""
    return bool(block.citations or before.citations) and _id(before.provider_state, quirks) is None


def _item(block: Block, quirks: Quirks) -> Item | None:
    match block:
        case ThinkingBlock():
            return _reasoning(block, quirks)
        case ToolCallBlock():
            return _call(block, quirks)
        case OpaqueBlock():
            return _without_nulls(_raw(block.raw)) or None
        case ImageBlock():
            return {"type": "message", "role": "user", "content": [_input_part(block)]}
        case ToolResultBlock():
            return _result(block)
        case _:
            return None


def _reasoning(block: ThinkingBlock, quirks: Quirks) -> Item | None:
    """Return the item as received, without fields that servers send but reject, such as ``status`` and nulls."""
    provider_state = block.provider_state
    if provider_state is None:
        return None  # the API has no field for the thinking of other providers
    item = _without_nulls(_raw(provider_state.raw))
    if not item:
        item = {
            "type": "reasoning",
            "id": provider_state.id,
            "summary": [],
            "encrypted_content": provider_state.encrypted,
        }
        item = _without_nulls(item)
    item.pop("status", None)
    for name in ("content", "encrypted_content"):
        if not item.get(name):
            item.pop(name, None)
    item.setdefault("summary", [])
    if _id(provider_state, quirks) is None:
        item.pop("id", None)
    return item


def _call(block: ToolCallBlock, quirks: Quirks) -> Item:
    item: Item = {"type": "function_call"}
    if (identity := _id(block.provider_state, quirks)) is not None:
        item["id"] = identity
    item["call_id"] = block.call_id
    item["name"] = block.name
    item["arguments"] = block.arguments or "{}"
    extra = _raw(block.provider_state.raw) if block.provider_state else {}
    return {**extra, **item}


def _message(block: TextBlock, identity: str | None) -> Item:
    """Return the complete message if its id is known, else only its text and phase.

    The specification allows a message without ``type``, but compatible servers require it.
    """
    extra = _raw(block.provider_state.raw) if block.provider_state else {}
    extra.pop(ANNOTATIONS, None)
    if identity is None:
        phase = {"phase": extra["phase"]} if extra.get("phase") else {}
        return {"type": "message", "role": "assistant", "content": block.text, **phase}
    message: Item = {"type": "message", "id": identity, "role": "assistant", "status": "completed", **extra}
    message["content"] = [_output_part(block)]
    return message


def _output_part(block: TextBlock) -> Item:
    if block.refusal:
        return {"type": "refusal", "refusal": block.text}
    annotations = _raw(block.provider_state.raw).get(ANNOTATIONS) if block.provider_state else None
    return {"type": "output_text", "text": block.text, "annotations": annotations or []}


def _id(provider_state: ProviderState | None, quirks: Quirks) -> str | None:
    """Return the item's id, if it may be sent back."""
    if provider_state is None or not quirks.item_ids or not provider_state.id or len(provider_state.id) > LONGEST_ID:
        return None
    return provider_state.id


def _raw(raw: str | None) -> Item:
    try:
        value = loads(raw) if raw else None
    except NotJSON:
        value = None
    return value if isinstance(value, dict) else {}


def _without_nulls(item: Item) -> Item:
    return {key: value for key, value in item.items() if value is not None}
