"""Encoding of requests for Gemini generateContent. What is sent was decided before; this module only writes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import assert_never
from urllib.parse import quote

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
from tui.wires.json_text import NotJSON, extend_fields, loads, merge_fields
from tui.wires.wire import EncodedRequest

CONTINUES = "(conversation continues)"
"""Text of a first user message, added because the API rejects contents that start with the model."""

Part = dict[str, object]


def encode(request: ChatRequest, quirks: Quirks) -> EncodedRequest:
    """Return path, headers and body of the request."""
    body: dict[str, object] = {"contents": _contents(request.outgoing.messages, quirks)}
    if request.system.strip():
        body["systemInstruction"] = {"parts": [{"text": request.system}]}
    if request.tools or request.server_tools:
        functions = [{"functionDeclarations": [_declaration(tool) for tool in request.tools]}] if request.tools else []
        body["tools"] = [*functions, *(dict(tool.item) for tool in request.server_tools)]
        for tool in request.server_tools:
            extend_fields(body, tool.fields)
    if generation := _generation(request, quirks):
        body["generationConfig"] = generation
    if request.continuation is not None:
        body["continuationToken"] = request.continuation
    merge_fields(body, request.plan.fields)
    if request.answer_format is not None:
        merge_fields(body, request.answer_format.fields)
    merge_fields(body, request.extra_body)
    return EncodedRequest(path=_path(request), body=body, headers=dict(request.plan.headers))


def _path(request: ChatRequest) -> str:
    model = request.model if "/" in request.model else f"models/{request.model}"
    method = "streamGenerateContent?alt=sse" if request.stream else "generateContent"
    return f"/{quote(model, safe='/-._~')}:{method}"


def _declaration(tool: ToolSchema) -> dict[str, object]:
    return {"name": tool.name, "description": tool.description, "parametersJsonSchema": dict(tool.parameters)}


def _generation(request: ChatRequest, quirks: Quirks) -> dict[str, object]:
    limit = request.max_output if request.plan.max_output is None else request.plan.max_output
    config: dict[str, object] = {"maxOutputTokens": limit}
    if not (quirks.never_sampling or (quirks.drop_sampling_when_thinking and request.plan.thinks)):
        config.update(temperature=request.temperature, topP=request.top_p)
    return {name: value for name, value in config.items() if value is not None}


# contents


@dataclass(slots=True)
class _Content:
    """One entry of ``contents``."""

    role: str
    parts: list[Part]


@dataclass(slots=True)
class _Calls:
    """The calls of the latest step, in the order required for their results."""

    asked: list[ToolCallBlock] = field(default_factory=list)
    answered: set[int] = field(default_factory=set)

    def answer(self, block: ToolResultBlock) -> int:
        """Return the position of the call with this result, or one past the last. Ids may be repeated."""
        for position, call in enumerate(self.asked):
            if position not in self.answered and (call.call_id, call.name) == (block.call_id, block.name):
                self.answered.add(position)
                return position
        return len(self.asked)

    def own_id(self, position: int) -> str | None:
        """Return the id that the provider gave the call, or None."""
        provider_state = self.asked[position].provider_state if position < len(self.asked) else None
        return provider_state.id if provider_state is not None else None


def _contents(outgoing: Sequence[OutgoingMessage], quirks: Quirks) -> list[dict[str, object]]:
    contents: list[_Content] = []
    calls = _Calls()
    for run in _runs(outgoing):
        if run[0].role is Role.ASSISTANT:
            calls = _Calls()
            content = _Content("model", [part for message in run for part in _model_parts(message, calls)])
            _add_missing_signature(content.parts, quirks.skip_signature)
        else:
            content = _user_content(run, calls, quirks)
        if content.parts:
            contents.append(content)
    if contents and contents[0].role == "model":
        contents.insert(0, _Content("user", [{"text": CONTINUES}]))
    return [{"role": content.role, "parts": content.parts} for content in contents]


def _runs(outgoing: Sequence[OutgoingMessage]) -> list[list[OutgoingMessage]]:
    """Group neighbouring messages of one role, which become one entry; empty messages are skipped."""
    runs: list[list[OutgoingMessage]] = []
    for message in outgoing:
        if not message.blocks:
            continue
        if runs and runs[-1][0].role is message.role:
            runs[-1].append(message)
        else:
            runs.append([message])
    return runs


def _user_content(run: list[OutgoingMessage], calls: _Calls, quirks: Quirks) -> _Content:
    placed: list[tuple[int, Part]] = []
    for block in (block for message in run for block in message.blocks):
        match block:
            case TextBlock():
                if block.text:
                    placed.append((-1, {"text": block.text}))
            case ImageBlock():
                placed.append((-1, _image(block)))
            case DocumentBlock():
                placed.append((-1, _document(block)))
            case ToolResultBlock():
                position = calls.answer(block)
                placed.append((position, _tool_result(block, calls.own_id(position), quirks)))
            case _:
                pass
    return _Content("user", [part for _, part in sorted(placed, key=itemgetter(0))])


def _model_parts(message: OutgoingMessage, calls: _Calls) -> list[Part]:
    """Return the parts as received, in order, each signature on its own part."""
    parts: list[Part] = []
    for block in message.blocks:
        part = _model_part(block, calls)
        if part is not None:
            provider_state = _provider_state(block)
            if provider_state is not None and provider_state.signature:
                part["thoughtSignature"] = provider_state.signature
            parts.append(part)
    return parts


def _model_part(block: Block, calls: _Calls) -> Part | None:
    """Return the part of a block, or None for an empty block. Text may be empty only with a signature."""
    match block:
        case TextBlock():
            return {"text": block.text} if block.text or _is_signed(block) else None
        case ThinkingBlock():
            return {"text": block.text, "thought": True} if block.text or _is_signed(block) else None
        case ToolCallBlock():
            return _call(block, calls)
        case ImageBlock():
            return _image(block)
        case ToolResultBlock() | DocumentBlock():
            return None
        case OpaqueBlock():
            whole = _json(block.raw)
            return whole if isinstance(whole, dict) and whole else None
        case _:
            assert_never(block)


def _call(block: ToolCallBlock, calls: _Calls) -> Part:
    arguments = _json(block.arguments)
    call: dict[str, object] = {"name": block.name, "args": arguments if isinstance(arguments, dict) else {}}
    calls.asked.append(block)
    own_id = block.provider_state.id if block.provider_state is not None else None
    return {"functionCall": call if own_id is None else {"id": own_id, **call}}


def _tool_result(block: ToolResultBlock, own_id: str | None, quirks: Quirks) -> Part:
    pictures = [part for part in block.content if isinstance(part, ImageBlock)]
    texts = [part.text for part in block.content if isinstance(part, TextBlock)]
    if not quirks.tool_images or block.failed:
        texts += ["[image omitted]" for _ in pictures]
        pictures = []
    answer: dict[str, object] = {
        "name": block.name,
        "response": {"error" if block.failed else "output": "\n".join(texts)},
    }
    if own_id is not None:
        answer["id"] = own_id
    if pictures:
        answer["parts"] = [_image(picture) for picture in pictures]
    return {"functionResponse": answer}


def _image(block: ImageBlock) -> Part:
    if block.data is None and block.url is not None:
        return {"fileData": {"mimeType": block.media_type, "fileUri": block.url}}
    return {"inlineData": {"mimeType": block.media_type, "data": block.data or ""}}


def _document(block: DocumentBlock) -> Part:
    return {"inlineData": {"mimeType": block.media_type, "data": block.data}}


# signatures


def _add_missing_signature(parts: list[Part], literal: str) -> None:
    """Add the literal for a missing signature to the first call: the API requires one in the current tool loop.

    Calls of earlier loops keep the literal, so that the next request begins as this one did and reads the cache.
    """
    call = next((part for part in parts if "functionCall" in part), None)
    if call is not None and literal and "thoughtSignature" not in call:
        call["thoughtSignature"] = literal


def _provider_state(block: Block) -> ProviderState | None:
    return None if isinstance(block, ToolResultBlock | DocumentBlock | OpaqueBlock) else block.provider_state


def _is_signed(block: Block) -> bool:
    provider_state = _provider_state(block)
    return provider_state is not None and bool(provider_state.signature)


def _json(texts: str) -> object:
    try:
        return loads(texts) if texts.strip() else None
    except NotJSON:
        return None
