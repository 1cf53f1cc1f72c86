"""Recorded requests taken apart, for continuing recorded conversations: entries, tools, and what was sealed in them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass
class Recorded:
    """A recorded request body as conversation-file entries; an assistant's turn is only a mark."""

    system: str = ""
    tools: list[Json] = field(default_factory=list)
    entries: list[Json] = field(default_factory=list)

    def assistant(self) -> None:
        if not self.entries or "assistant" not in self.entries[-1]:
            self.entries.append({"assistant": True})

    def results(self, results: list[Json]) -> None:
        if self.entries and "results" in self.entries[-1]:
            self.entries[-1]["results"] += results
        elif results:
            self.entries.append({"results": results})


def words(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content or [] if isinstance(part, dict) and part.get("text"))


def anthropic(body: Json) -> Recorded:
    recorded = Recorded(words(body.get("system")))
    for tool in body.get("tools", []):
        if "input_schema" in tool:
            recorded.tools.append(_tool(tool["name"], tool.get("description"), tool["input_schema"]))
    for message in body["messages"]:
        if message["role"] == "assistant":
            recorded.assistant()
            continue
        content = message["content"]
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        recorded.results(
            [
                {
                    "call_id": block["tool_use_id"],
                    "name": "",
                    "content": words(block.get("content")),
                    "error": block.get("is_error", False),
                }
                for block in blocks
                if block["type"] == "tool_result"
            ]
        )
        recorded.entries += [{"user": block["text"]} for block in blocks if block["type"] == "text"]
    return recorded


def responses(body: Json) -> Recorded:
    recorded = Recorded(body.get("instructions") or "")
    for tool in body.get("tools") or []:
        if tool["type"] == "function":
            recorded.tools.append(_tool(tool["name"], tool.get("description"), tool["parameters"]))
    items = body["input"] if isinstance(body["input"], list) else [{"role": "user", "content": body["input"]}]
    for item in items:
        if item.get("type") == "function_call_output":
            output = item["output"] if isinstance(item["output"], str) else words(item["output"])
            recorded.results([{"call_id": item["call_id"], "name": "", "content": output}])
        elif item.get("role") in ("system", "developer"):
            recorded.system += words(item["content"])
        elif item.get("role") == "user":
            recorded.entries.append({"user": words(item["content"])})
        else:
            recorded.assistant()
    return recorded


def chat(body: Json) -> Recorded:
    recorded = Recorded()
    for tool in body.get("tools") or []:
        function = tool["function"]
        recorded.tools.append(_tool(function["name"], function.get("description"), function.get("parameters")))
    for message in body["messages"]:
        match message["role"]:
            case "system" | "developer":
                recorded.system += words(message["content"])
            case "user":
                recorded.entries.append({"user": words(message["content"])})
            case "tool":
                result = {"call_id": message["tool_call_id"], "name": message.get("name", "")}
                recorded.results([{**result, "content": words(message["content"])}])
            case _:
                recorded.assistant()
    return recorded


def gemini(body: Json) -> Recorded:
    recorded = Recorded(words((body.get("systemInstruction") or {}).get("parts")))
    for tool in body.get("tools") or []:
        for function in tool.get("functionDeclarations", []):
            parameters = function.get("parameters") or function.get("parametersJsonSchema")
            recorded.tools.append(_tool(function["name"], function.get("description"), parameters))
    for content in body["contents"]:
        if content.get("role") == "model":
            recorded.assistant()
            continue
        answered = [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]
        recorded.results(
            [
                {"call_id": answer.get("id", ""), "name": answer["name"], "content": json.dumps(answer["response"])}
                for answer in answered
            ]
        )
        recorded.entries += [{"user": part["text"]} for part in content["parts"] if "text" in part]
    return recorded


def _tool(name: str, description: str | None, parameters: Json | None) -> Json:
    return {"name": name, "description": description or "", "parameters": parameters or {"type": "object"}}


TAKE_APART = {"anthropic": anthropic, "openai-responses": responses, "openai-chat": chat, "gemini": gemini}


def signed(wire: str, body: Json) -> list[tuple[str, ...]]:
    """Everything opaque or thought in a request, in order, each with the place where it stands."""
    return {
        "anthropic": _sealed_anthropic,
        "openai-responses": _sealed_responses,
        "openai-chat": _sealed_chat,
        "gemini": _sealed_gemini,
    }[wire](body)


def _sealed_anthropic(body: Json) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    answers = [message["content"] for message in body["messages"] if message["role"] == "assistant"]
    for number, content in enumerate(answers):
        for place, block in enumerate(content if isinstance(content, list) else []):
            if block["type"] == "thinking":
                found.append((f"{number}.{place}", "thinking", block["thinking"], block["signature"]))
            elif block["type"] == "redacted_thinking":
                found.append((f"{number}.{place}", "redacted", block["data"]))
    return found


def _sealed_responses(body: Json) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    items = body["input"] if isinstance(body["input"], list) else []
    for place, item in enumerate(items):
        if item.get("type") == "reasoning":
            follower = items[place + 1].get("type", "message") if place + 1 < len(items) else ""
            summary = "".join(part["text"] for part in item.get("summary") or [])
            found.append((follower, item.get("encrypted_content") or "", summary))
    return found


def _sealed_chat(body: Json) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    answers = [message for message in body["messages"] if message["role"] == "assistant"]
    for number, message in enumerate(answers):
        fields = [name for name in ("reasoning_content", "reasoning", "reasoning_text") if message.get(name)]
        details = message.get("reasoning_details") or []
        extras = [call["extra_content"] for call in message.get("tool_calls") or [] if "extra_content" in call]
        found += [(str(number), name, message[name]) for name in fields]
        found += [(str(number), *_detail(detail)) for detail in details if any(_detail(detail)[1:])]
        found += [(str(number), "extra", json.dumps(extra, sort_keys=True)) for extra in extras]
    return found


def _detail(detail: Json) -> tuple[str, ...]:
    """What an entry of ``reasoning_details`` says; clients lose its id and format, which are not ours to lose."""
    return tuple(detail.get(key) or "" for key in ("type", "text", "summary", "data", "signature"))


def _sealed_gemini(body: Json) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    answers = [content["parts"] for content in body["contents"] if content.get("role") == "model"]
    for number, parts in enumerate(answers):
        for part in parts:
            if "thoughtSignature" in part:
                on = "call" if "functionCall" in part else "thought" if part.get("thought") else "text"
                name = part["functionCall"]["name"] if on == "call" else ""
                found.append((str(number), on, name, part["thoughtSignature"]))
    return found
