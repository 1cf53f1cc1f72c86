"""A server in Anthropic's format that searches the web itself and cites what it found."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.faultserver.listener import Listener
from tests.validators import anthropic

Item = dict[str, Any]
Step = tuple[Sequence[Item], str, int]
"""The content of an answer, its stop reason, and how many searches it is charged for."""


def search(number: int, query: str) -> Item:
    return {"type": "server_tool_use", "id": f"srvtoolu_{number}", "name": "web_search", "input": {"query": query}}


def found(number: int, *pages: tuple[str, str]) -> Item:
    results = [
        {"type": "web_search_result", "url": url, "title": title, "encrypted_content": f"Erke{at}==", "page_age": None}
        for at, (url, title) in enumerate(pages)
    ]
    return {"type": "web_search_tool_result", "tool_use_id": f"srvtoolu_{number}", "content": results}


def failed(number: int, code: str) -> Item:
    error = {"type": "web_search_tool_result_error", "error_code": code}
    return {"type": "web_search_tool_result", "tool_use_id": f"srvtoolu_{number}", "content": error}


def said(text: str, *pages: tuple[str, str]) -> Item:
    cited = [
        {
            "type": "web_search_result_location",
            "cited_text": "…",
            "url": url,
            "title": title,
            "encrypted_index": f"Eo8{at}==",
        }
        for at, (url, title) in enumerate(pages)
    ]
    return {"type": "text", "text": text, **({"citations": cited} if cited else {})}


@dataclass
class SearchServer(Listener):
    """Plays one step per request and checks every request as the real server does."""

    steps: list[Step]
    bodies: list[Item] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                length = head.partition("content-length:")[2].partition("\r\n")[0].strip()
                body = await reader.readexactly(int(length or 0))
                writer.write(self._reply(head.split(" ")[1], body))
                await writer.drain()

    def _reply(self, path: str, body: bytes) -> bytes:
        if path.partition("?")[0] != "/v1/messages":
            return b"HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
        asked = json.loads(body)
        self.bodies.append(asked)
        self.problems += anthropic.problems(asked)
        stream = b"".join(map(_event, _events(asked["model"], *self.steps.pop(0))))
        head = f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {len(stream)}\r\n\r\n"
        return head.encode() + stream


def _events(model: str, content: Sequence[Item], stop: str, searches: int) -> list[Item]:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": []}
    usage = {"input_tokens": 2_000, "output_tokens": 1}
    events: list[Item] = [{"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}}]
    for index, item in enumerate(content):
        events += _block(index, item)
    end = {"input_tokens": 2_000, "output_tokens": 100, "server_tool_use": {"web_search_requests": searches}}
    events.append({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": end})
    return [*events, {"type": "message_stop"}]


def _block(index: int, item: Item) -> list[Item]:
    start, deltas = dict(item), []
    match item["type"]:
        case "text":
            start["text"] = ""
            if "citations" in item:
                start["citations"] = []
                deltas = [{"type": "citations_delta", "citation": cited} for cited in item["citations"]]
            deltas.append({"type": "text_delta", "text": item["text"]})
        case "server_tool_use" | "tool_use":
            start["input"] = {}
            deltas = [{"type": "input_json_delta", "partial_json": json.dumps(item["input"])}]
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def _event(event: Item) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
