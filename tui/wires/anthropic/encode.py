"""Encoding of requests for the Anthropic Messages API. What is sent was decided before; this only writes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import assert_never, cast
from urllib.parse import quote

from tui.catalog.facts import Quirks
from tui.domain.blocks import (
    Block,
    DocumentBlock,
    ImageBlock,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from tui.domain.lazy_regex import lazy_regex
from tui.domain.messages import Role
from tui.domain.request import ChatRequest, OutgoingMessage, ToolSchema
from tui.wires.cache_marks import cache_control, mark_ends, mark_long_steps, mark_system, steps
from tui.wires.json_text import Json, NotJSON, children, extend_fields, loads, merge_fields, text
from tui.wires.wire import EncodedRequest

PATH = "/v1/messages"
MAX_TOKENS_UNKNOWN = 8192
"""Sent if the model's limit is unknown: the field is mandatory, and every model accepts this value."""
CONTINUES = "(conversation continues)"
"""Text of a first user message, added because the API rejects a conversation that starts with the assistant."""
VERSION = "anthropic-version"
BETA = "anthropic-beta"

Item = dict[str, object]


def encode(request: ChatRequest, quirks: Quirks) -> EncodedRequest:
    """Return path, headers and body of the request."""
    body: dict[str, object] = {
        "model": request.model,
        "max_tokens": _max_tokens(request),
        "messages": _messages(request.outgoing.messages),
    }
    if request.system.strip():
        body["system"] = request.system
    if request.tools or request.server_tools:
        body["tools"] = [*map(_tool, request.tools), *(dict(tool.item) for tool in request.server_tools)]
        for tool in request.server_tools:
            extend_fields(body, tool.fields)
    if request.stream:
        body["stream"] = True
    if _may_sample(request, quirks):
        sampling = {"temperature": request.temperature, "top_p": request.top_p}
        body.update({name: value for name, value in sampling.items() if value is not None})
    if request.cache_ttl not in (None, "off") and "cache_control" not in request.without:
        _mark_cache(body, request.cache_ttl, quirks)
    merge_fields(body, request.plan.fields)
    if request.answer_format is not None:
        merge_fields(body, request.answer_format.fields)
    merge_fields(body, request.extra_body)
    headers = _headers(request.plan.headers, quirks)
    if quirks.model_in_path:
        return _with_model_in_path(body, headers, streams=request.stream)
    return EncodedRequest(path=PATH, body=body, headers=headers)


def _with_model_in_path(body: dict[str, object], headers: dict[str, str], *, streams: bool) -> EncodedRequest:
    model = quote(str(body.pop("model")), safe="@-._~")
    body["anthropic_version"] = headers.pop(VERSION)
    method = "streamRawPredict" if streams else "rawPredict"
    return EncodedRequest(path=f"/models/{model}:{method}", body=body, headers=headers)


def _mark_cache(body: dict[str, object], ttl: str, quirks: Quirks) -> None:
    messages = cast("list[Item]", body["messages"])
    mark_system(body, ttl)
    if quirks.prompt_cache == "parts":
        mark_ends(messages, lambda message: _mark_last(message, ttl))
        return
    body["cache_control"] = cache_control(ttl)
    mark_long_steps(steps(messages, _blocks), lambda item: item.update(cache_control=cache_control(ttl)))


_UNMARKABLE = frozenset({"thinking", "redacted_thinking"})


def _blocks(message: Item) -> list[Item | None]:
    items = cast("list[Item]", message["content"])
    return [None if item.get("type") in _UNMARKABLE else item for item in items]


def _mark_last(message: Item, ttl: str) -> None:
    cast("list[Item]", message["content"])[-1]["cache_control"] = cache_control(ttl)


def _max_tokens(request: ChatRequest) -> int:
    """Return the output limit. The plan's own comes first, because its thinking budget was chosen to fit below it."""
    for limit in (request.plan.max_output, request.max_output):
        if limit is not None:
            return limit
    return MAX_TOKENS_UNKNOWN


def _may_sample(request: ChatRequest, quirks: Quirks) -> bool:
    thinking = request.plan.fields.get("thinking")
    thinks = isinstance(thinking, Mapping) and thinking.get("type") in ("enabled", "adaptive")
    return not (quirks.forbids_sampling or quirks.never_sampling or thinks)


def _headers(extra: Mapping[str, str], quirks: Quirks) -> dict[str, str]:
    headers = {VERSION: quirks.version}
    betas: list[str] = []
    for name, value in extra.items():
        if name.lower() == BETA:
            betas += [beta.strip() for beta in value.split(",") if beta.strip()]
        else:
            headers[name.lower()] = value
    if betas:
        headers[BETA] = ",".join(dict.fromkeys(betas))
    return headers


def _tool(tool: ToolSchema) -> Item:
    return {"name": tool.name, "description": tool.description, "input_schema": {"type": "object", **tool.parameters}}


class CallIds:
    """Makes tool call ids that the API accepts: invalid characters replaced, shortened, unique."""

    LONGEST = 64
    _REFUSED = lazy_regex(r"[^A-Za-z0-9_-]")

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._unanswered: dict[str, list[str]] = {}

    def of_call(self, call_id: str) -> str:
        """Return a new id for a call."""
        unique = self._valid(call_id)
        number = 2
        while unique in self._used:
            ending = f"_{number}"
            unique = self._valid(call_id)[: self.LONGEST - len(ending)] + ending
            number += 1
        self._used.add(unique)
        self._unanswered.setdefault(call_id, []).append(unique)
        return unique

    def of_result(self, call_id: str) -> str:
        """Return the id of the oldest call without a result that had this id."""
        waiting = self._unanswered.get(call_id)
        return waiting.pop(0) if waiting else self._valid(call_id)

    def _valid(self, call_id: str) -> str:
        return self._REFUSED.sub("_", call_id)[: self.LONGEST] or "call"


def _messages(outgoing: tuple[OutgoingMessage, ...]) -> list[Item]:
    """Return messages in the required order: user first, roles alternating, results first and calls last in each."""
    ids = CallIds()
    turns: list[tuple[str, list[Item]]] = []
    for message in outgoing:
        role = "assistant" if message.role is Role.ASSISTANT else "user"
        items = [item for block in message.blocks for item in _items(block, ids)]
        if not items:
            continue
        if not turns and role == "assistant":
            turns.append(("user", [{"type": "text", "text": CONTINUES}]))
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(items)
        else:
            turns.append((role, items))
    return [{"role": role, "content": sorted(items, key=_order)} for role, items in turns]


def _order(item: Item) -> int:
    """Sort key: the API rejects anything between a call and its result. All other items keep their order."""
    return {"tool_result": -1, "tool_use": 1}.get(str(item.get("type")), 0)


def _items(block: Block, ids: CallIds) -> Iterator[Item]:
    """Yield the items of a block. Blank text is omitted, because the API rejects it."""
    match block:
        case TextBlock():
            if block.text.strip():
                yield _text(block)
        case ThinkingBlock():
            yield _thinking(block)
        case ToolCallBlock():
            yield _call(block, ids)
        case ToolResultBlock():
            yield _result(block, ids)
        case ImageBlock():
            yield _image(block)
        case DocumentBlock():
            yield _document(block)
        case OpaqueBlock():
            yield from _opaque(block.raw)
        case _:
            assert_never(block)


def _text(block: TextBlock) -> Item:
    item: Item = {"type": "text", "text": block.text}
    if block.provider_state is not None and block.provider_state.raw is not None:
        citations = [_citation(citation) for citation in children(_json(block.provider_state.raw), "citations")]
        if citations:
            item["citations"] = citations
    return item


def _citation(citation: Json) -> Item:
    """Return the citation as received without ``file_id``, which the API sends but rejects."""
    return {key: value for key, value in citation.items() if key != "file_id"}


def _thinking(block: ThinkingBlock) -> Item:
    provider_state = block.provider_state
    if provider_state is not None and provider_state.encrypted is not None:
        return {"type": "redacted_thinking", "data": provider_state.encrypted}
    signature = provider_state.signature if provider_state is not None else None
    return {"type": "thinking", "thinking": block.text, "signature": signature or ""}


def _call(block: ToolCallBlock, ids: CallIds) -> Item:
    arguments = _json(block.arguments)
    item: Item = {
        "type": "tool_use",
        "id": ids.of_call(block.call_id),
        "name": block.name,
        "input": arguments if isinstance(arguments, dict) else {},
    }
    if block.provider_state is not None and block.provider_state.raw is not None:
        caller = _json(block.provider_state.raw)
        if isinstance(caller, dict) and "caller" in caller:
            item["caller"] = caller["caller"]
    return item


def _result(block: ToolResultBlock, ids: CallIds) -> Item:
    """Return a tool result. Images of a failed call are replaced: the API rejects them together with ``is_error``."""
    content: list[Item] = []
    for part in block.content:
        if isinstance(part, ImageBlock):
            content.append({"type": "text", "text": "[image omitted]"} if block.failed else _image(part))
        elif part.text.strip():
            content.append({"type": "text", "text": part.text})
    item: Item = {"type": "tool_result", "tool_use_id": ids.of_result(block.call_id), "content": content}
    if block.failed:
        item["is_error"] = True
    return item


def _image(block: ImageBlock) -> Item:
    if block.data is None and block.url is not None:
        return {"type": "image", "source": {"type": "url", "url": block.url}}
    return {"type": "image", "source": {"type": "base64", "media_type": block.media_type, "data": block.data or ""}}


def _document(block: DocumentBlock) -> Item:
    source = {"type": "base64", "media_type": block.media_type, "data": block.data}
    return {"type": "document", "source": source, "title": block.name}


def _opaque(raw: str) -> Iterator[Item]:
    """Yield the item as received; an item that was cut off before its type came is omitted."""
    item = _json(raw)
    if isinstance(item, dict) and text(item, "type"):
        content = item.get("content")
        if isinstance(content, dict):
            content.pop("abort_reason", None)  # the API sends it for a fetched page and rejects it in requests
        yield item


def _json(arguments: str) -> object:
    try:
        return loads(arguments) if arguments.strip() else None
    except NotJSON:
        return None
