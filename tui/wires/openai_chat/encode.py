"""Encoding of requests for Chat Completions, in the dialect that the quirks describe.

What is sent and what is not was decided before (``context.outgoing``); this module only writes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from tui.catalog.facts import Quirks
from tui.domain.blocks import Block, DocumentBlock, ImageBlock, TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock
from tui.domain.digests import sha256
from tui.domain.messages import Role
from tui.domain.request import ChatRequest, OutgoingMessage, ToolSchema
from tui.wires.cache_marks import cache_control, cache_options, mark_ends, mark_long_steps, steps
from tui.wires.json_text import NotJSON, extend_fields, loads, merge_fields
from tui.wires.openai_chat.reasoning_details import details_of
from tui.wires.openai_chat.tool_calls import OF_MESSAGE, STATE_KEYS
from tui.wires.wire import EncodedRequest

NINE_ALNUM = re.compile(r"[A-Za-z0-9]{9}")
ALNUM = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
LONGEST_ID = 40
IMAGE_NOTE = "[image omitted: this model takes no images in tool results]"
PICTURE_MADE = "[image]"
FAILED_PREFIX = "Error: "
PLAIN_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
"""Values of ``thinking_back`` that name a string field of the message."""


def encode(request: ChatRequest, quirks: Quirks) -> EncodedRequest:
    """Return path, body and headers of the request."""
    body: dict[str, object] = {"model": request.model, "messages": _messages(request, quirks)}
    if request.tools or request.server_tools:
        body["tools"] = [*map(_tool, request.tools), *(dict(tool.item) for tool in request.server_tools)]
        for tool in request.server_tools:
            extend_fields(body, tool.fields)
    body["stream"] = request.stream
    if request.stream and quirks.usage_option:
        body["stream_options"] = {"include_usage": True}
    limit = request.max_output if request.plan.max_output is None else request.plan.max_output
    if limit is not None:
        body[quirks.max_tokens_name] = limit
    if not (quirks.never_sampling or (quirks.drop_sampling_when_thinking and request.plan.thinks)):
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.top_p is not None:
            body["top_p"] = request.top_p
    body.update(_of_the_server(request, quirks))
    if request.cache_ttl is not None:
        _ask_for_caching(body, request, quirks)
    merge_fields(body, request.plan.fields)
    if request.answer_format is not None:
        merge_fields(body, request.answer_format.fields)
    merge_fields(body, request.extra_body)
    return EncodedRequest(path="/chat/completions", body=body, headers=request.plan.headers)


def _of_the_server(request: ChatRequest, quirks: Quirks) -> Iterator[tuple[str, object]]:
    """Yield fields that only some servers have."""
    if quirks.reasoning_control and request.stream and request.plan.thinks:
        yield "reasoning_control", True
    if quirks.prompt_progress and request.stream:
        yield "return_progress", True
    if quirks.store_false:
        yield "store", False
    if quirks.cache_key_field and request.cache_key:
        yield quirks.cache_key_field, request.cache_key


def _ask_for_caching(body: dict[str, object], request: ChatRequest, quirks: Quirks) -> None:
    ttl = request.cache_ttl or "off"
    if quirks.prompt_cache == "options":
        body["prompt_cache_options"] = cache_options(ttl)
    if not _is_marked(request, quirks):
        return
    messages = cast("list[dict[str, object]]", body["messages"])

    def mark(message: dict[str, object]) -> None:
        _mark_last_text(message, ttl)

    if messages and messages[0]["role"] == quirks.system_role:
        mark(messages[0])
    if quirks.prompt_cache == "parts":
        mark_ends(messages, mark)
    else:
        body["cache_control"] = cache_control(ttl)
        mark_long_steps(steps(messages, _blocks), mark)


def _is_marked(request: ChatRequest, quirks: Quirks) -> bool:
    wanted = request.cache_ttl not in (None, "off") and "cache_control" not in request.without
    return wanted and quirks.prompt_cache in ("top_level", "parts")


def _mark_last_text(message: dict[str, object], ttl: str) -> None:
    content = message.get("content")
    if isinstance(content, str) and content:
        message["content"] = [{"type": "text", "text": content, "cache_control": cache_control(ttl)}]
    elif isinstance(content, list):
        texts = [position for position, part in enumerate(content) if _takes_mark(part)]
        for last in texts[-1:]:
            content[last] = {**content[last], "cache_control": cache_control(ttl)}


def _takes_mark(part: Mapping[str, object]) -> bool:
    """OpenRouter's types have no mark at images."""
    return part.get("type") == "text"


def _blocks(message: dict[str, object]) -> list[dict[str, object] | None]:
    """Return the message once for each block that the server counts, or None if the block takes no mark here."""
    content = message.get("content")
    if message["role"] == "assistant":
        calls, details = message.get("tool_calls"), message.get("reasoning_details")
        others = sum(len(items) for items in (calls, details) if isinstance(items, list))
        return [None] * (others + bool(content))
    if not isinstance(content, list):
        return [message]
    return [message if _takes_mark(part) else None for part in content]


def _tool(schema: ToolSchema) -> dict[str, object]:
    function = {"name": schema.name, "description": schema.description, "parameters": schema.parameters}
    return {"type": "function", "function": function}


def _messages(request: ChatRequest, quirks: Quirks) -> list[dict[str, object]]:
    messages: list[dict[str, object]] = []
    if request.system:
        messages.append({"role": quirks.system_role, "content": request.system})
    marked = _is_marked(request, quirks)
    for message in request.outgoing.messages:
        spelled = _spelled(message, quirks)
        if marked:
            spelled = [_in_parts(each) for each in spelled]
        if message.joined:
            merge_same_role(messages, spelled)
        else:
            messages += spelled
    return messages


def _in_parts(message: Message) -> Message:
    """Return the message in the form that takes a mark at its end, so that it is the same with and without one."""
    content = message["content"]
    if message["role"] == "assistant" or not content:
        return message
    if isinstance(content, list):
        return {**message, "content": _ending_with_text(content)}
    return {**message, "content": [{"type": "text", "text": content}]}


def _ending_with_text(parts: Sequence[Mapping[str, object]]) -> list[Mapping[str, object]]:
    """Move images at the end before the last text. A mark before the end would not find what was kept to the end."""
    texts = [position for position, part in enumerate(parts) if _takes_mark(part)]
    last = texts[-1] if texts else len(parts) - 1
    return [*parts[:last], *parts[last + 1 :], parts[last]]


def _spelled(message: OutgoingMessage, quirks: Quirks) -> list[dict[str, object]]:
    """Return the message in the API's form: tool results are messages of their own. Empty messages are omitted."""
    results = [_result(block, quirks) for block in message.blocks if isinstance(block, ToolResultBlock)]
    if message.role is Role.ASSISTANT:
        spelled = _assistant(message.blocks, quirks)
        return [*results, spelled] if spelled else results
    content = _content([block for block in message.blocks if isinstance(block, UserPart)])
    return [*results, {"role": "user", "content": content}] if content else results


UserPart = TextBlock | ImageBlock | DocumentBlock


def _content(blocks: Sequence[UserPart]) -> str | list[dict[str, object]]:
    """Return a plain string if there are no images: some models imitate the structure of the input."""
    texts = [block.text for block in blocks if isinstance(block, TextBlock) and block.text]
    if not any(isinstance(block, ImageBlock | DocumentBlock) for block in blocks):
        return "\n\n".join(texts)
    return [part for block in blocks if (part := _part(block))]


def _part(block: UserPart) -> dict[str, object] | None:
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text} if block.text else None
    if isinstance(block, DocumentBlock):
        data = f"data:{block.media_type};base64,{block.data}"
        return {"type": "file", "file": {"filename": block.name, "file_data": data}}
    url = block.url if block.data is None else f"data:{block.media_type};base64,{block.data}"
    return {"type": "image_url", "image_url": {"url": url}} if url else None


def _result(block: ToolResultBlock, quirks: Quirks) -> dict[str, object]:
    content = block.content
    if not quirks.tool_images:
        content = tuple(TextBlock(text=IMAGE_NOTE) if isinstance(part, ImageBlock) else part for part in content)
    spelled = _content(content)
    if block.failed:
        # The format has no field for a failed call, so the text says it.
        if isinstance(spelled, list):
            spelled = [{"type": "text", "text": FAILED_PREFIX.rstrip()}, *spelled]
        elif not spelled.lower().startswith("error"):
            spelled = FAILED_PREFIX + spelled
    return {"role": "tool", "tool_call_id": tool_id(block.call_id, quirks.tool_id), "content": spelled}


def _assistant(blocks: Sequence[Block], quirks: Quirks) -> dict[str, object] | None:
    answer = "".join(block.text for block in blocks if isinstance(block, TextBlock))
    if not answer and any(isinstance(block, ImageBlock) for block in blocks):
        answer = PICTURE_MADE
    calls = [_call(block, quirks) for block in blocks if isinstance(block, ToolCallBlock)]
    thoughts = [block for block in blocks if isinstance(block, ThinkingBlock)]
    if quirks.thinking_back == "as_received":
        quirks = replace(quirks, thinking_back=_received_field(thoughts))
    content = _content_with_thinking(answer, thoughts, quirks)
    if not content and not calls:
        return None
    message: dict[str, object] = {"role": "assistant", "content": content or None}
    if quirks.content_never_null and not content:
        message["content"] = ""
    message.update(_thinking_fields(thoughts, quirks))
    message.update(_state_of_message(blocks))
    if calls:
        message["tool_calls"] = calls
    return message


def _state_of_message(blocks: Sequence[Block]) -> dict[str, object]:
    """Return the opaque fields of the message itself, which are stored with one of its blocks."""
    for block in blocks:
        raw = (
            block.provider_state.raw
            if isinstance(block, TextBlock | ToolCallBlock) and block.provider_state is not None
            else None
        )
        state = _json(raw) if raw else None
        if isinstance(state, dict) and isinstance(of_message := state.get(OF_MESSAGE), dict):
            return {key: value for key, value in of_message.items() if key in STATE_KEYS}
    return {}


def _received_field(thoughts: Sequence[ThinkingBlock]) -> str:
    """Return ``thinking_back`` for an unknown server: details if it signed them, else the field it used, else none."""
    if any(block.provider_state is not None and details_of(block.provider_state.raw) for block in thoughts):
        return "reasoning_details"
    return next((block.wire_field for block in thoughts if block.wire_field in PLAIN_FIELDS), None) or "none"


def _content_with_thinking(
    answer: str, thoughts: Sequence[ThinkingBlock], quirks: Quirks
) -> str | list[dict[str, object]]:
    thought = _joined(thoughts)
    if not thought:
        return answer
    if quirks.thinking_back == "think_tags" or _received_in_tags(thoughts, quirks):
        return f"<think>{thought}</think>{answer}"
    if quirks.thinking_back == "content_chunks":
        chunk: dict[str, object] = {"type": "thinking", "thinking": [{"type": "text", "text": thought}]}
        signature = next(
            (
                provider_state.signature
                for block in thoughts
                if (provider_state := block.provider_state) and provider_state.signature
            ),
            None,
        )
        if signature:
            chunk["signature"] = signature
        return [chunk, {"type": "text", "text": answer}] if answer else [chunk]
    return answer


def _received_in_tags(thoughts: Sequence[ThinkingBlock], quirks: Quirks) -> bool:
    """Whether to send tags back: MiniMax sends tags instead of details unless asked to separate them."""
    return quirks.thinking_back == "reasoning_details" and all(block.wire_field == "think_tags" for block in thoughts)


def _thinking_fields(thoughts: Sequence[ThinkingBlock], quirks: Quirks) -> dict[str, object]:
    """Return the message fields with thinking, for servers that do not take it in the content."""
    if quirks.thinking_back == "reasoning_details":
        return {} if _received_in_tags(thoughts, quirks) else _details(thoughts)
    if quirks.thinking_back not in PLAIN_FIELDS:
        return {}
    thought = _joined(thoughts)
    fields: dict[str, object] = {}
    if thought or quirks.thinking_back_empty:
        fields[quirks.thinking_back] = thought or quirks.empty_thinking
    opaque = "".join(
        block.provider_state.encrypted for block in thoughts if block.provider_state and block.provider_state.encrypted
    )
    if opaque:
        fields["reasoning_opaque"] = opaque
    return fields


def _details(thoughts: Sequence[ThinkingBlock]) -> dict[str, object]:
    """Return the merged array, and the plain string if the server sent one; only the string without an array."""
    details = [entry for block in thoughts if block.provider_state for entry in details_of(block.provider_state.raw)]
    thought = _joined(block for block in thoughts if block.wire_field == "reasoning" or not details)
    fields: dict[str, object] = {"reasoning": thought} if thought else {}
    if details:
        fields["reasoning_details"] = details
    return fields


def _joined(thoughts: Iterable[ThinkingBlock]) -> str:
    return "".join(block.text for block in thoughts)


def _call(block: ToolCallBlock, quirks: Quirks) -> dict[str, object]:
    # Several servers parse the arguments of earlier calls and reject the request if they are not an object.
    arguments = block.arguments if isinstance(_json(block.arguments), dict) else "{}"
    call: dict[str, object] = {
        "id": tool_id(block.call_id, quirks.tool_id),
        "type": "function",
        "function": {"name": block.name, "arguments": arguments},
    }
    state = _json(block.provider_state.raw) if block.provider_state is not None and block.provider_state.raw else None
    if isinstance(state, dict):
        call.update({key: value for key, value in state.items() if key not in (*call, OF_MESSAGE)})
    return call


def _json(text: str) -> object:
    try:
        return loads(text)
    except NotJSON:
        return None


def tool_id(call_id: str, form: str) -> str:
    """Return an id that the server accepts. An invalid id is hashed, not shortened, so that it stays unique."""
    if form == "nine_alnum" and not NINE_ALNUM.fullmatch(call_id):
        number = int.from_bytes(sha256(call_id.encode("utf-8", "replace"))[:16])
        digits = []
        for _ in range(9):
            number, digit = divmod(number, len(ALNUM))
            digits.append(ALNUM[digit])
        return "".join(digits)
    if form == "forty" and len(call_id) > LONGEST_ID:
        return "call_" + sha256(call_id.encode("utf-8", "replace")).hex()[:32]
    return call_id


Message = dict[str, object]


def merge_same_role(messages: list[Message], more: list[Message]) -> None:
    """Append ``more``; joins the last message and the first of ``more`` if they have the same role."""
    if messages and more and messages[-1]["role"] == more[0]["role"]:
        messages[-1] = _merged_message(messages[-1], more[0])
        more = more[1:]
    messages += more


def _merged_message(last: Message, message: Message) -> Message:
    both = last | message
    both["content"] = _merged_content(last["content"], message["content"], "\n\n")
    for field in ("reasoning_content", "reasoning", "reasoning_text", "reasoning_opaque", "reasoning_details"):
        if field in last and field in message:
            both[field] = _merged_content(last[field], message[field], "")
    return both


def _merged_content(first: object, second: object, between: str) -> object:
    """Join strings, or lists of parts. Thinking becomes one part at the front, because servers reject several."""
    if not first or not second:
        return first or second
    if isinstance(first, str) and isinstance(second, str):
        return first + between + second
    return _one_thinking_chunk([*_content_parts(first), *_content_parts(second)])


def _content_parts(content: object) -> list[object]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(content) if isinstance(content, list) else []


def _one_thinking_chunk(parts: list[object]) -> list[object]:
    thinking = [part for part in parts if isinstance(part, dict) and part.get("type") == "thinking"]
    if len(thinking) < 2:
        return parts
    inner = [piece for part in thinking for piece in _content_parts(part.get("thinking"))]
    rest = [part for part in parts if part not in thinking]
    return [thinking[0] | {"thinking": inner}, *rest]
