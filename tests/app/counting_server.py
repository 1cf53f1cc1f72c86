"""A chat server that counts what it reads with a tokenizer of its own, behind a prompt that nobody sees."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

_TOKENS = re.compile(r"[A-Za-z]{1,9}|[0-9]{1,3}|[^\sA-Za-z0-9]+|\n")
FRAME = 4
"""Tokens around a message."""


def true_tokens(text: str) -> int:
    """What this server makes of a text."""
    return len(_TOKENS.findall(text))


@dataclass(frozen=True)
class ErrorResponse:
    """What it answers to one request."""

    text: str
    thinking: str = ""


@dataclass
class CountingServer:
    replies: Sequence[ErrorResponse]
    """One for each request, the last one for all others."""
    hidden: int = 0
    """Tokens of its own prompt."""
    drops_thinking: bool = True
    """Thinking of finished turns is not put before the model."""
    counts: list[int] = field(default_factory=list)
    """Input tokens of each request."""

    def __enter__(self) -> CountingServer:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        """The response to a request."""
        read = self.hidden + sum(self._weight(message) for message in body["messages"])
        reply = self.replies[min(len(self.counts), len(self.replies) - 1)]
        self.counts.append(read)
        written = true_tokens(reply.text) + true_tokens(reply.thinking) + FRAME
        message = {"role": "assistant", "content": reply.text}
        if reply.thinking:
            message["reasoning_content"] = reply.thinking
        return {
            "id": f"c{len(self.counts)}",
            "object": "chat.completion",
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written},
        }

    def _weight(self, message: dict[str, Any]) -> int:
        thinking = "" if self.drops_thinking else message.get("reasoning_content") or ""
        return true_tokens(message.get("content") or "") + true_tokens(thinking) + FRAME

    def _handler(server) -> type[BaseHTTPRequestHandler]:  # noqa: N805 - the handler has a self of its own
        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args: object) -> None:
                """Say nothing."""

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                self._reply(server.answer(body))

            def do_GET(self) -> None:
                self._reply({"object": "list", "data": [{"id": "m", "object": "model"}]})

            def _reply(self, answer: dict[str, Any]) -> None:
                data = json.dumps(answer).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        return Handler
