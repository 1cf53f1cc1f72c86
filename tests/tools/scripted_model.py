"""A model on this machine that runs a coding errand over HTTP: it speaks Chat Completions and Anthropic Messages."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

from tests.validators import anthropic, chat

Call = tuple[str, dict[str, object]]
Step = Sequence[Call] | str
"""Calls, or the words of the last answer."""


class ScriptedModel:
    """Plays one step per request and checks every request as the real servers do."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = list(steps)
        self.bodies: list[dict[str, object]] = []
        self.problems: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> ScriptedModel:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None):
        self._server.shutdown()
        self._server.server_close()

    def config(self, wire: str) -> str:
        """What a user would write to use it."""
        root = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        return f'model = "loop/model"\n[providers.loop]\nwire = "{wire}"\nauth = "none"\nbase_url = "{root}"\n'

    def results(self) -> list[str]:
        """What the tools told it, as they stand in its last request."""
        body = self.bodies[-1]
        blocks = [block for message in body["messages"] for block in _blocks(message)]  # type: ignore[attr-defined]
        return [text for block in blocks if (text := _result(block)) is not None]

    def _answer(self, path: str, body: dict[str, object]) -> list[str]:
        self.bodies.append(body)
        step, number = self.steps.pop(0), len(self.bodies)
        if path.endswith("/messages"):
            self.problems += anthropic.problems(body)
            return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in _anthropic(step, number)]
        self.problems += chat.problems(body)
        return [f"data: {json.dumps(event)}\n\n" for event in _chat(step, number)] + ["data: [DONE]\n\n"]

    def _handler(model) -> type[BaseHTTPRequestHandler]:  # noqa: N805 - the handler has a self of its own
        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                """Silent."""

            def do_GET(self) -> None:
                self._send("application/json", b'{"data": [{"id": "model"}]}')

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                self._send("text/event-stream", "".join(model._answer(self.path.partition("?")[0], body)).encode())

            def _send(self, kind: str, data: bytes) -> None:
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        return Handler


def _blocks(message: dict[str, object]) -> list[dict[str, object]]:
    content = message["content"]
    return [message] if message["role"] == "tool" else content if isinstance(content, list) else []


def _result(block: dict[str, object]) -> str | None:
    if block.get("role") == "tool":
        return str(block["content"]).removeprefix("Error: ")
    if block.get("type") != "tool_result":
        return None
    content = block["content"]
    if isinstance(content, str):
        return content
    assert isinstance(content, list)
    return "".join(part["text"] for part in content)


def _chat(step: Step, number: int) -> list[dict[str, object]]:
    def chunk(delta: dict[str, object], finish: str | None = None) -> dict[str, object]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {"id": f"r{number}", "object": "chat.completion.chunk", "model": "model", "choices": [choice]}

    if isinstance(step, str):
        return [chunk({"role": "assistant", "content": step}), chunk({}, "stop")]
    rows = []
    for index, (name, arguments) in enumerate(step):
        words = json.dumps(arguments)
        start = {"index": index, "id": f"call_{number}_{index}", "type": "function"}
        rows.append(chunk({"tool_calls": [{**start, "function": {"name": name, "arguments": words[:9]}}]}))
        rows.append(chunk({"tool_calls": [{"index": index, "function": {"arguments": words[9:]}}]}))
    return [*rows, chunk({}, "tool_calls")]


def _anthropic(step: Step, number: int) -> list[dict[str, object]]:
    usage = {"input_tokens": 10, "output_tokens": 1}
    head = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "model", "content": []}
    rows: list[dict[str, object]] = [
        {"type": "message_start", "message": {**head, "stop_reason": None, "usage": usage}}
    ]
    parts: list[tuple[dict[str, object], dict[str, object]]] = (
        [({"type": "text", "text": ""}, {"type": "text_delta", "text": step})]
        if isinstance(step, str)
        else [
            (
                {"type": "tool_use", "id": f"toolu_{number}_{index}", "name": name, "input": {}},
                {"type": "input_json_delta", "partial_json": json.dumps(arguments)},
            )
            for index, (name, arguments) in enumerate(step)
        ]
    )
    for index, (block, delta) in enumerate(parts):
        rows.append({"type": "content_block_start", "index": index, "content_block": block})
        rows.append({"type": "content_block_delta", "index": index, "delta": delta})
        rows.append({"type": "content_block_stop", "index": index})
    why = "end_turn" if isinstance(step, str) else "tool_use"
    rows.append({"type": "message_delta", "delta": {"stop_reason": why, "stop_sequence": None}, "usage": usage})
    return [*rows, {"type": "message_stop"}]
