"""Recorded requests as selections, for comparing estimates with what providers reported."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tui.catalog.catalog import packaged_catalog
from tui.catalog.facts import ModelFacts, Quirks
from tui.catalog.provider_rows import user_provider
from tui.cli.wire.conversation_file import decoded
from tui.domain.blocks import Block, TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock
from tui.domain.messages import Origin, Role, WireName
from tui.domain.request import Outgoing, OutgoingMessage, ToolSchema
from tui.domain.thinking import ThinkingForm
from tui.domain.usage import Usage

Json = dict[str, Any]


class Unmodelled(Exception):
    """The request holds what we never send (server-run tools, files, structured output)."""


@dataclass(frozen=True)
class Sample:
    """One recorded exchange: what was sent, and what the provider says it was."""

    case: str
    exchange: int
    facts: ModelFacts
    outgoing: Outgoing
    system: str
    tools: tuple[ToolSchema, ...]
    usage: Usage
    thinks: bool
    """Whether the request switches thinking on."""

    @property
    def reported(self) -> int:
        """Input tokens by the provider's count."""
        return self.usage.input or 0

    @property
    def recorder(self) -> str:
        """The project that made the recording."""
        return self.case.partition("/")[2].partition("--")[0]


def samples(corpus: Path) -> Iterator[Sample]:
    """Every recorded exchange that can be compared, in order."""
    for meta_file in sorted(corpus.glob("*/*/meta.json")):
        meta = json.loads(meta_file.read_text())
        if meta["wire"] not in READERS or meta["fidelity"] in ("synthetic", "doc-sample"):
            continue
        thought: list[int | None] = []
        for number in range(len(meta["exchanges"])):
            sample = _sample(meta_file.parent, meta, number, thought)
            if sample is not None:
                yield sample


def _sample(case: Path, meta: Json, number: int, thought: list[int | None]) -> Sample | None:
    """The exchange, or None; ``thought`` collects what the answers of the case reported as thinking."""
    exchange = meta["exchanges"][number]
    request = case / exchange["dir"] / "request.json"
    response = case / exchange["dir"] / exchange["body_file"]
    if not request.exists() or exchange["status"] != 200 or exchange.get("request_base64_removed"):
        return None
    body = json.loads(request.read_text())["body"]
    wire = WireName(meta["wire"])
    origin = Origin(provider=meta["provider"], wire=wire, host="", model=exchange["request_model"] or meta["model"])
    usage = decoded(response.read_bytes(), "m", origin, Quirks()).usage
    known = tuple(thought)
    thought.append(usage.thinking if usage else None)
    if usage is None or not usage.input:
        return None
    try:
        system, tools, messages = READERS[meta["wire"]](body)
    except (Unmodelled, KeyError, TypeError):
        return None
    facts = _facts(meta["provider"], origin.model, wire)
    name = f"{meta['wire']}/{case.name}"
    if meta["wire"] == "gemini":
        messages = _with_sealed_thinking(messages, body, known)
    return Sample(name, number, facts, Outgoing(messages=tuple(messages)), system, tools, usage, _thinks(body))


def _thinks(body: Json) -> bool:
    thinking = body.get("thinking") or {}
    return thinking.get("type") in ("enabled", "adaptive")


def _facts(provider: str, model: str, wire: WireName) -> ModelFacts:
    catalog = packaged_catalog()
    if provider not in catalog.providers():
        row = {"wire": wire.value, "base_url": f"https://{provider or 'unknown'}.invalid"}
        catalog = replace(catalog, own_providers={provider: user_provider(provider, row, "corpus")})
    return catalog.find(provider, model or "unknown")


def _words(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    for part in content:
        if part.get("type", "text") not in ("text", "input_text", "output_text", "refusal"):
            raise Unmodelled
    return "\n".join(part.get("text", "") for part in content)


def _message(role: Role, *blocks: Block) -> OutgoingMessage:
    return OutgoingMessage(role=role, blocks=blocks)


def _thinking(text: str) -> ThinkingBlock:
    return ThinkingBlock(text=text, form=ThinkingForm.FULL)


def _result(call_id: str, text: str) -> ToolResultBlock:
    return ToolResultBlock(call_id=call_id, name="", content=(TextBlock(text=text),))


def _tool(name: str, description: str | None, parameters: Json | None) -> ToolSchema:
    return ToolSchema(name=name, description=description or "", parameters=parameters or {})


Read = tuple[str, tuple[ToolSchema, ...], list[OutgoingMessage]]


def _anthropic(body: Json) -> Read:
    tools = tuple(_tool(t["name"], t.get("description"), t["input_schema"]) for t in body.get("tools") or [])
    messages = []
    for message in body["messages"]:
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        role = Role(message["role"])
        messages.append(_message(role, *(_anthropic_block(part) for part in parts)))
    return _words(body.get("system")), tools, messages


def _anthropic_block(part: Json) -> Block:
    match part["type"]:
        case "text":
            return TextBlock(text=part["text"])
        case "thinking":
            return _thinking(part["thinking"])
        case "tool_use":
            return ToolCallBlock(call_id=part["id"], name=part["name"], arguments=json.dumps(part["input"]))
        case "tool_result":
            return _result(part["tool_use_id"], _words(part.get("content")))
    raise Unmodelled


def _chat(body: Json) -> Read:
    if body.get("response_format") or body.get("web_search_options") or body.get("plugins"):
        raise Unmodelled
    functions = [tool["function"] for tool in body.get("tools") or []]
    tools = tuple(_tool(f["name"], f.get("description"), f.get("parameters")) for f in functions)
    system, messages = "", []
    for message in body["messages"]:
        match message["role"]:
            case "system" | "developer":
                system += _words(message["content"])
            case "user":
                messages.append(_message(Role.USER, TextBlock(text=_words(message["content"]))))
            case "tool":
                result = _result(message["tool_call_id"], _words(message["content"]))
                messages.append(_message(Role.TOOL, result))
            case _:
                messages.append(_message(Role.ASSISTANT, *_chat_answer(message)))
    return system, tools, messages


def _chat_answer(message: Json) -> Iterator[Block]:
    details = "".join(detail.get("text") or "" for detail in message.get("reasoning_details") or [])
    thought = message.get("reasoning_content") or message.get("reasoning") or details
    if thought:
        yield _thinking(thought)
    if message.get("content"):
        yield TextBlock(text=_words(message["content"]))
    for call in message.get("tool_calls") or []:
        function = call["function"]
        yield ToolCallBlock(call_id=call["id"], name=function["name"], arguments=function["arguments"])


def _responses(body: Json) -> Read:
    if (body.get("text") or {}).get("format", {}).get("type", "text") != "text" or body.get("previous_response_id"):
        raise Unmodelled
    if any(tool["type"] != "function" for tool in body.get("tools") or []):
        raise Unmodelled
    tools = tuple(_tool(t["name"], t.get("description"), t.get("parameters")) for t in body.get("tools") or [])
    items = body["input"] if isinstance(body["input"], list) else [{"role": "user", "content": body["input"]}]
    system, messages = body.get("instructions") or "", []
    for item in items:
        match item.get("type", "message"):
            case "message" if item["role"] in ("system", "developer"):
                system += _words(item["content"])
            case "message":
                messages.append(_message(Role(item["role"]), TextBlock(text=_words(item["content"]))))
            case "function_call":
                call = ToolCallBlock(call_id=item["call_id"], name=item["name"], arguments=item["arguments"])
                messages.append(_message(Role.ASSISTANT, call))
            case "function_call_output":
                messages.append(_message(Role.TOOL, _result(item["call_id"], _words(item["output"]))))
            case "reasoning":
                summary = "".join(part["text"] for part in item.get("summary") or [])
                signed = ThinkingBlock(text=summary, form=ThinkingForm.SUMMARY)
                messages.append(_message(Role.ASSISTANT, signed))
            case _:
                raise Unmodelled
    return system, tools, messages


def _gemini(body: Json) -> Read:
    if (body.get("generationConfig") or {}).get("responseSchema") or body.get("cachedContent"):
        raise Unmodelled
    tools: list[ToolSchema] = []
    for tool in body.get("tools") or []:
        if set(tool) != {"functionDeclarations"}:
            raise Unmodelled
        for function in tool["functionDeclarations"]:
            parameters = function.get("parameters") or function.get("parametersJsonSchema")
            tools.append(_tool(function["name"], function.get("description"), parameters))
    messages = []
    for content in body["contents"]:
        role = Role.ASSISTANT if content.get("role") == "model" else Role.USER
        messages.append(_message(role, *(_gemini_block(part) for part in content["parts"])))
    return _words((body.get("systemInstruction") or {}).get("parts")), tuple(tools), messages


def _with_sealed_thinking(
    messages: list[OutgoingMessage], body: Json, known: tuple[int | None, ...]
) -> list[OutgoingMessage]:
    """A signed step carries its thinking inside the signature: as long as its answer reported."""
    answers = iter(known)
    carried = []
    for message, content in zip(messages, body["contents"], strict=True):
        tokens = next(answers, None) if message.role is Role.ASSISTANT else None
        if tokens and any("thoughtSignature" in part for part in content["parts"]):
            signed = ThinkingBlock(text="", form=ThinkingForm.HIDDEN, tokens=tokens)
            others = (block for block in message.blocks if not isinstance(block, ThinkingBlock))
            carried.append(replace(message, blocks=(signed, *others)))
        else:
            carried.append(message)
    return carried


def _gemini_block(part: Json) -> Block:
    if "functionCall" in part:
        call = part["functionCall"]
        return ToolCallBlock(call_id="", name=call["name"], arguments=json.dumps(call.get("args") or {}))
    if "functionResponse" in part:
        return _result("", json.dumps(part["functionResponse"]["response"]))
    if "text" not in part:
        raise Unmodelled
    return _thinking(part["text"]) if part.get("thought") else TextBlock(text=part["text"])


def _ollama(body: Json) -> Read:
    functions = [tool["function"] for tool in body.get("tools") or []]
    tools = tuple(_tool(f["name"], f.get("description"), f.get("parameters")) for f in functions)
    system, messages = "", []
    for message in body["messages"]:
        if message.get("images") or body.get("format"):
            raise Unmodelled
        if message["role"] == "system":
            system += message["content"]
            continue
        blocks: list[Block] = [TextBlock(text=message.get("content") or "")]
        for call in message.get("tool_calls") or []:
            arguments = json.dumps(call["function"]["arguments"])
            blocks.append(ToolCallBlock(call_id="", name=call["function"]["name"], arguments=arguments))
        messages.append(_message(Role(message["role"]), *blocks))
    return system, tools, messages


READERS = {
    "anthropic": _anthropic,
    "openai-chat": _chat,
    "openai-responses": _responses,
    "gemini": _gemini,
    "ollama": _ollama,
}
