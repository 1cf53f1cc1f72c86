"""A server of Chat Completions that answers several requests at once, each as the first word of its prompt says."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from typing import Any

from tests.faultserver.listener import Listener

Words = dict[str, Any]
"""One delta of an answer."""
Script = Callable[[str], AsyncIterator[Words]]


def said(text: str) -> Words:
    return {"content": text}


def thought(text: str) -> Words:
    return {"reasoning_content": text}


def called(name: str, call_id: str = "c1", **arguments: object) -> Words:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"tool_calls": [{"index": 0, "id": call_id, "type": "function", "function": function}]}


class SideServer(Listener):
    """Streams what the test puts into the queue of a prompt's first word; None ends the answer."""

    def __init__(self, script: Script | None = None) -> None:
        self._script = script or self._from_queue
        self.queues: defaultdict[str, asyncio.Queue[Words | None]] = defaultdict(asyncio.Queue)
        self.bodies: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"{super().url}/v1"

    def config(self, more: str = "") -> str:
        """A config.toml that makes this server's model the default."""
        provider = f'wire = "openai-chat"\nauth = "none"\nbase_url = "{self.url}"'
        return f'model = "side/model"\n{more}\n[providers.side]\n{provider}\n'

    def say(self, word: str, *texts: str) -> None:
        """Words of the answer to the prompt that begins so, a delta each."""
        for text in texts:
            self.queues[word].put_nowait(said(text))

    def call(self, word: str, name: str, call_id: str = "c1", **arguments: object) -> None:
        """A tool call ends the answer."""
        self.queues[word].put_nowait(called(name, call_id, **arguments))
        self.finish(word)

    def finish(self, word: str) -> None:
        self.queues[word].put_nowait(None)

    def asked(self, word: str) -> int:
        """How many requests were about a prompt that begins so."""
        return sum(_first_word(body) == word for body in self.bodies)

    async def _from_queue(self, prompt: str) -> AsyncIterator[Words]:
        queue = self.queues[prompt.split()[0]]
        while (words := await queue.get()) is not None:
            yield words

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                length = head.lower().partition("content-length:")[2].partition("\r\n")[0].strip()
                body = await reader.readexactly(int(length or 0))
                if head.startswith("GET"):
                    listed = b'{"object": "list", "data": [{"id": "model", "object": "model"}]}'
                    size = len(listed)
                    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n")
                    writer.write(b"content-length: %d\r\n\r\n%s" % (size, listed))
                else:
                    await self._answer(json.loads(body), writer)
                await writer.drain()

    async def _answer(self, body: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        self.bodies.append(body)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        reason = "stop"
        async for words in self._script(_prompt(body)):
            reason = "tool_calls" if "tool_calls" in words else reason
            _event(writer, {"delta": words, "index": 0, "finish_reason": None})
            await writer.drain()
        _event(writer, {"delta": {}, "index": 0, "finish_reason": reason})
        _chunk(writer, b"data: [DONE]\n\n")
        _chunk(writer, b"")


def _prompt(body: dict[str, Any]) -> str:
    content = next(message["content"] for message in reversed(body["messages"]) if message["role"] == "user")
    return content if isinstance(content, str) else " ".join(part.get("text", "") for part in content)


def _first_word(body: dict[str, Any]) -> str:
    return _prompt(body).split()[0]


def _event(writer: asyncio.StreamWriter, choice: dict[str, object]) -> None:
    data = {"id": "c", "object": "chat.completion.chunk", "model": "model", "choices": [choice]}
    _chunk(writer, b"data: " + json.dumps(data).encode() + b"\n\n")


def _chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(b"%x\r\n%s\r\n" % (len(data), data))
